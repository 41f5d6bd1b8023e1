// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/options.h"
#include "core/schedule/request.h"

#include <CLI/App.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inferoscope::cli {

// Flags that several commands take. What they write to must live as long as the command.

void addModel(CLI::App& command, std::string& source);
void addJson(CLI::App& command, bool& json);
// --ID VALUE of every knob in the table, or of one.
void addKnobs(CLI::App& command, core::EngineOptions& options);
void addKnob(CLI::App& command, core::EngineOptions& options, std::string_view id);
// The same, kept as given: for options that are only known later.
using GivenKnobs = std::vector<std::pair<std::string_view, std::string>>;
void addKnobs(CLI::App& command, GivenKnobs& given);
// What the flags of knobs said, in their order, on top of `options`. Throws Error that names the flag.
core::EngineOptions withFlags(core::EngineOptions options, const GivenKnobs& given);
// "block-size=8,kv-layout=paged" on top of `options`. Throws Error that names the flag.
core::EngineOptions withKnobs(core::EngineOptions options, std::string_view flag, std::string_view text);
// --temperature, --top-k, --top-p, --min-p, --repeat-penalty, --seed
void addSampling(CLI::App& command, core::SamplingParams& sampling);

// --FLAG N, a whole number from min on. The default is what `to` holds.
CLI::Option* addCount(CLI::App& command, const char* flag, int& to, int min, const char* what);

// The bytes of a file. Throws Error that names the flag.
std::string readFile(std::string_view flag, const std::string& path);

// "1,2,3" -> numbers from min on. Throws Error that names the flag.
std::vector<int> parseList(std::string_view flag, std::string_view text, int min);

}  // namespace inferoscope::cli
