// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/special_tokens.h"

#include <algorithm>

namespace inferoscope::core {

void SpecialTokens::add(std::string_view text, TokenId id, bool unconditional) {
  if (text.empty()) return;
  std::vector<Entry>& entries = m_by_first_byte[static_cast<unsigned char>(text[0])];
  const auto shorter = std::ranges::find_if(entries, [&](const Entry& e) { return e.text.size() < text.size(); });
  entries.insert(shorter, {std::string(text), id, unconditional});
}

SpecialTokens::Match SpecialTokens::find(std::string_view text, std::size_t start, bool parse_special) const {
  for (std::size_t position = start; position < text.size(); ++position) {
    const std::string_view rest = text.substr(position);
    for (const Entry& entry : m_by_first_byte[static_cast<unsigned char>(text[position])]) {
      if ((parse_special || entry.unconditional) && rest.starts_with(entry.text)) {
        return {position, entry.text.size(), entry.id};
      }
    }
  }
  return {text.size(), 0, -1};
}

bool isEndOfTurnName(std::string_view text) {
  static constexpr std::array<std::string_view, 10> kNames{
      "<|im_end|>", "<|eot_id|>", "<|eom_id|>",    "<|end_of_text|>", "<|endoftext|>",
      "<|end|>",    "</s>",       "<end_of_turn>", "<|endofturn|>",   "<|end_of_turn|>"};
  return std::ranges::find(kNames, text) != kNames.end();
}

}  // namespace inferoscope::core
