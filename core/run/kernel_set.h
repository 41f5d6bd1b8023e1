// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/options.h"
#include "kernels/catalog.h"

#include <vector>

namespace inferoscope::core {

// The catalog rows that an engine's options ask for, one list an op: the chosen row first, then the ones to fall back
// on where it can't run the arguments. The records name the row that ran.
struct KernelSet {
  template <class Args>
  using Rows = std::vector<const kernels::Kernel<Args>*>;

  Rows<kernels::EmbedArgs> embed;
  Rows<kernels::RmsNormArgs> rms_norm;
  Rows<kernels::LinearArgs> linear;
  Rows<kernels::RopeArgs> rope;
  Rows<kernels::KvAppendArgs> kv_append;
  Rows<kernels::AttentionArgs> attention;
  Rows<kernels::SwiGluArgs> swiglu;
  Rows<kernels::AddArgs> add;
  Rows<kernels::SampleArgs> sample;  // may be none
};

// Throws Error if no row of the device has the choice, naming those that exist. The CPU's ways of the linear kernel
// mean nothing to another device: it takes its own preferred one.
KernelSet chooseKernels(const kernels::Catalog& catalog, const EngineOptions& options);
KernelSet chooseKernels(kernels::Device device, const EngineOptions& options);  // of a device that is linked in

}  // namespace inferoscope::core
