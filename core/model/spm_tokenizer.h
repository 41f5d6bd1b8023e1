// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/gguf.h"
#include "core/model/tokenizer.h"

#include <memory>
#include <string>
#include <vector>

namespace inferoscope::core {

// The SentencePiece tokenizer of a GGUF file (tokenizer.ggml.model "llama"): pieces with scores, bytes for what has no
// piece. Throws Error if it is broken; what is merely odd becomes a notice.
std::shared_ptr<const Tokenizer> readSpmTokenizer(const GgufMetadata& metadata, std::vector<std::string>& notices);

}  // namespace inferoscope::core
