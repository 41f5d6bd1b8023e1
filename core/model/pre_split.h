// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace inferoscope::core {

// A tokenizer's rule for cutting text into words before any merging. Merges never cross from one word to the next.
struct PreSplitRule {
  std::string_view name;     // tokenizer.ggml.pre: "smollm"
  std::string_view pattern;  // what one word is; text between matches is a word too
  bool whole_words_first;    // a word that is a token is taken as it is, without merging
};

const PreSplitRule* findPreSplitRule(std::string_view name);  // null: unknown
const PreSplitRule& defaultPreSplitRule();                    // gpt-2

// A compiled rule. Immutable and safe to share between threads.
class PreSplitter {
 public:
  explicit PreSplitter(const PreSplitRule& rule);

  // Calls word(text) for each word in order; all together they are `text`. Bytes that are not UTF-8 are words apart.
  void split(std::string_view text, const std::function<void(std::string_view)>& word) const;

 private:
  void splitValid(std::string_view text, const std::function<void(std::string_view)>& word) const;

  std::shared_ptr<void> m_code;  // pcre2_code
};

}  // namespace inferoscope::core
