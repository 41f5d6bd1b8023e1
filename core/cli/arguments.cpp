// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cli/arguments.h"

#include "core/engine/knobs.h"
#include "core/error.h"

#include <fmt/format.h>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <functional>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace inferoscope::cli {
namespace {

constexpr const char* kKnobGroup = "Knobs";
constexpr int kMostCount = 1 << 20;

// Without CLI11's own words on the range: the type's name says it already.
template <class Number>
CLI::Validator range(Number min, Number max) {
  return CLI::Range(min, max).description("");
}

std::string valuesOf(const core::Knob& knob) {
  if (knob.choices.empty()) return fmt::format("{}..{}", knob.min, knob.max);
  const std::string on_gpu = knob.gpu_choices.empty() ? "" : fmt::format(", GPU: {}", fmt::join(knob.gpu_choices, "|"));
  return fmt::format("{}{}", fmt::join(knob.choices, "|"), on_gpu);
}

using KnobTaker = std::function<void(std::string_view id, const std::string& value)>;

CLI::Option* addKnobFlag(CLI::App& command, const core::Knob& knob, const KnobTaker& take) {
  const auto set = [take, id = knob.id](const std::string& value) { take(id, value); };
  return command.add_option_function<std::string>(fmt::format("--{}", knob.id), set, std::string(knob.explanation))
      ->type_name(valuesOf(knob))
      ->group(kKnobGroup);
}

void setKnobFlag(core::EngineOptions& options, std::string_view id, const std::string& value) {
  const std::string wrong = core::setKnob(options, id, value);
  if (!wrong.empty()) throw core::Error("--" + wrong);
}

}  // namespace

void addModel(CLI::App& command, std::string& source) {
  command.add_option("MODEL", source, "A GGUF file, \"default\", or \"synthetic:NAME[:FORMAT]\"")->required();
}

void addJson(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Print JSON");
}

void addKnobs(CLI::App& command, core::EngineOptions& options) {
  for (const core::Knob& knob : core::knobs()) addKnob(command, options, knob.id);
}

void addKnob(CLI::App& command, core::EngineOptions& options, std::string_view id) {
  const core::Knob& knob = *core::findKnob(id);
  const auto set = [&options](std::string_view knob_id, const std::string& value) {
    setKnobFlag(options, knob_id, value);
  };
  addKnobFlag(command, knob, set)->default_str(knob.get(options));
}

void addKnobs(CLI::App& command, GivenKnobs& given) {
  const auto keep = [&given](std::string_view id, const std::string& value) { given.emplace_back(id, value); };
  for (const core::Knob& knob : core::knobs()) addKnobFlag(command, knob, keep);
}

core::EngineOptions withFlags(core::EngineOptions options, const GivenKnobs& given) {
  for (const auto& [id, value] : given) setKnobFlag(options, id, value);
  return options;
}

core::EngineOptions withKnobs(core::EngineOptions options, std::string_view flag, std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view item = text.substr(at, text.find(',', at) - at);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) throw core::Error(fmt::format("{}: \"{}\" is not KNOB=VALUE", flag, item));
    const std::string wrong = core::setKnob(options, item.substr(0, equals), std::string(item.substr(equals + 1)));
    if (!wrong.empty()) throw core::Error(fmt::format("{}: {}", flag, wrong));
    at += item.size() + 1;
  }
  return options;
}

std::string readFile(std::string_view flag, const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream || std::filesystem::is_directory(path)) {
    throw core::Error(fmt::format("{}: {} cannot be read", flag, path));
  }
  return {std::istreambuf_iterator<char>(stream), {}};
}

void addSampling(CLI::App& command, core::SamplingParams& sampling) {
  command.add_option("--temperature", sampling.temperature, "0: always the likeliest token")
      ->check(range(0.0, 100.0))
      ->type_name("0..100");
  addCount(command, "--top-k", sampling.top_k, 0, "Choose among the K likeliest; 0: all");
  command.add_option("--top-p", sampling.top_p, "Choose among the likeliest that reach this probability together")
      ->check(range(0.0, 1.0))
      ->type_name("0..1");
  command.add_option("--min-p", sampling.min_p, "Leave out what is below this share of the likeliest")
      ->check(range(0.0, 1.0))
      ->type_name("0..1");
  command.add_option("--repeat-penalty", sampling.repeat_penalty, "Above 1: repeats become less likely")
      ->check(range(0.01, 100.0))
      ->type_name("0.01..100");
  command.add_option("--seed", sampling.seed, "The same seed gives the same text");
}

CLI::Option* addCount(CLI::App& command, const char* flag, int& to, int min, const char* what) {
  return command.add_option(flag, to, what)->check(range(min, kMostCount))->type_name("N")->capture_default_str();
}

std::vector<int> parseList(std::string_view flag, std::string_view text, int min) {
  std::vector<int> numbers;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (;;) {
    int number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc{} || number < min || (next != end && *next != ',')) {
      throw core::Error(fmt::format("{}: \"{}\" is not a list of whole numbers from {} on, as 1,2,3", flag, text, min));
    }
    numbers.push_back(number);
    if (next == end) return numbers;
    at = next + 1;
  }
}

}  // namespace inferoscope::cli
