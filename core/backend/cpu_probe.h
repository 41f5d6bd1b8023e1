// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/limits.h"
#include "kernels/cpu/pool.h"

#include <stop_token>

namespace inferoscope::core {

// Measures this machine's ceilings with the threads of the pool: the best of several passes each. Throws Cancelled.
MachineLimits probeCpu(kernels::cpu::Pool& pool, const std::stop_token& stop);

}  // namespace inferoscope::core
