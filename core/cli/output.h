// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace inferoscope::cli {

// Standard output. Throw Error where it can't be written (closed, disk full), so that half an answer is never taken
// for a whole one.
void print(std::string_view text);                    // and shows it at once
void printJson(const nlohmann::ordered_json& value);  // one line; invalid UTF-8 replaced by U+FFFD

}  // namespace inferoscope::cli
