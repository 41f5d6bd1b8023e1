// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/ids.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace inferoscope::core {

// Tokens that are found in a text as they are written, before anything else looks at it.
class SpecialTokens {
 public:
  // An unconditional one is found even where control tokens are to be plain text.
  void add(std::string_view text, TokenId id, bool unconditional);

  struct Match {
    std::size_t position;
    std::size_t length;
    TokenId id;  // -1: none
  };
  // The first from `start` on; of those at one place, the longest.
  Match find(std::string_view text, std::size_t start, bool parse_special) const;

 private:
  struct Entry {
    std::string text;
    TokenId id;
    bool unconditional;
  };
  std::array<std::vector<Entry>, 256> m_by_first_byte;  // the longest first
};

// True for the names by which vocabularies mark the end of a turn or of a text: "<|im_end|>", "<|eot_id|>", ...
bool isEndOfTurnName(std::string_view text);

}  // namespace inferoscope::core
