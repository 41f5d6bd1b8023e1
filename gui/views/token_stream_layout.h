// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"

#include <QString>

#include <cstdint>
#include <map>
#include <span>

namespace inferoscope::gui {

// What one request has said.
struct StreamedText {
  QString text;
  qsizetype num_dropped = 0;  // characters cut off at its beginning, to bound memory
  std::int64_t num_tokens = 0;
  bool finished = false;

  qsizetype end() const { return num_dropped + text.size(); }
};

// The texts of the recent requests: bounded in number and in length.
class TextStore {
 public:
  explicit TextStore(std::size_t max_texts = 256, qsizetype max_chars = 200'000);

  void clear();
  void add(std::span<const core::TextDelta> deltas);
  const StreamedText* find(core::SeqId seq) const;  // null: nothing said, or forgotten
  std::size_t size() const { return m_texts.size(); }

 private:
  void forgetOldest();

  std::size_t m_max_texts;
  qsizetype m_max_chars;
  std::map<core::SeqId, StreamedText> m_texts;
};

}  // namespace inferoscope::gui
