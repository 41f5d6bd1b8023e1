// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/spm_tokenizer.h"

#include "core/model/spm_merger.h"
#include "core/model/utf8.h"
#include "core/model/vocabulary.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

namespace inferoscope::core {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581: how pieces write a space

std::string replacedAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (std::size_t found = text.find(from); found != std::string_view::npos; found = text.find(from)) {
    out.append(text.substr(0, found)).append(to);
    text.remove_prefix(found + from.size());
  }
  return out.append(text);
}

// "<0x0A>" -> 0x0A; -1: not written so.
int byteOf(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return -1;
  int byte = 0;
  for (const char c : piece.substr(3, 2)) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return -1;
    byte = byte * 16 + static_cast<int>(digit);
  }
  return byte;
}

struct Options {
  std::string pre;  // what the file calls the rule; there is but one
  bool add_bos = true;
  bool add_space_prefix = true;  // a text begins with a space that it doesn't have
};

class SpmTokenizer final : public Tokenizer {
 public:
  SpmTokenizer(Vocabulary vocabulary, std::vector<float> scores, Options options, std::vector<std::string>& notices)
      : m_vocabulary(std::move(vocabulary)), m_scores(std::move(scores)), m_options(std::move(options)) {
    m_byte_tokens.fill(-1);
    m_ids.reserve(m_vocabulary.tokens.size());
    for (TokenId id = 0; id < numTokens(); ++id) {
      m_ids.try_emplace(m_vocabulary.text(id), id);
      const int byte = m_vocabulary.type(id) == TokenType::kByte ? byteOf(m_vocabulary.text(id)) : -1;
      if (byte >= 0) m_byte_tokens[static_cast<std::size_t>(byte)] = id;
      if (m_unknown < 0 && m_vocabulary.type(id) == TokenType::kUnknown) m_unknown = id;
    }
    const auto num_missing = std::ranges::count(m_byte_tokens, -1);
    if (num_missing > 0) {
      notices.push_back(fmt::format("{} of the 256 bytes have no token: characters without a piece are {}", num_missing,
                                    m_unknown >= 0 ? "unknown" : "left out"));
    }
  }

  using Tokenizer::decode;
  using Tokenizer::encode;
  std::vector<TokenId> encode(std::string_view text, EncodeOptions options) const override {
    std::vector<TokenId> ids;
    if (options.add_bos && m_options.add_bos && bos() >= 0) ids.push_back(bos());
    std::size_t start = 0;
    while (start < text.size()) {
      const auto special = m_vocabulary.specials.find(text, start, options.parse_special);
      encodePlain(text.substr(start, special.position - start), ids);
      if (special.id >= 0) ids.push_back(special.id);
      start = special.position + special.length;
    }
    return ids;
  }

  std::string bytes(TokenId id, bool show_special) const override {
    if (!m_vocabulary.contains(id)) return {};
    const TokenType type = m_vocabulary.type(id);
    const std::string_view text = m_vocabulary.text(id);
    if (isHidden(type)) return show_special ? std::string(text) : std::string();
    if (type == TokenType::kUserDefined) return std::string(text);
    const int byte = type == TokenType::kByte ? byteOf(text) : -1;
    return byte >= 0 ? std::string(1, static_cast<char>(byte)) : replacedAll(text, kSpaceMark, " ");
  }

  // Texts begin with a space that was put before them, also behind a special token.
  std::string decode(const std::vector<TokenId>& ids, bool show_special) const override {
    std::string text;
    bool at_start = true;
    for (const TokenId id : ids) {
      std::string piece = bytes(id, show_special);
      const bool is_special = m_vocabulary.contains(id) && isSpecial(m_vocabulary.type(id));
      if (m_options.add_space_prefix && at_start && !is_special && piece.starts_with(' ')) piece.erase(0, 1);
      text += piece;
      at_start = is_special;
    }
    return text;
  }

  int numTokens() const override { return m_vocabulary.numTokens(); }
  bool isEndOfTurn(TokenId id) const override { return m_vocabulary.isEnd(id); }
  TokenId bos() const override { return m_vocabulary.bos; }
  TokenId eos() const override { return m_vocabulary.eos; }
  std::string_view kind() const override { return "llama"; }
  std::string_view preTokenizer() const override { return m_options.pre; }

 private:
  // Found in texts as it is written, not cut into pieces.
  static bool isSpecial(TokenType type) {
    return type == TokenType::kControl || type == TokenType::kUnknown || type == TokenType::kUserDefined;
  }

  // What stands between special tokens, or at an end of the text.
  void encodePlain(std::string_view text, std::vector<TokenId>& ids) const {
    if (text.empty()) return;
    const std::string marked =
        replacedAll(m_options.add_space_prefix ? fmt::format(" {}", text) : std::string(text), " ", kSpaceMark);
    const auto score_of = [&](std::string_view piece) -> const float* {
      const auto found = m_ids.find(piece);
      return found == m_ids.end() ? nullptr : &m_scores[static_cast<std::size_t>(found->second)];
    };
    for (const std::string_view piece : mergePieces(marked, score_of)) {
      if (const auto found = m_ids.find(piece); found != m_ids.end()) {
        ids.push_back(found->second);
      } else {
        encodeBytes(piece, ids);
      }
    }
  }

  void encodeBytes(std::string_view piece, std::vector<TokenId>& ids) const {
    for (const char byte : piece) {
      const TokenId id = m_byte_tokens[static_cast<unsigned char>(byte)];
      if (id >= 0 || m_unknown >= 0) ids.push_back(id >= 0 ? id : m_unknown);
    }
  }

  Vocabulary m_vocabulary;
  std::vector<float> m_scores;  // one a token
  Options m_options;
  std::unordered_map<std::string_view, TokenId> m_ids;  // by the text in the file
  std::array<TokenId, 256> m_byte_tokens{};             // -1: none
  TokenId m_unknown = -1;
};

std::vector<float> readScores(const GgufMetadata& metadata, std::size_t num_tokens) {
  constexpr std::string_view kKey = "tokenizer.ggml.scores";
  const GgufValue* value = metadata.find(kKey);
  if (!value) metadata.failMissing(kKey);
  if (value->type != GgufType::kArray || value->element != GgufType::kFloat32) {
    metadata.fail(kKey, fmt::format("expected array of float32, found {}", value->typeName()));
  }
  const auto& stored = std::get<std::vector<std::byte>>(value->data);
  if (stored.size() != num_tokens * sizeof(float)) {
    metadata.fail(kKey, fmt::format("has {} entries for {} tokens", stored.size() / sizeof(float), num_tokens));
  }
  std::vector<float> scores;
  for (std::size_t i = 0; i < num_tokens; ++i) {
    scores.push_back(static_cast<float>(floatAt(stored, value->element, i)));
    if (!std::isfinite(scores.back()))
      metadata.fail(kKey, fmt::format("has a score that is no number, of token {}", i));
  }
  return scores;
}

}  // namespace

std::shared_ptr<const Tokenizer> readSpmTokenizer(const GgufMetadata& metadata, std::vector<std::string>& notices) {
  Vocabulary vocabulary = readVocabulary(metadata, notices);
  std::vector<float> scores = readScores(metadata, vocabulary.tokens.size());
  Options options;
  options.pre = shown(metadata.text("tokenizer.ggml.pre").value_or(""));
  options.add_bos = metadata.flag("tokenizer.ggml.add_bos_token").value_or(true);
  options.add_space_prefix = metadata.flag("tokenizer.ggml.add_space_prefix").value_or(true);
  return std::make_shared<SpmTokenizer>(std::move(vocabulary), std::move(scores), std::move(options), notices);
}

}  // namespace inferoscope::core
