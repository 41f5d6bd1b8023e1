// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/workload.h"
#include "core/observe/limits.h"
#include "core/observe/run_summary.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace inferoscope::core {

// Ceilings by number of threads: one thread has less of both.
using LimitsOf = std::function<MachineLimits(int num_threads)>;

// How much longer than its floor each kernel takes on this machine, learned from steps that were measured. A kernel
// that was never seen is taken to be as far from its floor as those that were, a naive one kNaive times as far: what
// switching to it would bring is a guess, and said to be one.
class Calibration {
 public:
  static constexpr double kUnseen = 1.5;  // times the floor, at least
  static constexpr double kNaive = 5;

  void add(const StepRecord& step, const MachineLimits& limits);

  // Whether the op was measured, with about as many tokens.
  bool knows(const OpRecord& op) const { return m_by_kernel.contains(keyOf(op)); }
  // Nanoseconds an op will take: a constant part and what the floor gives.
  double predictNs(const OpRecord& op, const MachineLimits& limits) const;
  double softwareNs() const;  // of a step, outside kernels

 private:
  struct Sum {
    double measured_ns = 0;
    double floor_ns = 0;
  };
  // A kernel serves one token another way than many: both are kept apart.
  static std::string keyOf(const OpRecord& op);
  static bool isNaive(std::string_view kernel) { return kernel.find("naive") != std::string_view::npos; }
  double unseenNs(const OpRecord& op, double floor_ns) const;

  std::map<std::string, Sum> m_by_kernel;  // and by op and kind of step, see keyOf
  Sum m_all;                               // but the naive ones
  double m_software_ns = 0;
  int m_num_steps = 0;
};

// The workload through a scheduler and a dry run of the forward pass, nothing computed: what the engine would decide,
// and how long its steps should take. Tokens are made up; where a person's answer would have ended is not known.
// Throws Error (the options don't fit the model), Cancelled.
RunSummary predictRun(const std::shared_ptr<const Model>& model, const Scenario& scenario, const EngineOptions& options,
                      const LimitsOf& limits_of, const Calibration& calibration, const std::stop_token& stop);

// One knob turned, and what is predicted to come of it.
struct Advice {
  std::string knob;
  std::string value;
  double throughput_ratio = 1;         // output tokens per second of computing, over those of now
  std::optional<double> ttft_ratio{};  // median, over that of now; none where no request has it
  std::optional<double> itl_p99_ratio{};
  bool guessed = false;  // a good part of the time is of kernels, or of numbers of tokens, never measured here
};

// Every switch of the table that could be set otherwise and would serve the same requests, the largest gain of
// throughput first.
std::vector<Advice> whatWouldHelp(const std::shared_ptr<const Model>& model, const Scenario& scenario,
                                  const EngineOptions& options, const LimitsOf& limits_of,
                                  const Calibration& calibration, const std::stop_token& stop);

}  // namespace inferoscope::core
