// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/verify/verify_kernels.h"
#include "kernels/kernel.h"

#include <stop_token>

namespace inferoscope::core::verify {

// A device's sampler beside the CPU's: of the same logits, with the same random numbers, it must pick the same tokens.
// A case is a row of logits with settings of its own. Throws Cancelled.
KernelCheck verifySampling(Backend& backend, const kernels::Kernel<kernels::SampleArgs>& row, std::stop_token stop);

}  // namespace inferoscope::core::verify
