// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/observe/compared_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace inferoscope::core {
namespace {

using kernels::OpCost;
using Run = const RunSummary&;
using Value = std::optional<double>;

// None where no step left anything in the cache to look at.
Value ofHeld(Run run, double share) {
  return run.kv.held() > 0 ? Value(share) : std::nullopt;
}

std::vector<ComparedMetric> makeTable() {
  using enum MetricKind;
  return {
      {"output_tok_s", "Output", "tok/s", kRate, [](Run run) { return run.outputTokensPerSecond(); }},
      {"total_tok_s", "Prompt and output", "tok/s", kRate, [](Run run) { return run.totalTokensPerSecond(); }},
      {"goodput", "Requests that kept the goal", "per s", kRate, [](Run run) { return run.goodput(); }},
      {"ttft_ms_p50", "TTFT, median", "ms", kTime, [](Run run) { return run.ttft_ms.p50; }},
      {"ttft_ms_p99", "TTFT, 99th percentile", "ms", kTime, [](Run run) { return run.ttft_ms.p99; }},
      {"tpot_ms_p50", "TPOT, median", "ms", kTime, [](Run run) { return run.tpot_ms.p50; }},
      {"itl_ms_p50", "ITL, median", "ms", kTime, [](Run run) { return run.itl_ms.p50; }},
      {"itl_ms_p99", "ITL, 99th percentile", "ms", kTime, [](Run run) { return run.itl_ms.p99; }},
      {"bytes_per_token", "Bytes moved per output token", "bytes", kAmount,
       [](Run run) -> Value {
         if (run.num_output_tokens == 0) return std::nullopt;
         return static_cast<double>(run.cost.bytes()) / static_cast<double>(run.num_output_tokens);
       }},
      {"weight_bytes_per_token", "of these, weights", "bytes", kAmount,
       [](Run run) { return run.bytesPerToken(&OpCost::weights); }},
      {"kv_bytes_per_token", "of these, keys and values", "bytes", kAmount,
       [](Run run) -> Value {
         const Value read = run.bytesPerToken(&OpCost::kv_read);
         return read ? Value(*read + *run.bytesPerToken(&OpCost::kv_write)) : std::nullopt;
       }},
      {"activation_bytes_per_token", "of these, activations", "bytes", kAmount,
       [](Run run) { return run.bytesPerToken(&OpCost::activations); }},
      {"score_bytes_per_token", "of these, attention scores", "bytes", kAmount,
       [](Run run) { return run.bytesPerToken(&OpCost::scores); }},
      {"kv_waste", "KV slots held and not written", "share", kAmount,
       [](Run run) { return ofHeld(run, run.kv.waste()); }},
      {"kv_reserved", "of these, for tokens to come", "share", kAmount,
       [](Run run) { return ofHeld(run, run.kv.reservedShare()); }},
      {"kv_internal", "of these, never to be used", "share", kAmount,
       [](Run run) { return ofHeld(run, run.kv.internalShare()); }},
      {"kv_external", "KV slots of no use by their shape", "share", kAmount,
       [](Run run) { return Value(run.kv.externalShare()); }},
      {"max_concurrent", "Most sequences at once", "", kAmount, [](Run run) { return Value(run.max_concurrent); }},
      {"mean_concurrent", "Sequences at once, mean", "", kAmount, [](Run run) { return Value(run.mean_concurrent); }},
      {"fitting_sequences", "Sequences that fit in the KV budget", "", kAmount,
       [](Run run) { return run.fitting_sequences; }},
      {"finished", "Requests served", "", kAmount, [](Run run) { return Value(double(run.num_finished)); }},
      {"refused", "Requests refused", "", kAmount, [](Run run) { return Value(double(run.num_refused)); }},
      {"preemptions", "Preemptions", "", kAmount, [](Run run) { return Value(double(run.num_preemptions)); }},
      {"prefill_tokens", "Prompt tokens computed", "", kAmount,
       [](Run run) { return Value(double(run.num_prefill_tokens)); }},
      {"prefix_hit_rate", "Found in the prefix cache", "share", kAmount, [](Run run) { return run.prefix_hit_rate; },
       "off"},
      {"peak_scratch_bytes", "Most scratch memory of an op", "bytes", kAmount,
       [](Run run) { return Value(double(run.peak_scratch_bytes)); }},
      {"peak_attention_scratch_bytes", "Most scratch memory of attention", "bytes", kAmount,
       [](Run run) { return Value(double(run.peak_attention_scratch_bytes)); }},
  };
}

std::string words(MetricKind kind, double ratio) {
  const double times = ratio > 1 ? ratio : 1 / ratio;
  const bool up = ratio > 1;
  if (kind == MetricKind::kAmount) return fmt::format("B has {:.3g}x {}", times, up ? "more" : "less");
  const bool faster = up == (kind == MetricKind::kRate);
  return fmt::format("B is {:.3g}x {}", times, faster ? "faster" : "slower");
}

std::optional<double> median(std::span<const Pair> pairs, double Pair::*side) {
  std::vector<double> values;
  for (const Pair& pair : pairs) values.push_back(pair.*side);
  return percentile(values, 50);
}

// Then there is no ratio, and medians would hide it.
bool sometimesZero(std::span<const Pair> pairs) {
  const auto all = [&](double Pair::*side) {
    return std::ranges::all_of(pairs, [&](const Pair& pair) { return pair.*side == 0; });
  };
  const bool any = std::ranges::any_of(pairs, [](const Pair& pair) { return pair.a == 0 || pair.b == 0; });
  return any && !all(&Pair::a) && !all(&Pair::b);
}

}  // namespace

std::span<const ComparedMetric> comparedMetrics() {
  static const std::vector<ComparedMetric> kTable = makeTable();
  return kTable;
}

std::string verdictWords(MetricKind kind, std::optional<double> a, std::optional<double> b,
                         const std::optional<RatioEstimate>& estimate) {
  if (!a || !b) return "not measured";
  if (!estimate) {
    if (*a == *b) return "no clear difference";
    return *a > *b ? "only A has any" : "only B has any";
  }
  const Direction direction = directionOf(*estimate);
  if (direction == Direction::kUp || direction == Direction::kDown) return words(kind, estimate->ratio);
  return "no clear difference";
}

Difference differenceOf(const ComparedMetric& metric, std::span<const Pair> pairs, std::uint64_t seed) {
  Difference difference;
  difference.metric = metric.id;
  difference.label = metric.label;
  difference.unit = metric.unit;
  difference.a = median(pairs, &Pair::a);
  difference.b = median(pairs, &Pair::b);
  difference.num_pairs = static_cast<int>(pairs.size());
  const std::optional<RatioEstimate> estimate = bootstrapRatio(pairs, seed);
  if (estimate) {
    difference.ratio = estimate->ratio;
    difference.ci95 = estimate->ci95;
    difference.num_pairs = estimate->num_pairs;
  }
  const bool alone = difference.num_pairs == 1;  // no interval, and nothing to be sure by
  if (!alone && sometimesZero(pairs)) {
    difference.verdict = "in some repeats none: no ratio";
    return difference;
  }
  difference.verdict = alone ? "one sample" : verdictWords(metric.kind, difference.a, difference.b, estimate);
  return difference;
}

Difference differenceOf(const ComparedMetric& metric, std::span<const RunSummary> a, std::span<const RunSummary> b,
                        std::uint64_t seed) {
  std::vector<Pair> pairs;
  std::vector<double> of_a, of_b;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::optional<double> value_a = metric.value(a[i]), value_b = metric.value(b[i]);
    if (value_a) of_a.push_back(*value_a);
    if (value_b) of_b.push_back(*value_b);
    if (value_a && value_b) pairs.push_back({*value_a, *value_b});
  }
  Difference difference = differenceOf(metric, pairs, seed);
  if (of_a.empty() == of_b.empty()) return difference;
  difference.a = percentile(of_a, 50);
  difference.b = percentile(of_b, 50);
  difference.verdict = fmt::format("{} {}", of_a.empty() ? "A" : "B", metric.without);
  return difference;
}

}  // namespace inferoscope::core
