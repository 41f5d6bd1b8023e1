// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/token_stream_layout.h"

#include <algorithm>

namespace inferoscope::gui {

std::optional<std::size_t> partAfter(const StreamedText& a, const StreamedText& b) {
  const auto common = std::min(a.tokens.size(), b.tokens.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (a.tokens[i].id != b.tokens[i].id) return i;
  }
  return std::nullopt;
}

TextStore::TextStore(std::size_t max_texts, qsizetype max_chars) : m_max_texts(max_texts), m_max_chars(max_chars) {}

void TextStore::clear() {
  m_texts.clear();
}

void TextStore::add(std::span<const core::TextDelta> deltas) {
  for (const core::TextDelta& delta : deltas) {
    StreamedText& stream = m_texts[delta.seq];
    stream.text += QString::fromStdString(delta.text);
    for (const core::TokenId token : delta.tokens) stream.tokens.push_back({token, stream.end()});
    stream.finished = stream.finished || delta.finished;
    // A quarter at once, so that a long text isn't moved for each token.
    if (stream.text.size() > m_max_chars) {
      const qsizetype cut = stream.text.size() - m_max_chars * 3 / 4;
      stream.text.remove(0, cut);
      stream.num_dropped += cut;
    }
  }
  while (m_texts.size() > m_max_texts) forgetOldest();
}

// The oldest that is finished; if all run, the oldest.
void TextStore::forgetOldest() {
  const auto done = std::ranges::find_if(m_texts, [](const auto& entry) { return entry.second.finished; });
  m_texts.erase(done != m_texts.end() ? done : m_texts.begin());
}

const StreamedText* TextStore::find(core::SeqId seq) const {
  const auto found = m_texts.find(seq);
  return found == m_texts.end() ? nullptr : &found->second;
}

}  // namespace inferoscope::gui
