// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/op_work.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace inferoscope::core {

// Where the time of a step went: its ops, and the software around them. What is not an op is not lost, it is named.
struct StepTime {
  struct OfKind {
    kernels::OpKind kind{};
    OpWork work;
  };
  struct OfOp {
    std::string_view name;  // "attn_q"
    std::string_view kernel;
    kernels::OpKind kind{};
    OpWork work;
    Bound bound = Bound::kUnknown;
  };
  struct OfLayer {
    int layer = -1;  // -1: before or after the layers
    OpWork work;
    Bound bound = Bound::kUnknown;
    std::vector<OfOp> ops;  // in execution order
  };

  std::int64_t step_index = -1;
  Phase phase{};
  std::int64_t measured_ns = 0;     // of the step
  bool stays_in_cache = false;      // its weights and keys
  OpWork ops;                       // all of them
  std::vector<OfKind> kinds;        // those that occur, the most above its floor first
  std::vector<OfLayer> layers;      // in execution order
  std::int64_t between_ops_ns = 0;  // from one op's end to the next one's start
  std::int64_t around_ops_ns = 0;   // before the first and after the last: schedule, sample, commit

  std::int64_t softwareNs() const { return between_ops_ns + around_ops_ns; }
  double share(double ns) const { return measured_ns > 0 ? ns / static_cast<double>(measured_ns) : 0.0; }
};

StepTime stepTimeOf(const StepRecord& step, const MachineLimits& limits);

}  // namespace inferoscope::core
