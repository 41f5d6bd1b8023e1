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
KernelSet::Rows<Args> allRows(std::span<const kernels::Kernel<Args>> table) {
  KernelSet::Rows<Args> rows;
  for (const kernels::Kernel<Args>& kernel : table) rows.push_back(&kernel);
  return rows;
}

std::string_view linearChoice(const kernels::Catalog& catalog, const EngineOptions& options) {
  const auto cpu = kernels::catalogOf(kernels::Device::kCpu).linear;
  const bool on_cpu = !catalog.linear.empty() && catalog.linear[0].device == kernels::Device::kCpu;
  const auto is_chosen = [&](const auto& kernel) { return kernel.choice == options.linear; };
  if (on_cpu || catalog.linear.empty() || std::ranges::none_of(cpu, is_chosen)) return options.linear;
  return catalog.linear[0].choice;
}

// The rows of the choice first, then the others, both in catalog order.
template <class Args>
KernelSet::Rows<Args> rowsByChoice(std::span<const kernels::Kernel<Args>> table, std::string_view knob,
                                   std::string_view choice) {
  KernelSet::Rows<Args> rows = allRows(table);
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

KernelSet chooseKernels(const kernels::Catalog& catalog, const EngineOptions& options) {
  return {.embed = allRows(catalog.embed),
          .rms_norm = allRows(catalog.rms_norm),
          .linear = rowsByChoice(catalog.linear, "linear", linearChoice(catalog, options)),
          .rope = allRows(catalog.rope),
          .kv_append = allRows(catalog.kv_append),
          .attention = rowsByChoice(catalog.attention, "attention", options.attention),
          .swiglu = allRows(catalog.swiglu),
          .add = allRows(catalog.add),
          .sample = allRows(catalog.sample)};
}

KernelSet chooseKernels(kernels::Device device, const EngineOptions& options) {
  return chooseKernels(kernels::catalogOf(device), options);
}

}  // namespace inferoscope::core
