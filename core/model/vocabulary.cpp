// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/vocabulary.h"

#include <fmt/format.h>
#include <algorithm>
#include <limits>

namespace inferoscope::core {
namespace {

std::vector<TokenType> readTypes(const GgufMetadata& metadata, std::size_t num_tokens) {
  constexpr std::string_view kKey = "tokenizer.ggml.token_type";
  const GgufValue* value = metadata.find(kKey);
  if (!value) return std::vector<TokenType>(num_tokens, TokenType::kNormal);
  const bool is_32_bit = value->element == GgufType::kInt32 || value->element == GgufType::kUint32;
  if (value->type != GgufType::kArray || !is_32_bit) {
    metadata.fail(kKey, fmt::format("expected array of int32, found {}", value->typeName()));
  }
  const std::vector<std::int64_t> numbers = *metadata.integers(kKey);
  if (numbers.size() != num_tokens) {
    metadata.fail(kKey, fmt::format("has {} entries for {} tokens", numbers.size(), num_tokens));
  }
  std::vector<TokenType> types;
  for (const std::int64_t number : numbers) {
    if (number < 0 || number > static_cast<int>(TokenType::kByte)) {
      metadata.fail(kKey, fmt::format("has the unknown token type {}", number));
    }
    types.push_back(number == 0 ? TokenType::kNormal : static_cast<TokenType>(number));
  }
  return types;
}

void markSpecials(Vocabulary& vocabulary) {
  for (TokenId id = 0; id < vocabulary.numTokens(); ++id) {
    const TokenType type = vocabulary.type(id);
    if (type != TokenType::kControl && type != TokenType::kUserDefined && type != TokenType::kUnknown) continue;
    vocabulary.specials.add(vocabulary.text(id), id, type == TokenType::kUserDefined);
    if (isEndOfTurnName(vocabulary.text(id))) vocabulary.ends.push_back(id);
  }
}

}  // namespace

bool isHidden(TokenType type) {
  return type == TokenType::kUnknown || type == TokenType::kControl || type == TokenType::kUnused;
}

bool Vocabulary::isEnd(TokenId id) const {
  return std::ranges::find(ends, id) != ends.end();
}

TokenId readTokenId(const GgufMetadata& metadata, std::string_view key, std::size_t num_tokens) {
  const auto id = metadata.integer(key);
  if (!id) return -1;
  if (*id < 0 || static_cast<std::uint64_t>(*id) >= num_tokens) {
    metadata.fail(key, fmt::format("token {} is not one of the {} tokens", *id, num_tokens));
  }
  return static_cast<TokenId>(*id);
}

Vocabulary readVocabulary(const GgufMetadata& metadata, std::vector<std::string>& notices) {
  constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
  const StringList* tokens = metadata.strings(kTokens);
  if (!tokens || tokens->size() == 0) metadata.failMissing(kTokens);
  if (tokens->size() > std::numeric_limits<TokenId>::max()) metadata.fail(kTokens, "has too many tokens");

  Vocabulary vocabulary;
  vocabulary.tokens = *tokens;
  vocabulary.types = readTypes(metadata, tokens->size());
  vocabulary.bos = readTokenId(metadata, "tokenizer.ggml.bos_token_id", tokens->size());
  vocabulary.eos = readTokenId(metadata, "tokenizer.ggml.eos_token_id", tokens->size());
  for (const std::string_view key :
       {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    const TokenId id = readTokenId(metadata, key, tokens->size());
    if (id >= 0) vocabulary.ends.push_back(id);
  }
  if (vocabulary.eos < 0) {
    notices.push_back("the file names no end-of-text token: only end-of-turn tokens or the limit end a reply");
  }
  markSpecials(vocabulary);
  return vocabulary;
}

}  // namespace inferoscope::core
