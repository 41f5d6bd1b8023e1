// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/pool.h"

#include <cstddef>
#include <span>
#include <stop_token>

namespace inferoscope::kernels::cpu {

// The machine's ceilings, measured by loops of the same instruction mix as the kernels', on all threads of the pool.
// All return the rate of one pass; the caller repeats and takes the best. 0 if stopped.

// Sums `memory` once with vector loads. Bytes per second.
double readBandwidth(Pool& pool, std::span<const std::byte> memory, const std::stop_token& stop);

// Independent fp32 multiply-adds in registers, about `milliseconds` long. FLOP/s, a multiply-add is two.
double fp32Rate(Pool& pool, int milliseconds, const std::stop_token& stop);

// The quantized linear kernel this machine prefers, on many tokens and operands in L1: integer dots, and what turns
// their sums into floats. Operations/s, a multiply-add is two.
double int8DotRate(Pool& pool, int milliseconds, const std::stop_token& stop);

}  // namespace inferoscope::kernels::cpu
