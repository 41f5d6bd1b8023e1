// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/kernel_set.h"

#include "core/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace inferoscope::core {
namespace {

template <class Args>
KernelSet::Rows<Args> allRows(kernels::Device device) {
  KernelSet::Rows<Args> rows;
  for (const kernels::Kernel<Args>& kernel : kernels::kernelsFor<Args>(device)) rows.push_back(&kernel);
  return rows;
}

// The rows of the choice first, then the others, both in catalog order.
template <class Args>
KernelSet::Rows<Args> rowsByChoice(kernels::Device device, std::string_view knob, std::string_view choice) {
  KernelSet::Rows<Args> rows = allRows<Args>(device);
  const auto is_chosen = [&](const kernels::Kernel<Args>* kernel) { return kernel->choice == choice; };
  if (std::ranges::none_of(rows, is_chosen)) {
    std::set<std::string_view> known;
    for (const kernels::Kernel<Args>* kernel : rows) known.insert(kernel->choice);
    throw Error(fmt::format("{}: this device has no \"{}\" kernel, only {}", knob, choice, fmt::join(known, ", ")));
  }
  std::ranges::stable_partition(rows, is_chosen);
  return rows;
}

}  // namespace

KernelSet chooseKernels(kernels::Device device, const EngineOptions& options) {
  return {.embed = allRows<kernels::EmbedArgs>(device),
          .rms_norm = allRows<kernels::RmsNormArgs>(device),
          .linear = rowsByChoice<kernels::LinearArgs>(device, "linear", options.linear),
          .rope = allRows<kernels::RopeArgs>(device),
          .kv_append = allRows<kernels::KvAppendArgs>(device),
          .attention = rowsByChoice<kernels::AttentionArgs>(device, "attention", options.attention),
          .swiglu = allRows<kernels::SwiGluArgs>(device),
          .add = allRows<kernels::AddArgs>(device)};
}

}  // namespace inferoscope::core
