// SPDX-License-Identifier: GPL-3.0-or-later
// A run's summary as JSON and back. What has no value is null.
#include "core/engine/knobs.h"
#include "core/engine/scenario_run.h"
#include "core/error.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace inferoscope::core {
namespace {

using Json = nlohmann::ordered_json;

Json orNull(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::optional<double> numberOf(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

Json percentilesJson(const Percentiles& values) {
  return {{"p50", orNull(values.p50)}, {"p90", orNull(values.p90)}, {"p99", orNull(values.p99)}};
}

Percentiles percentilesOf(const Json& json) {
  return {numberOf(json.at("p50")), numberOf(json.at("p90")), numberOf(json.at("p99"))};
}

// What the figures of a person are made from, so that a file holds all of them.
Json countsJson(const RunSummary& summary) {
  Json cost = {{"flops", summary.cost.flops}, {"int8_ops", summary.cost.int8_ops}};
  for (const ByteClass& bytes : byteClasses()) cost[bytes.name] = summary.cost.*bytes.field;
  return {{"steps", summary.num_steps},
          {"good_requests", summary.num_good},
          {"prompt_tokens", summary.num_prompt_tokens},
          {"prefill_tokens", summary.num_prefill_tokens},
          {"output_tokens", summary.num_output_tokens},
          {"duration_ns", summary.duration_ns},
          {"busy_ns", summary.busy_ns},
          {"cost", cost},
          {"kv_slots",
           {{"written", summary.kv.written},
            {"reserved", summary.kv.reserved},
            {"internal", summary.kv.internal},
            {"external", summary.kv.external},
            {"total", summary.kv.total}}}};
}

void readCounts(const Json& json, RunSummary& to) {
  json.at("steps").get_to(to.num_steps);
  json.at("good_requests").get_to(to.num_good);
  json.at("prompt_tokens").get_to(to.num_prompt_tokens);
  json.at("prefill_tokens").get_to(to.num_prefill_tokens);
  json.at("output_tokens").get_to(to.num_output_tokens);
  json.at("duration_ns").get_to(to.duration_ns);
  json.at("busy_ns").get_to(to.busy_ns);
  const Json& cost = json.at("cost");
  cost.at("flops").get_to(to.cost.flops);
  cost.at("int8_ops").get_to(to.cost.int8_ops);
  for (const ByteClass& bytes : byteClasses()) cost.at(bytes.name).get_to(to.cost.*bytes.field);
  const Json& slots = json.at("kv_slots");
  slots.at("written").get_to(to.kv.written);
  slots.at("reserved").get_to(to.kv.reserved);
  slots.at("internal").get_to(to.kv.internal);
  slots.at("external").get_to(to.kv.external);
  slots.at("total").get_to(to.kv.total);
}

}  // namespace

Json optionsJson(const EngineOptions& options) {
  Json json = Json::object();
  for (const Knob& knob : knobs()) json[knob.id] = knob.get(options);
  return json;
}

EngineOptions optionsFromJson(const Json& json) {
  EngineOptions options;
  for (const auto& [id, value] : json.items()) {
    const std::string wrong = setKnob(options, id, value.get<std::string>());
    if (!wrong.empty()) throw Error(wrong);
  }
  return options;
}

Json runJson(const RunSummary& summary) {
  Json bytes = Json::object();
  for (const ByteClass& each : byteClasses()) bytes[each.name] = orNull(summary.bytesPerToken(each.field));
  return {{"options", optionsJson(summary.options)},
          {"requests", summary.num_finished},
          {"refused", summary.num_refused},
          {"ttft_ms", percentilesJson(summary.ttft_ms)},
          {"tpot_ms", percentilesJson(summary.tpot_ms)},
          {"itl_ms", percentilesJson(summary.itl_ms)},
          {"output_tok_s", orNull(summary.outputTokensPerSecond())},
          {"total_tok_s", orNull(summary.totalTokensPerSecond())},
          {"goodput", orNull(summary.goodput())},
          {"goal", {{"ttft_ms", summary.goal.ttft_ms}, {"tpot_ms", summary.goal.tpot_ms}}},
          {"kv_waste",
           {{"reserved", summary.kv.reservedShare()},
            {"internal", summary.kv.internalShare()},
            {"external", summary.kv.externalShare()}}},
          {"max_concurrent", summary.max_concurrent},
          {"mean_concurrent", summary.mean_concurrent},
          {"fitting_sequences", orNull(summary.fitting_sequences)},
          {"preemptions", summary.num_preemptions},
          {"prefix_hit_rate", orNull(summary.prefix_hit_rate)},
          {"bytes_per_token", bytes},
          {"peak_scratch_bytes", summary.peak_scratch_bytes},
          {"peak_attention_scratch_bytes", summary.peak_attention_scratch_bytes},
          {"counts", countsJson(summary)}};
}

RunSummary runFromJson(const Json& json) {
  RunSummary summary;
  summary.options = optionsFromJson(json.at("options"));
  json.at("requests").get_to(summary.num_finished);
  json.at("refused").get_to(summary.num_refused);
  summary.ttft_ms = percentilesOf(json.at("ttft_ms"));
  summary.tpot_ms = percentilesOf(json.at("tpot_ms"));
  summary.itl_ms = percentilesOf(json.at("itl_ms"));
  json.at("goal").at("ttft_ms").get_to(summary.goal.ttft_ms);
  json.at("goal").at("tpot_ms").get_to(summary.goal.tpot_ms);
  json.at("max_concurrent").get_to(summary.max_concurrent);
  json.at("mean_concurrent").get_to(summary.mean_concurrent);
  summary.fitting_sequences = numberOf(json.value("fitting_sequences", Json(nullptr)));  // not in files of before
  json.at("preemptions").get_to(summary.num_preemptions);
  summary.prefix_hit_rate = numberOf(json.at("prefix_hit_rate"));
  json.at("peak_scratch_bytes").get_to(summary.peak_scratch_bytes);
  json.at("peak_attention_scratch_bytes").get_to(summary.peak_attention_scratch_bytes);
  readCounts(json.at("counts"), summary);
  return summary;
}

}  // namespace inferoscope::core
