// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/verify/kernel_cases.h"
#include "kernels/ops.h"

#include <vector>

// What each op is by definition, in double precision, on arguments in host memory.
namespace inferoscope::core::verify {

// A result, and the size of what was summed for it: errors are relative to that.
struct Expected {
  double value;
  double size;
};

std::vector<Expected> reference(const kernels::EmbedArgs& args);
std::vector<Expected> reference(const kernels::RmsNormArgs& args);
std::vector<Expected> reference(const kernels::LinearArgs& args);  // w as rows
std::vector<Expected> reference(const kernels::RopeArgs& args);
std::vector<Expected> reference(const kernels::AttentionArgs& args);
std::vector<Expected> reference(const kernels::SwiGluArgs& args);
std::vector<Expected> reference(const kernels::AddArgs& args);

}  // namespace inferoscope::core::verify
