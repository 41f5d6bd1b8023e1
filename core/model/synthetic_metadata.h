// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/gguf_writer.h"
#include "core/model/model.h"

namespace inferoscope::core {

// What a GGUF file says of a synthetic model: shape, tokenizer and chat template, so that any engine can load it.
GgufEntries syntheticMetadata(const Model& model);

}  // namespace inferoscope::core
