// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/ids.h"
#include "core/model/gguf.h"
#include "core/model/special_tokens.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace inferoscope::core {

// The numbers are those of the file format.
enum class TokenType : std::uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

// True for tokens that are no text: they are shown only where somebody asks for them.
bool isHidden(TokenType type);

// The tokens of a GGUF file, whatever the way in which texts are cut into them.
struct Vocabulary {
  StringList tokens;             // as written in the file
  std::vector<TokenType> types;  // one a token
  TokenId bos = -1, eos = -1;    // -1: none
  std::vector<TokenId> ends;     // of a turn or a text: eos, and what the file or the names say
  SpecialTokens specials;

  int numTokens() const { return static_cast<int>(tokens.size()); }
  bool contains(TokenId id) const { return id >= 0 && id < numTokens(); }
  std::string_view text(TokenId id) const { return tokens[static_cast<std::size_t>(id)]; }
  TokenType type(TokenId id) const { return types[static_cast<std::size_t>(id)]; }
  bool isEnd(TokenId id) const;
};

// Throws Error if it is broken; what is merely odd becomes a notice.
Vocabulary readVocabulary(const GgufMetadata& metadata, std::vector<std::string>& notices);

// The id that a key of the file names, -1 if there is no such key. Throws Error if it is none of the tokens.
TokenId readTokenId(const GgufMetadata& metadata, std::string_view key, std::size_t num_tokens);

}  // namespace inferoscope::core
