// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/ids.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace inferoscope::core {

// Text <-> token ids. Immutable and safe to share between threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  struct EncodeOptions {
    bool add_bos = true;        // where the model asks for one
    bool parse_special = true;  // false: "<|im_end|>" in the text is plain text
  };
  virtual std::vector<TokenId> encode(std::string_view text, EncodeOptions options) const = 0;
  std::vector<TokenId> encode(std::string_view text) const { return encode(text, EncodeOptions{}); }

  // The bytes of a token: not always whole characters (see text_stream.h). Control tokens give nothing
  // unless show_special. Ids out of range give nothing.
  virtual std::string bytes(TokenId id, bool show_special = false) const = 0;
  // The text of which ids are the tokens: what encode() was given, where that was text without special tokens.
  virtual std::string decode(const std::vector<TokenId>& ids, bool show_special) const;
  std::string decode(const std::vector<TokenId>& ids) const { return decode(ids, false); }

  virtual int numTokens() const = 0;
  virtual bool isEndOfTurn(TokenId id) const = 0;     // eos and every end-of-turn token the vocabulary marks
  virtual TokenId bos() const = 0;                    // -1: none
  virtual TokenId eos() const = 0;                    // -1: none
  virtual std::string_view kind() const = 0;          // "gpt2", "llama"
  virtual std::string_view preTokenizer() const = 0;  // "smollm"
};

}  // namespace inferoscope::core
