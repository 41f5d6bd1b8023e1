// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cli/load_lane.h"

#include "core/backend/module_backend.h"
#include "core/model/weight_variants.h"

namespace inferoscope::cli {

core::LaneSource loadLane(const std::string& source, const core::EngineOptions& options, const std::stop_token& stop,
                          const core::LaneSource* other) {
  core::LaneSource lane{.model = {}, .backend = core::makeBackend(options.device, options.threads), .options = options};
  const bool same_weights =
      other != nullptr && other->options.device == options.device && other->options.weights == options.weights;
  lane.model = same_weights ? other->model : core::loadModelAs(source, options.weights, *lane.backend, {}, stop);
  return lane;
}

}  // namespace inferoscope::cli
