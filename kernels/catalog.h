// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/kernel.h"

#include <span>

namespace inferoscope::kernels {

// The kernels of a device for one op, the preferred one first. Instantiated for every args struct of ops.h.
// Several rows may share a choice; the first that supports the arguments is meant.
// kernelsFor<LinearArgs>(Device::kCpu) -> {linear.avx512, ..., linear.naive}
template <class Args>
std::span<const Kernel<Args>> kernelsFor(Device device);

template <>
std::span<const Kernel<EmbedArgs>> kernelsFor(Device device);
template <>
std::span<const Kernel<RmsNormArgs>> kernelsFor(Device device);
template <>
std::span<const Kernel<LinearArgs>> kernelsFor(Device device);
template <>
std::span<const Kernel<RopeArgs>> kernelsFor(Device device);
template <>
std::span<const Kernel<KvAppendArgs>> kernelsFor(Device device);
template <>
std::span<const Kernel<AttentionArgs>> kernelsFor(Device device);
template <>
std::span<const Kernel<SwiGluArgs>> kernelsFor(Device device);
template <>
std::span<const Kernel<AddArgs>> kernelsFor(Device device);
template <>
std::span<const Kernel<SampleArgs>> kernelsFor(Device device);

// The tables of one device together.
struct Catalog {
  std::span<const Kernel<EmbedArgs>> embed;
  std::span<const Kernel<RmsNormArgs>> rms_norm;
  std::span<const Kernel<LinearArgs>> linear;
  std::span<const Kernel<RopeArgs>> rope;
  std::span<const Kernel<KvAppendArgs>> kv_append;
  std::span<const Kernel<AttentionArgs>> attention;
  std::span<const Kernel<SwiGluArgs>> swiglu;
  std::span<const Kernel<AddArgs>> add;
  std::span<const Kernel<SampleArgs>> sample;  // none: logits are brought to core's Sampler
};

// Of a device whose kernels are linked in: the CPU. Those of a module come with it.
Catalog catalogOf(Device device);

// The layout of a matrix (its own is not looked at) that the device's first linear kernel able to run it wants.
Layout preferredLayout(Device device, WeightMatrix w);

}  // namespace inferoscope::kernels
