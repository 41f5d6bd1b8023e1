// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/records.h"

#include <nlohmann/json_fwd.hpp>

namespace inferoscope::core {

// A whole step as JSON: the fields of StepRecord under their own names. Times in ns; costs in FLOPs and bytes.
nlohmann::ordered_json stepJson(const StepRecord& step);

}  // namespace inferoscope::core
