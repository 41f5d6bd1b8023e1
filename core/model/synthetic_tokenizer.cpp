// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/synthetic_tokenizer.h"

#include "core/model/special_tokens.h"

#include <array>
#include <cassert>

namespace inferoscope::core {
namespace {

constexpr TokenId kNumBytes = 256;
constexpr std::array<std::string_view, 3> kMarks{"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
constexpr TokenId kStartOfTurn = kNumBytes + 1, kEndOfTurn = kNumBytes + 2;
constexpr TokenId kFirstWord = kNumBytes + static_cast<TokenId>(kMarks.size());

// The number in base 70, a syllable a digit: " bo", " ku-ra", ... Different ids give different words.
std::string pseudoWord(TokenId number) {
  constexpr std::string_view kConsonants = "bdfghjklmnprst", kVowels = "aeiou";
  constexpr auto kSyllables = static_cast<TokenId>(kConsonants.size() * kVowels.size());
  std::string word;
  for (TokenId rest = number;; rest = rest / kSyllables - 1) {
    const auto digit = static_cast<std::size_t>(rest % kSyllables);
    if (!word.empty()) word += '-';
    word += {kConsonants[digit / kVowels.size()], kVowels[digit % kVowels.size()]};
    if (rest < kSyllables) return " " + word;
  }
}

class SyntheticTokenizer final : public Tokenizer {
 public:
  explicit SyntheticTokenizer(int num_tokens) : m_num_tokens(num_tokens) {
    assert(num_tokens >= kFirstWord);
    for (std::size_t i = 0; i < kMarks.size(); ++i) m_marks.add(kMarks[i], kNumBytes + static_cast<TokenId>(i), false);
  }

  using Tokenizer::encode;
  std::vector<TokenId> encode(std::string_view text, EncodeOptions options) const override {
    std::vector<TokenId> ids;
    std::size_t start = 0;
    while (start < text.size()) {
      const auto mark = m_marks.find(text, start, options.parse_special);
      for (const char byte : text.substr(start, mark.position - start)) ids.push_back(static_cast<unsigned char>(byte));
      if (mark.id >= 0) ids.push_back(mark.id);
      start = mark.position + mark.length;
    }
    return ids;
  }

  std::string bytes(TokenId id, bool show_special) const override {
    if (id < 0 || id >= m_num_tokens) return {};
    if (id < kNumBytes) return std::string(1, static_cast<char>(id));
    if (id >= kFirstWord) return pseudoWord(id - kFirstWord);
    return show_special ? std::string(kMarks[static_cast<std::size_t>(id - kNumBytes)]) : std::string();
  }

  int numTokens() const override { return m_num_tokens; }
  bool isEndOfTurn(TokenId id) const override { return id == kNumBytes || id == kEndOfTurn; }
  TokenId bos() const override { return kStartOfTurn; }
  TokenId eos() const override { return kEndOfTurn; }
  std::string_view kind() const override { return "synthetic"; }
  std::string_view preTokenizer() const override { return "bytes"; }

 private:
  int m_num_tokens;
  SpecialTokens m_marks;
};

}  // namespace

std::shared_ptr<const Tokenizer> makeSyntheticTokenizer(int num_tokens) {
  return std::make_shared<SyntheticTokenizer>(num_tokens);
}

}  // namespace inferoscope::core
