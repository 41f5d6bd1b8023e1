// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/tokenizer.h"

namespace inferoscope::core {

std::string Tokenizer::decode(const std::vector<TokenId>& ids, bool show_special) const {
  std::string text;
  for (const TokenId id : ids) text += bytes(id, show_special);
  return text;
}

}  // namespace inferoscope::core
