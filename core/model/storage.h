// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"

#include <cstdint>
#include <string>
#include <vector>

namespace inferoscope::core {

// `wanted`, or where rows of num_cols elements do not divide into its blocks, the nearest format that holds them: a
// K-format gives way to the one of 32-element blocks with about as many bits, and any to f16.
const kernels::Format& formatThatHolds(const kernels::Format& wanted, std::int64_t num_cols);

// What a person should know of matrices that are not stored as wanted, a line for each format that took its place:
// "12 of 15 matrices are q4_1, since their rows do not divide into q4_k blocks of 256: blk.*.attn_q.weight, ...".
struct StoredMatrix {
  std::string name;
  const kernels::Format* format;
};
std::vector<std::string> otherwiseStored(const std::vector<StoredMatrix>& matrices, const kernels::Format& wanted);

}  // namespace inferoscope::core
