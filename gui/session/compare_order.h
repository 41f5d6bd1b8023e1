// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/preset.h"
#include "core/engine/workload.h"
#include "core/options.h"

#include <string>

namespace inferoscope::gui {

// What a person wants compared: two settings and the work they are to do.
struct CompareOrder {
  core::Preset preset;      // what its effect needs is checked; empty: nothing
  core::Scenario scenario;  // one without end gets the preset's number of requests
  core::EngineOptions a;
  core::EngineOptions b;
  int repeats = 3;
  int quality_tokens = 256;  // 0: no logits
  bool probe = true;         // the machine, around every repeat
  std::string text{};        // whose perplexity is measured with both settings; empty: none
  std::string text_name{};
};

}  // namespace inferoscope::gui
