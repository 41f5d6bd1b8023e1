// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model.h"

#include <filesystem>
#include <memory>
#include <string_view>

namespace inferoscope::core {

// A model that is only described, from the config.json that comes with models in Hugging Face's layout: its shape, and
// weights stored as the file says (torch_dtype), or in `format` where one is given. No tokenizer.
// Throws Error where a value is missing, impossible or of a kind whose cost is not known.
std::shared_ptr<const Model> describeHfConfig(const std::filesystem::path& path, std::string_view format = {});

}  // namespace inferoscope::core
