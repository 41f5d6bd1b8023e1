// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/options.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inferoscope::core {

enum class Rebuilds : std::uint8_t { kNothing, kKvCache, kWeights };

// One toggle: the one place that knows it. Panel, CLI flags, scenario files and exports are all made from the table.
struct Knob {
  std::string_view id;                          // "block-size"
  std::string_view label;                       // "Block size"
  std::string_view explanation;                 // one or two sentences for people: what it does, what to expect
  std::string_view unit{};                      // "tokens", "MiB", ""
  std::vector<std::string> choices{};           // empty: an integer from min to max
  std::vector<std::string> gpu_choices{};       // where a GPU has others
  std::vector<std::string> unlisted_choices{};  // taken too, but not offered
  int min = 0;
  int max = 0;
  std::vector<int> steps{};       // of a number: where turning it on by one stops, rising
  std::string_view zero_means{};  // where min is 0 and that is not a number of units: "all cores"
  Rebuilds rebuilds = Rebuilds::kNothing;
  std::string (*get)(const EngineOptions&) = nullptr;
  // The value was checked against choices or range.
  void (*set)(EngineOptions&, std::string_view value) = nullptr;
};

std::span<const Knob> knobs();
const Knob* findKnob(std::string_view id);

// The choices that the options' device has.
const std::vector<std::string>& choicesOn(const Knob& knob, const EngineOptions& options);

// What comes after the value in `options`: the next choice of their device, or the next step; after the last the first.
std::string nextValue(const Knob& knob, const EngineOptions& options);

// Gives knobs whose value the options' device doesn't have its first choice: after a change of the device.
void settleChoices(EngineOptions& options);

// Sets one knob. Empty if done, else what is wrong with the value and what is allowed.
std::string setKnob(EngineOptions& options, std::string_view id, std::string_view value);

// Ids of the knobs in which two settings differ, in table order.
std::vector<std::string_view> changedKnobs(const EngineOptions& a, const EngineOptions& b);

}  // namespace inferoscope::core
