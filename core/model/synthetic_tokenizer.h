// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/tokenizer.h"

#include <memory>

namespace inferoscope::core {

// The tokenizer of a synthetic model: a token a byte, then the marks of ChatML; all further ids are written as made-up
// words, so that the text of a random model can be told apart, token from token. Needs at least 259 tokens.
std::shared_ptr<const Tokenizer> makeSyntheticTokenizer(int num_tokens);

}  // namespace inferoscope::core
