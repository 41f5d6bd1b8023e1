// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/gguf.h"
#include "core/model/tokenizer.h"

#include <memory>
#include <string>
#include <vector>

namespace inferoscope::core {

// The byte-level BPE tokenizer of a GGUF file (tokenizer.ggml.model "gpt2"). Throws Error if it is broken; what is
// merely odd becomes a notice.
std::shared_ptr<const Tokenizer> readBpeTokenizer(const GgufMetadata& metadata, std::vector<std::string>& notices);

}  // namespace inferoscope::core
