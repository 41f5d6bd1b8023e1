// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>

namespace inferoscope::kernels::cpu {

// The loops of the probe. Each returns something that depends on all it computed, so that nothing is optimised away.

inline constexpr std::int64_t kProbeAhead = 4096;  // fetched ahead, as the linear kernels do

// num_bytes % 256 == 0, 32-byte aligned
std::uint64_t sumBytesAvx2(const std::byte* memory, std::int64_t num_bytes);
std::uint64_t sumBytesAvx512(const std::byte* memory, std::int64_t num_bytes);

// Rounds of 12 independent multiply-adds of whole vectors.
inline constexpr double kFlopsPerRoundAvx2 = 12 * 8 * 2;
inline constexpr double kFlopsPerRoundAvx512 = 12 * 16 * 2;
float fmaRoundsAvx2(std::int64_t num_rounds);
float fmaRoundsAvx512(std::int64_t num_rounds);

}  // namespace inferoscope::kernels::cpu
