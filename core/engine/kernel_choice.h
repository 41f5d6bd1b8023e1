// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model.h"
#include "core/run/kernel_set.h"
#include "kernels/paged_kv.h"

#include <string>

namespace inferoscope::core {

// Empty if the options' attention kernel can run on this cache, else the kernel's own reason.
std::string attentionRefusal(const KernelSet& kernels, const EngineOptions& options, const Model& model,
                             const kernels::PagedKvView& kv);

// Empty if the linear kernel chosen, the first of the set, can run at least one of the model's matrices (the records
// name the kernel that ran the others), else the kernel's own reason.
std::string linearRefusal(const KernelSet& kernels, const Model& model);

}  // namespace inferoscope::core
