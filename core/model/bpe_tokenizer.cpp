// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/bpe_tokenizer.h"

#include "core/model/bpe_merger.h"
#include "core/model/byte_text.h"
#include "core/model/pre_split.h"
#include "core/model/special_tokens.h"
#include "core/model/utf8.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

namespace inferoscope::core {
namespace {

// The numbers are those of the file format.
enum class TokenType : std::uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

bool isLiteral(TokenType type) {
  return type != TokenType::kNormal;
}  // its text is not written byte by byte
bool isHidden(TokenType type) {
  return type == TokenType::kUnknown || type == TokenType::kControl || type == TokenType::kUnused;
}

struct Vocabulary {
  StringList tokens;             // as written in the file
  std::vector<TokenType> types;  // one a token
  const PreSplitRule* rule = nullptr;
  std::string pre;  // the name of the rule, as the file has it
  TokenId bos = -1, eos = -1;
  std::vector<TokenId> other_ends;
  bool add_bos = false;
};

// False for control characters, and for bytes that begin no assigned character. Vocabularies of real models lack some
// of those; without a token they are left out.
bool occursInText(int byte) {
  const bool is_control = (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F;
  return !is_control && byte != 0xC0 && byte != 0xC1 && byte != 0xF1 && byte != 0xF2 && byte < 0xF5;
}

class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(Vocabulary vocabulary, const StringList& merges, std::vector<std::string>& notices)
      : m_vocabulary(std::move(vocabulary)), m_pre_splitter(*m_vocabulary.rule) {
    indexTokens();
    addMerges(merges, notices);
    indexBytes(notices);
    markSpecials();
  }

  using Tokenizer::encode;
  std::vector<TokenId> encode(std::string_view text, EncodeOptions options) const override {
    std::vector<TokenId> ids;
    if (options.add_bos && m_vocabulary.add_bos && bos() >= 0) ids.push_back(bos());
    Words words{ids, {}, {}};
    std::size_t start = 0;
    while (start < text.size()) {
      const auto special = m_specials.find(text, start, options.parse_special);
      m_pre_splitter.split(text.substr(start, special.position - start),
                           [&](std::string_view word) { encodeWord(word, words); });
      if (special.id >= 0) ids.push_back(special.id);
      start = special.position + special.length;
    }
    return ids;
  }

  std::string bytes(TokenId id, bool show_special) const override {
    if (id < 0 || id >= numTokens()) return {};
    const auto index = static_cast<std::size_t>(id);
    const TokenType type = m_vocabulary.types[index];
    if (isHidden(type) && !show_special) return {};
    const std::string_view text = m_vocabulary.tokens[index];
    return isLiteral(type) ? std::string(text) : m_byte_text.toBytes(text);
  }

  int numTokens() const override { return static_cast<int>(m_vocabulary.tokens.size()); }
  bool isEndOfTurn(TokenId id) const override { return std::ranges::find(m_ends, id) != m_ends.end(); }
  TokenId bos() const override { return m_vocabulary.bos; }
  TokenId eos() const override { return m_vocabulary.eos; }
  std::string_view kind() const override { return "gpt2"; }
  std::string_view preTokenizer() const override { return m_vocabulary.pre; }

 private:
  struct Words {
    std::vector<TokenId>& ids;  // what comes out
    std::vector<TokenId> symbols;
    BpeMerger::Scratch scratch;
  };

  void encodeWord(std::string_view word, Words& words) const {
    if (m_vocabulary.rule->whole_words_first) {
      const TokenId whole = find(m_byte_text.fromBytes(word));
      if (whole >= 0) {
        words.ids.push_back(whole);
        return;
      }
    }
    words.symbols.clear();
    for (const char byte : word) {
      const TokenId id = m_byte_tokens[static_cast<unsigned char>(byte)];
      if (id >= 0) words.symbols.push_back(id);
    }
    m_merger.encode(words.symbols, words.ids, words.scratch);
  }

  TokenId find(std::string_view text) const {
    const auto found = m_ids.find(text);
    return found == m_ids.end() ? -1 : found->second;
  }

  void indexTokens() {
    m_ids.reserve(m_vocabulary.tokens.size());
    for (TokenId id = 0; id < numTokens(); ++id)
      m_ids.try_emplace(m_vocabulary.tokens[static_cast<std::size_t>(id)], id);
  }

  // A merge is written "left right", each a token. Tokens contain no spaces, but one that is a space may lead.
  void addMerges(const StringList& merges, std::vector<std::string>& notices) {
    m_merger.reserve(merges.size());
    std::size_t num_unknown = 0;
    std::string pair;
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const std::string_view merge = merges[i];
      const std::size_t space = merge.find(' ', 1);
      const bool is_pair = space != std::string_view::npos;
      const std::string_view left = merge.substr(0, space);
      const std::string_view right = is_pair ? merge.substr(space + 1) : std::string_view();
      const TokenId left_id = find(left), right_id = find(right);
      pair.assign(left).append(right);
      const TokenId joined = find(pair);
      if (is_pair && left_id >= 0 && right_id >= 0 && joined >= 0) {
        m_merger.addRule(left_id, right_id, joined);
      } else {
        ++num_unknown;
      }
    }
    if (num_unknown > 0) {
      notices.push_back(
          fmt::format("{} merges of the tokenizer name tokens that don't exist and are not used", num_unknown));
    }
  }

  void indexBytes(std::vector<std::string>& notices) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      m_byte_tokens[byte] = find(m_byte_text.character(static_cast<unsigned char>(byte)));
    }
    const auto is_missing = [&](int byte) { return m_byte_tokens[static_cast<std::size_t>(byte)] < 0; };
    std::int64_t num_missing = 0;
    for (int byte = 0; byte < 256; ++byte) num_missing += is_missing(byte) && occursInText(byte);
    if (num_missing > 0) {
      notices.push_back(fmt::format("{} of the 256 bytes have no token; they are left out of texts", num_missing));
    }
  }

  void markSpecials() {
    if (eos() >= 0) m_ends.push_back(eos());
    m_ends.insert(m_ends.end(), m_vocabulary.other_ends.begin(), m_vocabulary.other_ends.end());
    for (TokenId id = 0; id < numTokens(); ++id) {
      const TokenType type = m_vocabulary.types[static_cast<std::size_t>(id)];
      if (type != TokenType::kControl && type != TokenType::kUserDefined && type != TokenType::kUnknown) continue;
      const std::string_view text = m_vocabulary.tokens[static_cast<std::size_t>(id)];
      m_specials.add(text, id, type == TokenType::kUserDefined);
      if (isEndOfTurnName(text)) m_ends.push_back(id);
    }
  }

  Vocabulary m_vocabulary;
  ByteText m_byte_text;
  PreSplitter m_pre_splitter;
  std::unordered_map<std::string_view, TokenId> m_ids;  // by the text in the file
  BpeMerger m_merger;
  std::array<TokenId, 256> m_byte_tokens{};  // -1: none
  SpecialTokens m_specials;
  std::vector<TokenId> m_ends;
};

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

TokenId readTokenId(const GgufMetadata& metadata, std::string_view key, std::size_t num_tokens) {
  const auto id = metadata.integer(key);
  if (!id) return -1;
  if (*id < 0 || static_cast<std::uint64_t>(*id) >= num_tokens) {
    metadata.fail(key, fmt::format("token {} is not one of the {} tokens", *id, num_tokens));
  }
  return static_cast<TokenId>(*id);
}

void readRule(const GgufMetadata& metadata, Vocabulary& vocabulary, std::vector<std::string>& notices) {
  const auto pre = metadata.text("tokenizer.ggml.pre");
  vocabulary.rule = pre ? findPreSplitRule(*pre) : nullptr;
  vocabulary.pre = shown(pre.value_or(""));
  if (vocabulary.rule) return;
  vocabulary.rule = &defaultPreSplitRule();
  const std::string problem =
      pre ? fmt::format("the pre-split rule \"{}\" is unknown", vocabulary.pre) : "the file names no pre-split rule";
  notices.push_back(fmt::format("{}: texts are split as {} does, which may not be what the model learned", problem,
                                vocabulary.rule->name));
}

}  // namespace

std::shared_ptr<const Tokenizer> readBpeTokenizer(const GgufMetadata& metadata, std::vector<std::string>& notices) {
  constexpr std::string_view kModel = "tokenizer.ggml.model", kTokens = "tokenizer.ggml.tokens";
  const std::string_view kind = metadata.required(kModel, metadata.text(kModel));
  if (kind != "gpt2") metadata.fail(kModel, fmt::format("tokenizer \"{}\" is not supported (gpt2 is)", shown(kind)));
  const StringList* tokens = metadata.strings(kTokens);
  if (!tokens || tokens->size() == 0) metadata.failMissing(kTokens);
  if (tokens->size() > std::numeric_limits<TokenId>::max()) metadata.fail(kTokens, "has too many tokens");
  const StringList* merges = metadata.strings("tokenizer.ggml.merges");
  if (!merges) metadata.failMissing("tokenizer.ggml.merges");

  const std::size_t num_tokens = tokens->size();
  Vocabulary vocabulary;
  vocabulary.tokens = *tokens;
  vocabulary.types = readTypes(metadata, num_tokens);
  readRule(metadata, vocabulary, notices);
  vocabulary.bos = readTokenId(metadata, "tokenizer.ggml.bos_token_id", num_tokens);
  vocabulary.eos = readTokenId(metadata, "tokenizer.ggml.eos_token_id", num_tokens);
  for (const std::string_view key : {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    const TokenId id = readTokenId(metadata, key, num_tokens);
    if (id >= 0) vocabulary.other_ends.push_back(id);
  }
  vocabulary.add_bos = metadata.flag("tokenizer.ggml.add_bos_token")
                           .value_or(vocabulary.rule->name == "llama-bpe" && vocabulary.bos >= 0);
  if (vocabulary.eos < 0) {
    notices.push_back("the file names no end-of-text token: only end-of-turn tokens or the limit end a reply");
  }
  return std::make_shared<BpeTokenizer>(std::move(vocabulary), *merges, notices);
}

}  // namespace inferoscope::core
