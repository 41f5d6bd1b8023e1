// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/compare.h"

#include <stop_token>
#include <string>

namespace inferoscope::cli {

// A model on a backend of its own, with the weights that the options ask for: those of `other`, where they are the same
// ones on the same device.
core::LaneSource loadLane(const std::string& source, const core::EngineOptions& options, const std::stop_token& stop,
                          const core::LaneSource* other = nullptr);

}  // namespace inferoscope::cli
