// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/bpe_tokenizer.h"

#include "core/model/bpe_merger.h"
#include "core/model/byte_text.h"
#include "core/model/pre_split.h"
#include "core/model/utf8.h"
#include "core/model/vocabulary.h"

#include <fmt/format.h>
#include <array>
#include <unordered_map>

namespace inferoscope::core {
namespace {

bool isLiteral(TokenType type) {
  return type != TokenType::kNormal;
}  // its text is not written byte by byte

struct Rules {
  const PreSplitRule* pre_split = nullptr;
  std::string pre;  // its name, as the file has it
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
  BpeTokenizer(Vocabulary vocabulary, Rules rules, const StringList& merges, std::vector<std::string>& notices)
      : m_vocabulary(std::move(vocabulary)), m_rules(std::move(rules)), m_pre_splitter(*m_rules.pre_split) {
    indexTokens();
    addMerges(merges, notices);
    indexBytes(notices);
  }

  using Tokenizer::encode;
  std::vector<TokenId> encode(std::string_view text, EncodeOptions options) const override {
    std::vector<TokenId> ids;
    if (options.add_bos && m_rules.add_bos && bos() >= 0) ids.push_back(bos());
    Words words{ids, {}, {}};
    std::size_t start = 0;
    while (start < text.size()) {
      const auto special = m_vocabulary.specials.find(text, start, options.parse_special);
      m_pre_splitter.split(text.substr(start, special.position - start),
                           [&](std::string_view word) { encodeWord(word, words); });
      if (special.id >= 0) ids.push_back(special.id);
      start = special.position + special.length;
    }
    return ids;
  }

  std::string bytes(TokenId id, bool show_special) const override {
    if (!m_vocabulary.contains(id)) return {};
    const TokenType type = m_vocabulary.type(id);
    if (isHidden(type) && !show_special) return {};
    const std::string_view text = m_vocabulary.text(id);
    return isLiteral(type) ? std::string(text) : m_byte_text.toBytes(text);
  }

  int numTokens() const override { return m_vocabulary.numTokens(); }
  bool isEndOfTurn(TokenId id) const override { return m_vocabulary.isEnd(id); }
  TokenId bos() const override { return m_vocabulary.bos; }
  TokenId eos() const override { return m_vocabulary.eos; }
  std::string_view kind() const override { return "gpt2"; }
  std::string_view preTokenizer() const override { return m_rules.pre; }

 private:
  struct Words {
    std::vector<TokenId>& ids;  // what comes out
    std::vector<TokenId> symbols;
    BpeMerger::Scratch scratch;
  };

  void encodeWord(std::string_view word, Words& words) const {
    if (m_rules.pre_split->whole_words_first) {
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
    for (TokenId id = 0; id < numTokens(); ++id) m_ids.try_emplace(m_vocabulary.text(id), id);
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

  Vocabulary m_vocabulary;
  Rules m_rules;
  ByteText m_byte_text;
  PreSplitter m_pre_splitter;
  std::unordered_map<std::string_view, TokenId> m_ids;  // by the text in the file
  BpeMerger m_merger;
  std::array<TokenId, 256> m_byte_tokens{};  // -1: none
};

Rules readRules(const GgufMetadata& metadata, bool has_bos, std::vector<std::string>& notices) {
  Rules rules;
  const auto pre = metadata.text("tokenizer.ggml.pre");
  rules.pre_split = pre ? findPreSplitRule(*pre) : nullptr;
  rules.pre = shown(pre.value_or(""));
  if (!rules.pre_split) {
    rules.pre_split = &defaultPreSplitRule();
    const std::string problem =
        pre ? fmt::format("the pre-split rule \"{}\" is unknown", rules.pre) : "the file names no pre-split rule";
    notices.push_back(fmt::format("{}: texts are split as {} does, which may not be what the model learned", problem,
                                  rules.pre_split->name));
  }
  rules.add_bos =
      metadata.flag("tokenizer.ggml.add_bos_token").value_or(rules.pre_split->name == "llama-bpe" && has_bos);
  return rules;
}

}  // namespace

std::shared_ptr<const Tokenizer> readBpeTokenizer(const GgufMetadata& metadata, std::vector<std::string>& notices) {
  const StringList* merges = metadata.strings("tokenizer.ggml.merges");
  if (!merges) metadata.failMissing("tokenizer.ggml.merges");
  Vocabulary vocabulary = readVocabulary(metadata, notices);
  Rules rules = readRules(metadata, vocabulary.bos >= 0, notices);
  return std::make_shared<BpeTokenizer>(std::move(vocabulary), std::move(rules), *merges, notices);
}

}  // namespace inferoscope::core
