// SPDX-License-Identifier: GPL-3.0-or-later
// Scenario files: JSON, every field checked, unknown ones refused. The schema stands in workload.h.
#include "core/engine/knobs.h"
#include "core/engine/resources.h"
#include "core/engine/workload.h"
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace inferoscope::core {
namespace {

using nlohmann::json;

// One object of the file. Fields that are absent leave their target as it is; whatever was not asked for is refused.
class Fields {
 public:
  Fields(const json& object, std::string file, std::string path)
      : m_object(object), m_file(std::move(file)), m_path(std::move(path)) {
    if (!m_object.is_object()) fail("", "expected an object");
  }

  void read(const char* name, std::string& to) {
    if (const json* value = find(name)) to = text(*value, name);
  }
  void read(const char* name, bool& to) {
    const json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_boolean()) fail(name, "expected true or false");
    to = value->get<bool>();
  }
  void read(const char* name, double& to, double min, double max) {
    const json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_number() || value->get<double>() < min || value->get<double>() > max) {
      fail(name, fmt::format("expected a number from {} to {}", min, max));
    }
    to = value->get<double>();
  }
  void read(const char* name, float& to, double min, double max) {
    double wide = to;
    read(name, wide, min, max);
    to = static_cast<float>(wide);
  }
  void read(const char* name, int& to, int min, int max = std::numeric_limits<int>::max()) {
    const json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_number_integer() || value->get<double>() < min || value->get<double>() > max) {
      fail(name, fmt::format("expected a whole number from {} to {}", min, max));
    }
    to = value->get<int>();
  }
  void read(const char* name, std::uint64_t& to) {
    const json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_number_unsigned()) fail(name, "expected a whole number, 0 or more");
    to = value->get<std::uint64_t>();
  }
  void read(const char* name, std::vector<std::string>& to) {
    const json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_array()) fail(name, "expected a list of texts");
    for (const json& item : *value) to.push_back(text(item, name));
  }
  // One of `names`; the enum's values count from 0 in their order.
  template <class Enum>
  void read(const char* name, Enum& to, std::initializer_list<std::string_view> names) {
    std::string word;
    read(name, word);
    if (word.empty()) return;
    const auto* found = std::ranges::find(names, word);
    if (found == names.end()) fail(name, fmt::format("\"{}\" is not one of {}", word, fmt::join(names, ", ")));
    to = static_cast<Enum>(found - names.begin());
  }

  // nullptr if absent.
  const json* find(const char* name) {
    m_asked.insert(name);
    const auto found = m_object.find(name);
    return found == m_object.end() ? nullptr : &*found;
  }
  Fields inner(const json& object, const char* name) const { return {object, m_file, at(name)}; }

  void refuseOthers() const {
    for (const auto& item : m_object.items()) {
      if (!m_asked.contains(item.key())) fail(item.key(), "no such field");
    }
  }
  const std::string& file() const { return m_file; }
  [[noreturn]] void fail(std::string_view name, std::string_view what) const {
    throw Error(fmt::format("{}: {}: {}", m_file, at(name), what));
  }

 private:
  std::string at(std::string_view name) const {
    if (m_path.empty()) return name.empty() ? "top level" : std::string(name);
    return name.empty() ? m_path : fmt::format("{}.{}", m_path, name);
  }
  // A text, or the list of its lines.
  std::string text(const json& value, const char* name) const {
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_array() || !std::ranges::all_of(value, &json::is_string)) fail(name, "expected a text");
    return fmt::format("{}", fmt::join(value.get<std::vector<std::string>>(), "\n"));
  }

  const json& m_object;
  std::string m_file;
  std::string m_path;
  std::set<std::string> m_asked;
};

constexpr double kMaxSeconds = 1e6;
constexpr int kMaxTokens = 1 << 20;

// A line of names, then arrival_s,prompt_tokens,output_tokens. Traces are kept in the order of their times.
std::vector<TraceRow> readTrace(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line)) throw Error(fmt::format("{}: cannot be read as a trace", file.string()));
  std::vector<TraceRow> rows;
  for (int number = 2; std::getline(stream, line); ++number) {
    TraceRow row;
    char rest = 0;
    const int num_read =
        std::sscanf(line.c_str(), "%lf,%d,%d %c", &row.arrival_s, &row.prompt_tokens, &row.output_tokens, &rest);
    const bool fits = num_read == 3 && row.arrival_s >= 0 && row.arrival_s <= kMaxSeconds && row.prompt_tokens > 0 &&
                      row.prompt_tokens <= kMaxTokens && row.output_tokens > 0 && row.output_tokens <= kMaxTokens;
    if (!fits) {
      throw Error(fmt::format("{}: line {}: expected arrival_s,prompt_tokens,output_tokens", file.string(), number));
    }
    rows.push_back(row);
  }
  std::ranges::stable_sort(rows, {}, &TraceRow::arrival_s);
  return rows;
}

void readArrivals(Fields& scenario, Arrivals& to, std::vector<TraceRow>& trace) {
  const json* value = scenario.find("arrivals");
  if (value == nullptr) return;
  Fields fields = scenario.inner(*value, "arrivals");
  fields.read("kind", to.kind, {"closed-loop", "constant", "poisson", "gamma", "trace"});
  fields.read("concurrency", to.concurrency, 1, 10000);
  fields.read("think_time_s", to.think_time_s, 0, kMaxSeconds);
  fields.read("requests_per_s", to.requests_per_s, 1e-6, 1e6);
  fields.read("burstiness", to.burstiness, 1e-3, 1e3);
  fields.read("num_requests", to.num_requests, 0);
  fields.read("time_scale", to.time_scale, 0, 1e6);
  std::string file;
  fields.read("file", file);
  if ((to.kind == ArrivalKind::kTrace) != !file.empty())
    fields.fail("file", "goes with kind \"trace\", and with no other");
  if (!file.empty()) trace = readTrace(std::filesystem::path(fields.file()).parent_path() / file);
  fields.refuseOthers();
}

// A number alone is a fixed length.
void readLengths(Fields& scenario, const char* name, Lengths& to) {
  const json* value = scenario.find(name);
  if (value == nullptr) return;
  if (value->is_number()) {
    int length = 0;
    scenario.read(name, length, 1, kMaxTokens);
    to = {.kind = LengthKind::kFixed, .mean = double(length), .min = length, .max = length};
    return;
  }
  Fields fields = scenario.inner(*value, name);
  fields.read("kind", to.kind, {"fixed", "uniform", "lognormal", "either"});
  fields.read("share", to.share, 0, 1);
  fields.read("mean", to.mean, 1, kMaxTokens);
  fields.read("sigma", to.sigma, 0, 10);
  fields.read("min", to.min, 1, kMaxTokens);
  fields.read("max", to.max, to.min, kMaxTokens);
  fields.refuseOthers();
}

void readSampling(Fields& scenario, SamplingParams& to) {
  const json* value = scenario.find("sampling");
  if (value == nullptr) return;
  Fields fields = scenario.inner(*value, "sampling");
  fields.read("temperature", to.temperature, 0, 100);
  fields.read("top_k", to.top_k, 0);
  fields.read("top_p", to.top_p, 0, 1);
  fields.read("min_p", to.min_p, 0, 1);
  fields.read("repeat_penalty", to.repeat_penalty, 0.01, 100);
  fields.read("repeat_last_n", to.repeat_last_n, 0);
  fields.refuseOthers();
}

// Values may be written as text or as whole numbers: "block-size": 16.
void readKnobs(Fields& scenario, std::map<std::string, std::string>& to) {
  const json* value = scenario.find("knobs");
  if (value == nullptr) return;
  const Fields fields = scenario.inner(*value, "knobs");
  EngineOptions options;
  for (const auto& [id, setting] : value->items()) {
    const std::string text = setting.is_string() ? setting.get<std::string>() : setting.dump();
    if (const std::string wrong = setKnob(options, id, text); !wrong.empty()) fields.fail("", wrong);
    to[id] = text;
  }
}

Scenario readScenario(const json& root, const std::string& file) {
  Fields fields(root, file, "");
  Scenario scenario;
  fields.read("id", scenario.id);
  if (scenario.id.empty()) fields.fail("id", "expected a text, and not an empty one");
  scenario.title = scenario.id;
  fields.read("title", scenario.title);
  fields.read("explanation", scenario.explanation);
  fields.read("model", scenario.model);
  fields.read("seed", scenario.seed);
  readArrivals(fields, scenario.arrivals, scenario.trace);
  fields.read("prompts", scenario.prompts);
  fields.read("variations", scenario.variations);
  fields.read("chat", scenario.chat);
  fields.read("system_prompt", scenario.system_prompt);
  readLengths(fields, "prompt_tokens", scenario.prompt_tokens);
  fields.read("turns", scenario.turns, 1, 1000);
  readLengths(fields, "output_tokens", scenario.output_tokens);
  fields.read("ignore_end_of_turn", scenario.ignore_end_of_turn);
  readSampling(fields, scenario.sampling);
  readKnobs(fields, scenario.knobs);
  fields.refuseOthers();
  return scenario;
}

}  // namespace

EngineOptions optionsOf(const Scenario& scenario, EngineOptions base) {
  for (const auto& [id, value] : scenario.knobs) {
    if (const std::string wrong = setKnob(base, id, value); !wrong.empty()) {
      throw Error(fmt::format("scenario {}: {}", scenario.id, wrong));
    }
  }
  return base;
}

Scenario loadScenario(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream || !std::filesystem::is_regular_file(file)) {
    throw Error(fmt::format("{}: cannot be read as a scenario file", file.string()));
  }
  try {
    return readScenario(json::parse(stream), file.string());
  } catch (const json::parse_error& error) {
    throw Error(fmt::format("{}: not valid JSON at byte {}", file.string(), error.byte));
  }
}

std::vector<Scenario> builtinScenarios() {
  const std::filesystem::path folder = resourceFolder() / "scenarios";
  std::set<std::filesystem::path> files;  // in the order of their names: 1-chat.json comes first
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.insert(entry.path());
  }
  std::vector<Scenario> scenarios;
  for (const auto& file : files) scenarios.push_back(loadScenario(file));
  return scenarios;
}

Scenario findScenario(const std::string& id_or_file) {
  std::vector<std::string> ids;
  for (Scenario& scenario : builtinScenarios()) {
    if (scenario.id == id_or_file) return std::move(scenario);
    ids.push_back(scenario.id);
  }
  if (std::filesystem::exists(id_or_file)) return loadScenario(id_or_file);
  throw Error(fmt::format("{}: neither a file nor one of the scenarios {}", id_or_file, fmt::join(ids, ", ")));
}

}  // namespace inferoscope::core
