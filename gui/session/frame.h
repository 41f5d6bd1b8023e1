// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"
#include "core/model/model_config.h"
#include "core/observe/limits.h"
#include "core/observe/records.h"
#include "core/observe/snapshot.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace inferoscope::gui {

// What a poll of the mailbox gave of one lane: immutable, shared by all views.
struct LaneFrame {
  std::shared_ptr<const core::Snapshot> snapshot;              // never null once a model is loaded
  std::vector<std::shared_ptr<const core::StepRecord>> steps;  // new since the last frame, oldest first
  std::vector<core::TextDelta> texts;                          // new text, lossless
  std::uint64_t dropped_steps = 0;                             // records lost to a full ring, in all
};

// Lane A, and lane B while two settings are compared. The two have sequences, blocks and a clock of their own each.
struct Frame : LaneFrame {
  std::optional<LaneFrame> b;
};

// What the GUI knows of the loaded model: a value.
struct ModelInfo {
  core::ModelConfig config;
  std::string source;
  std::string tokenizer;  // "gpt2, smollm"
  std::string chat_family;
  std::vector<std::string> notices;
  std::map<std::string, std::int64_t> format_bytes;
  std::int64_t weight_bytes = 0;
  std::int64_t kv_bytes_per_token = 0;
};

enum class RunState : std::uint8_t { kNoModel, kLoading, kPaused, kRunning };

}  // namespace inferoscope::gui
