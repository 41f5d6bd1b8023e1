// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/gguf.h"
#include "core/model/model_config.h"

#include <string>
#include <vector>

namespace inferoscope::core {

// The shape of the model in a file. Throws Error where a value is missing, impossible or of a kind that can't be run.
// num_tokens is not set here: the tokenizer knows it.
ModelConfig readConfig(const GgufFile& file);

}  // namespace inferoscope::core
