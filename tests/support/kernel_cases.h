// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/verify/kernel_cases.h"
#include "core/verify/reference.h"
#include "kernels/cpu/pool.h"

#include <algorithm>
#include <string_view>

// The generator of cases, and a way to run kernels on them without a backend. Knows no Qt.
namespace inferoscope::tests {

using namespace core::verify;  // NOLINT(google-build-using-namespace): the cases are the tests' own words
using Memory = HostMemory;

// Runs a kernel with just the scratch it asked for; true if it wrote nothing behind that.
template <class Args>
bool runKernel(const kernels::Kernel<Args>& kernel, const Args& args, int num_threads) {
  constexpr std::size_t kGuard = 256;
  kernels::cpu::Pool pool(num_threads);
  const std::size_t scratch_bytes = kernel.scratchBytes(args, num_threads);
  const Memory scratch(scratch_bytes + kGuard);
  kernel.run(args, {.pool = &pool, .scratch = scratch.bytes().first(scratch_bytes), .stop = {}});
  return std::ranges::all_of(scratch.bytes().last(kGuard), [](std::byte b) { return b == std::byte{0xFF}; });
}

template <class Args>
const kernels::Kernel<Args>* findKernel(std::string_view id) {
  const auto rows = kernels::kernelsFor<Args>(kernels::Device::kCpu);
  const auto row = std::ranges::find(rows, id, &kernels::Kernel<Args>::id);
  return row == rows.end() ? nullptr : &*row;
}

// Attention by its definition, in double precision.
inline std::vector<double> attentionReference(AttentionCase& c) {
  std::vector<double> out;
  for (const Expected& expected : reference(c.args())) out.push_back(expected.value);
  return out;
}

}  // namespace inferoscope::tests
