// SPDX-License-Identifier: GPL-3.0-or-later
// A comparison as one JSON file and back, and its table as CSV.
#include "core/engine/comparison.h"
#include "core/engine/knobs.h"
#include "core/engine/scenario_run.h"
#include "core/error.h"
#include "core/output_file.h"

#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

namespace inferoscope::core {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFileKind = "inferoscope comparison";
constexpr int kFileVersion = 1;

Json orNull(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::optional<double> numberOf(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

// JSON has no other word for what is not a number.
double numberOrNan(const Json& json) {
  return numberOf(json).value_or(std::numeric_limits<double>::quiet_NaN());
}

Json textJson(const std::optional<TextScore>& text) {
  if (!text) return nullptr;
  return {{"name", text->name},
          {"tokens", text->num_tokens},
          {"perplexity_a", text->perplexity_a},
          {"perplexity_b", text->perplexity_b},
          {"kl_mean", text->kl_mean},
          {"kl_p99", text->kl_p99},
          {"top1_agreement", text->top1_agreement}};
}

std::optional<TextScore> textFrom(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return TextScore{.name = json.at("name"),
                   .num_tokens = json.at("tokens"),
                   .perplexity_a = numberOrNan(json.at("perplexity_a")),
                   .perplexity_b = numberOrNan(json.at("perplexity_b")),
                   .kl_mean = numberOrNan(json.at("kl_mean")),
                   .kl_p99 = numberOrNan(json.at("kl_p99")),
                   .top1_agreement = numberOrNan(json.at("top1_agreement"))};
}

Json differenceJson(const Difference& difference) {
  const auto& ci = difference.ci95;
  return {{"metric", difference.metric},
          {"label", difference.label},
          {"unit", difference.unit},
          {"a", orNull(difference.a)},
          {"b", orNull(difference.b)},
          {"ratio", orNull(difference.ratio)},
          {"ci95", ci ? Json::array({ci->low, ci->high}) : Json(nullptr)},
          {"pairs", difference.num_pairs},
          {"verdict", difference.verdict}};
}

Difference differenceFrom(const Json& json) {
  Difference difference{.metric = json.at("metric"),
                        .label = json.at("label"),
                        .unit = json.at("unit"),
                        .a = numberOf(json.at("a")),
                        .b = numberOf(json.at("b")),
                        .ratio = numberOf(json.at("ratio")),
                        .ci95 = {},
                        .num_pairs = json.at("pairs"),
                        .verdict = json.at("verdict")};
  if (const Json& ci = json.at("ci95"); !ci.is_null()) difference.ci95 = Interval{ci.at(0), ci.at(1)};
  return difference;
}

Json chartJson(const ComparedLane& lane) {
  Json series = Json::array();
  for (const SeriesPoint& point : lane.series) {
    series.push_back({point.time_s, point.output_tokens, point.running, point.kv_written, point.kv_held});
  }
  return {{"series_columns", {"time_s", "output_tokens", "running", "kv_slots_written", "kv_slots_held"}},
          {"series", series},
          {"itl_ms_percentiles", lane.itl_ms}};
}

ComparedLane laneFrom(const Json& run, const Json& chart) {
  ComparedLane lane{.run = runFromJson(run), .series = {}, .itl_ms = chart.at("itl_ms_percentiles")};
  for (const Json& point : chart.at("series")) {
    lane.series.push_back({point.at(0), point.at(1), point.at(2), point.at(3), point.at(4)});
  }
  return lane;
}

Json limitsJson(const MachineLimits& limits) {
  if (!limits.measured()) return nullptr;
  return {{"read_gb_s", limits.read_bytes_per_s * 1e-9},
          {"cache_read_gb_s", limits.cache_read_bytes_per_s * 1e-9},
          {"fp32_gflop_s", limits.fp32_flop_per_s * 1e-9},
          {"f16_gflop_s", limits.f16_flop_per_s * 1e-9},
          {"int8_gop_s", limits.int8_op_per_s * 1e-9},
          {"threads", limits.num_threads},
          {"last_level_cache_bytes", limits.last_level_cache_bytes},
          {"cache_reach_bytes", limits.cache_reach_bytes}};
}

MachineLimits limitsFrom(const Json& json) {
  MachineLimits limits;
  if (json.is_null()) return limits;
  limits.read_bytes_per_s = json.at("read_gb_s").get<double>() * 1e9;
  limits.cache_read_bytes_per_s = json.at("cache_read_gb_s").get<double>() * 1e9;
  limits.fp32_flop_per_s = json.at("fp32_gflop_s").get<double>() * 1e9;
  limits.f16_flop_per_s = json.value("f16_gflop_s", 0.0) * 1e9;  // not in files of before
  limits.int8_op_per_s = json.at("int8_gop_s").get<double>() * 1e9;
  json.at("threads").get_to(limits.num_threads);
  json.at("last_level_cache_bytes").get_to(limits.last_level_cache_bytes);
  json.at("cache_reach_bytes").get_to(limits.cache_reach_bytes);
  return limits;
}

Comparison comparisonFrom(const Json& json) {
  if (json.at("file") != kFileKind || json.at("version") != kFileVersion)
    throw Error("not a comparison of this version");
  Comparison comparison{.scenario = json.at("scenario"),
                        .title = json.at("title"),
                        .model = json.at("model"),
                        .model_name = json.at("model_name"),
                        .seed = json.at("seed"),
                        .num_repeats = json.at("repeats"),
                        .num_dropped = json.at("dropped"),
                        .unsteady = json.at("unsteady"),
                        .limits = limitsFrom(json.at("ceilings")),
                        .a = laneFrom(json.at("a"), json.at("charts").at("a")),
                        .b = laneFrom(json.at("b"), json.at("charts").at("b")),
                        .notices = json.at("notices")};
  for (const Json& difference : json.at("differences")) comparison.differences.push_back(differenceFrom(difference));
  Quality& quality = comparison.quality;
  json.at("answers").get_to(quality.num_answers);
  json.at("equal_answers").get_to(quality.num_equal_answers);
  if (const Json& token = json.at("first_divergent_token"); !token.is_null()) quality.first_divergent_token = token;
  json.at("compared_rows").get_to(quality.num_rows);
  quality.top1_agreement = numberOf(json.at("top1_agreement"));
  quality.kl_mean = numberOf(json.at("kl_mean"));
  quality.kl_p99 = numberOf(json.at("kl_p99"));
  quality.text = textFrom(json.value("text", Json(nullptr)));  // not in files of before
  return comparison;
}

// Texts with commas or quotes would need quoting; labels have none but "of these, ...".
std::string csvText(const std::string& text) {
  return text.find_first_of(",\"") == std::string::npos ? text : '"' + text + '"';
}

std::string csvNumber(const std::optional<double>& value) {
  return value ? fmt::format("{:.9g}", *value) : "";
}

void writeFile(const std::filesystem::path& file, const std::string& text) {
  OutputFile output(file, file.string(), text.size());
  output.write(std::as_bytes(std::span(text)));
  output.commit();
}

}  // namespace

Json comparisonJson(const Comparison& comparison) {
  Json differences = Json::array();
  for (const Difference& difference : comparison.differences) differences.push_back(differenceJson(difference));
  const Quality& quality = comparison.quality;
  return {
      {"file", kFileKind},
      {"version", kFileVersion},
      {"scenario", comparison.scenario},
      {"title", comparison.title},
      {"model", comparison.model},
      {"model_name", comparison.model_name},
      {"seed", comparison.seed},
      {"repeats", comparison.num_repeats},
      {"dropped", comparison.num_dropped},
      {"unsteady", comparison.unsteady},
      {"ceilings", limitsJson(comparison.limits)},
      {"notices", comparison.notices},
      {"a", runJson(comparison.a.run)},
      {"b", runJson(comparison.b.run)},
      {"differences", differences},
      {"answers", quality.num_answers},
      {"equal_answers", quality.num_equal_answers},
      {"first_divergent_token", quality.first_divergent_token ? Json(*quality.first_divergent_token) : Json(nullptr)},
      {"compared_rows", quality.num_rows},
      {"top1_agreement", orNull(quality.top1_agreement)},
      {"kl_mean", orNull(quality.kl_mean)},
      {"kl_p99", orNull(quality.kl_p99)},
      {"text", textJson(quality.text)},
      {"charts", {{"a", chartJson(comparison.a)}, {"b", chartJson(comparison.b)}}}};
}

Comparison openComparison(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream || !std::filesystem::is_regular_file(file)) {
    throw Error(fmt::format("{}: cannot be read as a comparison", file.string()));
  }
  try {
    return comparisonFrom(Json::parse(stream));
  } catch (const std::exception&) {
    throw Error(fmt::format("{}: is no comparison that this program wrote, or is damaged", file.string()));
  }
}

std::string comparisonCsv(const Comparison& comparison) {
  std::string text = "metric,label,unit,a,b,ratio,ci95_low,ci95_high,pairs,verdict\n";
  for (const Difference& difference : comparison.differences) {
    const auto& ci = difference.ci95;
    text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", difference.metric, csvText(difference.label),
                        difference.unit, csvNumber(difference.a), csvNumber(difference.b), csvNumber(difference.ratio),
                        ci ? csvNumber(ci->low) : "", ci ? csvNumber(ci->high) : "", difference.num_pairs,
                        difference.verdict);
  }
  return text;
}

void saveComparison(const Comparison& comparison, const std::filesystem::path& file) {
  const std::string ending = file.extension().string();
  if (ending == ".json")
    return writeFile(file, comparisonJson(comparison).dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  if (ending == ".csv") return writeFile(file, comparisonCsv(comparison));
  if (ending == ".html") return writeFile(file, comparisonHtml(comparison));
  throw Error(fmt::format("{}: the name must end in .json, .csv or .html", file.string()));
}

std::string repeatsWords(const Comparison& comparison) {
  if (comparison.unsteady) {
    return fmt::format("the machine drifted by over 10% in all {} repeats: take the figures with care",
                       comparison.num_dropped);
  }
  if (!comparison.limits.measured()) return fmt::format("{} repeats, the machine not probed", comparison.num_repeats);
  return fmt::format("{} repeats, {} dropped since the machine drifted", comparison.num_repeats,
                     comparison.num_dropped);
}

std::string whatDiffers(const EngineOptions& a, const EngineOptions& b) {
  std::string text;
  for (const std::string_view id : changedKnobs(a, b)) {
    const Knob& knob = *findKnob(id);
    text += fmt::format("{}{} {} against {}", text.empty() ? "" : ", ", id, knob.get(a), knob.get(b));
  }
  return text.empty() ? "no knob differs" : text;
}

}  // namespace inferoscope::core
