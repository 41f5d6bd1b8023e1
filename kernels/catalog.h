// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/kernel.h"

#include <span>

namespace inferoscope::kernels {

// The kernels of a device for one op, the preferred one first. Instantiated for every args struct of ops.h.
// kernelsFor<LinearArgs>(Device::kCpu) -> {linear.avx2, linear.naive}
template <class Args>
std::span<const Kernel<Args>> kernelsFor(Device device);

}  // namespace inferoscope::kernels
