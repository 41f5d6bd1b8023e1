// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/pre_split.h"

#include "core/error.h"
#include "core/model/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>
#include <algorithm>
#include <array>

namespace inferoscope::core {
namespace {

// The published rules of the four model families, as alternatives tried from left to right. White space is Unicode's
// White_Space, which \s is not quite. In all of them the last space before a word belongs to that word:
// SPACES takes a run of spaces without that one.
#define LETTERS "\\p{L}"
#define DIGITS "\\p{N}"
#define SPACE "\\p{White_Space}"
#define SPACES SPACE "+(?!\\P{White_Space})|" SPACE "+"
#define CONTRACTIONS "'(?:[stmd]|re|ve|ll)"
#define OTHER "[^" SPACE LETTERS DIGITS "]"

#define BPE_OF_LLAMA3(digits)                                                                              \
  "(?i:" CONTRACTIONS ")|[^\\r\\n" LETTERS DIGITS "]?" LETTERS "+|" digits "| ?" OTHER "+[\\r\\n]*|" SPACE \
  "*[\\r\\n]+|" SPACES

constexpr std::array<PreSplitRule, 4> kRules{{
    {"gpt-2", CONTRACTIONS "| ?" LETTERS "+| ?" DIGITS "+| ?" OTHER "+|" SPACES, false},
    {"llama-bpe", BPE_OF_LLAMA3(DIGITS "{1,3}"), true},
    {"qwen2", BPE_OF_LLAMA3(DIGITS), false},
    // Every digit is cut out first; a run of spaces before a digit is then at the end of its text, and kept whole.
    {"smollm", DIGITS "|" CONTRACTIONS "| ?" LETTERS "+| ?" OTHER "+|" SPACE "+(?![^" SPACE DIGITS "])|" SPACE "+",
     false},
}};

#undef LETTERS
#undef DIGITS
#undef SPACE
#undef SPACES
#undef CONTRACTIONS
#undef OTHER
#undef BPE_OF_LLAMA3

pcre2_code* compile(std::string_view pattern) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF | PCRE2_UCP,
                                   &error, &offset, nullptr);
  if (!code) throw Error(fmt::format("this PCRE2 library can't compile a pre-split rule (error {})", error));
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where it fails, matching is only slower
  return code;
}

// What one call to split() needs beside the shared code.
struct Matcher {
  explicit Matcher(const pcre2_code* compiled, std::size_t text_bytes)
      : code(compiled),
        data(pcre2_match_data_create_from_pattern(compiled, nullptr), pcre2_match_data_free),
        context(pcre2_match_context_create(nullptr), pcre2_match_context_free) {
    // A rule looks at each character a few times. What goes far beyond that is given up, not waited for.
    constexpr std::size_t kMinSteps = 1'000'000;
    const std::size_t steps = std::min<std::size_t>(kMinSteps + 16 * text_bytes, UINT32_MAX);
    pcre2_set_match_limit(context.get(), static_cast<std::uint32_t>(steps));
    pcre2_set_heap_limit(context.get(), 64 * 1024);  // KiB
  }

  // Finds the next match in text from `start` on: false if there is none.
  bool next(std::string_view text, std::size_t start) {
    const int count = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), start,
                                  PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, data.get(), context.get());
    if (count < 0 && count != PCRE2_ERROR_NOMATCH) {
      throw Error(fmt::format("the text can't be split into words: PCRE2 gave up at byte {} (error {})", start, count));
    }
    return count >= 0;
  }
  std::size_t matchStart() const { return pcre2_get_ovector_pointer(data.get())[0]; }
  std::size_t matchEnd() const { return pcre2_get_ovector_pointer(data.get())[1]; }

  const pcre2_code* code;
  std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data;
  std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> context;
};

}  // namespace

const PreSplitRule* findPreSplitRule(std::string_view name) {
  if (name == "llama3" || name == "llama-v3") name = "llama-bpe";  // older names of the same rule
  const auto found = std::ranges::find(kRules, name, &PreSplitRule::name);
  return found == kRules.end() ? nullptr : &*found;
}

const PreSplitRule& defaultPreSplitRule() {
  return kRules[0];
}

PreSplitter::PreSplitter(const PreSplitRule& rule)
    : m_code(compile(rule.pattern), [](void* code) { pcre2_code_free(static_cast<pcre2_code*>(code)); }) {}

void PreSplitter::split(std::string_view text, const std::function<void(std::string_view)>& word) const {
  std::size_t valid_start = 0;
  std::size_t position = 0;
  while (position < text.size()) {
    const Utf8Step step = nextUtf8(text.substr(position));
    if (step.kind != Utf8Kind::kValid) {
      splitValid(text.substr(valid_start, position - valid_start), word);
      word(text.substr(position, step.length));
      valid_start = position + step.length;
    }
    position += step.length;
  }
  splitValid(text.substr(valid_start), word);
}

void PreSplitter::splitValid(std::string_view text, const std::function<void(std::string_view)>& word) const {
  if (text.empty()) return;
  Matcher matcher(static_cast<const pcre2_code*>(m_code.get()), text.size());
  std::size_t position = 0;
  while (position < text.size() && matcher.next(text, position)) {
    if (matcher.matchStart() > position) word(text.substr(position, matcher.matchStart() - position));
    word(text.substr(matcher.matchStart(), matcher.matchEnd() - matcher.matchStart()));
    position = matcher.matchEnd();
  }
  if (position < text.size()) word(text.substr(position));
}

}  // namespace inferoscope::core
