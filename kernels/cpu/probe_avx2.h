// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>

namespace inferoscope::kernels::cpu {

// The loops of the probe. Each returns something that depends on all it computed, so that nothing is optimised away.

std::uint64_t sumBytesAvx2(const std::byte* memory, std::int64_t num_bytes);  // num_bytes % 256 == 0, 32-byte aligned

inline constexpr double kFlopsPerRound = 12 * 8 * 2;  // 12 chains of 8 lanes
float fmaRoundsAvx2(std::int64_t num_rounds);

inline constexpr double kDotOpsPerRound = 8 * 32 * 2;  // 2 rows times 4 tokens of 32 bytes
float dotRoundsAvx2(std::int64_t num_rounds);

}  // namespace inferoscope::kernels::cpu
