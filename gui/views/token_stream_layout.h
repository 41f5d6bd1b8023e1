// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"

#include <QString>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace inferoscope::gui {

struct StreamedToken {
  core::TokenId id = -1;
  qsizetype end = 0;  // characters that have been said with it and before
};

// What one request has said.
struct StreamedText {
  QString text;
  std::vector<StreamedToken> tokens;
  qsizetype num_dropped = 0;  // characters cut off at its beginning, to bound memory
  bool finished = false;

  qsizetype end() const { return num_dropped + text.size(); }
};

// How many tokens two answers have in common before they part. None: they don't, as far as both have come.
std::optional<std::size_t> partAfter(const StreamedText& a, const StreamedText& b);

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
