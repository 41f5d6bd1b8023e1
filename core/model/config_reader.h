// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/gguf.h"
#include "core/model/model_config.h"

#include <string>
#include <string_view>
#include <vector>

namespace inferoscope::core {

// Divides each RoPE frequency by one of its values.
inline constexpr std::string_view kRopeFactorsTensor = "rope_freqs.weight";

// The shape of the model in a file. Throws Error where a value is missing or impossible. What is sound but can't be run
// is named in `unsupported`; the rest is then only what the file tells without much asking.
// num_tokens is not set here: the tokenizer knows it.
ModelConfig readConfig(const GgufFile& file);

}  // namespace inferoscope::core
