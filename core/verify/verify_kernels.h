// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/backend/backend.h"

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace inferoscope::core::verify {

// What became of one row of the catalog, with weights or cache in one format.
struct KernelCheck {
  std::string kernel;     // "linear.avx2"
  std::string format;     // empty where the op has none
  std::string skipped{};  // why no case was run: "this CPU has no AVX2"; empty if there was one
  int num_cases = 0;
  int num_failed = 0;
  double largest_error = 0;  // relative to the sizes that are summed; infinite if a result is not a number
  double tolerance = 0;
  std::string worst_case{};  // "5 tokens, 37 x 96"

  bool passed() const { return num_failed == 0; }
};

// Runs every row of a device's catalog over odd shapes, and compares with the op's definition in double precision.
// Throws Cancelled. before(kernel, format) is called before each row; may be empty.
std::vector<KernelCheck> verifyKernels(Backend& backend, const std::function<void(const std::string& kernel)>& before,
                                       const std::stop_token& stop);

}  // namespace inferoscope::core::verify
