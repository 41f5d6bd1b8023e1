// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/compared_metrics.h"
#include "core/observe/limits.h"
#include "core/observe/run_summary.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace inferoscope::core {

// A lane over its own time, thinned out to what a chart can show.
struct SeriesPoint {
  double time_s = 0;
  double output_tokens = 0;  // so far
  double running = 0;        // sequences
  double kv_written = 0;     // slots
  double kv_held = 0;        // slots, written or not
};

struct ComparedLane {
  RunSummary run;                   // of the repeat in the middle, by the ratio of the lanes' throughput
  std::vector<SeriesPoint> series;  // of the same repeat
  std::vector<double> itl_ms;       // of the same repeat: percentiles 0, 1, ..., 100; empty without gaps
};

// A text that both settings read: how well each predicts it, and how far apart their predictions lie.
struct TextScore {
  std::string name;
  std::int64_t num_tokens = 0;
  double perplexity_a = 0;
  double perplexity_b = 0;
  double kl_mean = 0;  // KL(A || B), nats; any figure is not a number where a logit was none
  double kl_p99 = 0;
  double top1_agreement = 0;
};

// How far the answers and logits of the two settings lie apart.
struct Quality {
  int num_answers = 0;                       // that both lanes gave to the same request
  int num_equal_answers = 0;                 // token by token
  std::optional<int> first_divergent_token;  // the earliest place in an answer where the lanes differ; none: nowhere
  std::int64_t num_rows = 0;                 // contexts whose logits were compared: A's answers, read by both
  std::optional<double> top1_agreement;
  std::optional<double> kl_mean;  // KL(A || B), nats
  std::optional<double> kl_p99;
  std::optional<TextScore> text;  // none: no text was given
};

// A finished comparison: a value that is written to one file and read again without the model.
struct Comparison {
  std::string scenario;  // id
  std::string title;
  std::string model;  // source
  std::string model_name;
  std::uint64_t seed = 0;
  int num_repeats = 0;    // kept
  int num_dropped = 0;    // the machine's probes before and after differed by over 10%
  bool unsteady = false;  // all were dropped: the figures are over the dropped ones
  MachineLimits limits;   // medians of the probes; not measured if nobody probed
  ComparedLane a{};
  ComparedLane b{};
  std::vector<Difference> differences{};
  Quality quality{};
  std::vector<std::string> notices{};  // what a reader must know: "this machine's cache holds the whole model: ..."
};

// {"a": run, "b": run, "differences": [{"metric", "a", "b", "ratio", "ci95", "verdict", ...}], "first_divergent_token",
// "top1_agreement", "kl_mean", ...}
nlohmann::ordered_json comparisonJson(const Comparison& comparison);
// Throws Error that names the file.
Comparison openComparison(const std::filesystem::path& file);

// By the file's ending: .json (opens again), .csv (the table), .html (one page with charts). Written to a temporary
// name first. Throws Error.
void saveComparison(const Comparison& comparison, const std::filesystem::path& file);
std::string comparisonCsv(const Comparison& comparison);
std::string comparisonHtml(const Comparison& comparison);

// "5 repeats, 1 dropped since the machine drifted", or that nobody probed, or that it never held still.
std::string repeatsWords(const Comparison& comparison);

// "weights f16 against q8_0", "no knob differs".
std::string whatDiffers(const EngineOptions& a, const EngineOptions& b);

}  // namespace inferoscope::core
