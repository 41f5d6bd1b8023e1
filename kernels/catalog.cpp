// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/catalog.h"

#include "kernels/cpu/rows.h"

#include <array>

namespace inferoscope::kernels {
namespace {

template <class Args, std::size_t n>
std::span<const Kernel<Args>> rowsOf(Device device, const std::array<Kernel<Args>, n>& cpu_rows) {
  if (device != Device::kCpu) return {};
  return cpu_rows;
}

}  // namespace

template <>
std::span<const Kernel<EmbedArgs>> kernelsFor(Device device) {
  static const std::array kCpu = {cpu::embedPlain()};
  return rowsOf(device, kCpu);
}

template <>
std::span<const Kernel<RmsNormArgs>> kernelsFor(Device device) {
  static const std::array kCpu = {cpu::rmsNormAvx2(), cpu::rmsNormNaive()};
  return rowsOf(device, kCpu);
}

template <>
std::span<const Kernel<LinearArgs>> kernelsFor(Device device) {
  static const std::array kCpu = {cpu::linearGroupsAvx512(), cpu::linearGroupsAvxVnni(), cpu::linearGroupsAvx2(),
                                  cpu::linearAvx2(), cpu::linearNaive()};
  return rowsOf(device, kCpu);
}

template <>
std::span<const Kernel<RopeArgs>> kernelsFor(Device device) {
  static const std::array kCpu = {cpu::ropeAvx2(), cpu::ropePlain()};
  return rowsOf(device, kCpu);
}

template <>
std::span<const Kernel<KvAppendArgs>> kernelsFor(Device device) {
  static const std::array kCpu = {cpu::kvAppendPlain()};
  return rowsOf(device, kCpu);
}

template <>
std::span<const Kernel<AttentionArgs>> kernelsFor(Device device) {
  static const std::array kCpu = {cpu::attentionFlashAvx512(), cpu::attentionFlash(), cpu::attentionFlashScalar(),
                                  cpu::attentionNaiveAvx512(), cpu::attentionNaive(), cpu::attentionNaiveScalar()};
  return rowsOf(device, kCpu);
}

template <>
std::span<const Kernel<SwiGluArgs>> kernelsFor(Device device) {
  static const std::array kCpu = {cpu::swiGluAvx2(), cpu::swiGluNaive()};
  return rowsOf(device, kCpu);
}

template <>
std::span<const Kernel<AddArgs>> kernelsFor(Device device) {
  static const std::array kCpu = {cpu::addPlain()};
  return rowsOf(device, kCpu);
}

template <>
std::span<const Kernel<SampleArgs>> kernelsFor(Device) {
  return {};
}

Catalog catalogOf(Device device) {
  return {.embed = kernelsFor<EmbedArgs>(device),
          .rms_norm = kernelsFor<RmsNormArgs>(device),
          .linear = kernelsFor<LinearArgs>(device),
          .rope = kernelsFor<RopeArgs>(device),
          .kv_append = kernelsFor<KvAppendArgs>(device),
          .attention = kernelsFor<AttentionArgs>(device),
          .swiglu = kernelsFor<SwiGluArgs>(device),
          .add = kernelsFor<AddArgs>(device),
          .sample = kernelsFor<SampleArgs>(device)};
}

Layout preferredLayout(Device device, WeightMatrix w) {
  for (const Kernel<LinearArgs>& row : kernelsFor<LinearArgs>(device)) {
    for (const Layout layout : {Layout::kRows, Layout::kInterleaved}) {
      w.layout = layout;
      if (row.supports({.x = nullptr, .w = w, .out = nullptr, .num_tokens = 1}).empty()) return layout;
    }
  }
  return Layout::kRows;
}

}  // namespace inferoscope::kernels
