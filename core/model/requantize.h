// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace inferoscope::core {

// Some rows of a matrix, stored one after the other.
struct StoredRows {
  const kernels::Format* format;
  int num_rows;
  std::int64_t num_cols;

  std::int64_t rowBytes() const { return kernels::storedBytes(*format, num_cols); }
};

// Stores rows in another format, on all cores; `out` has room for them. False if a value is not finite, or has no
// finite place in the other format.
bool requantize(const StoredRows& rows, std::span<const std::byte> data, const kernels::Format& to,
                std::span<std::byte> out);

}  // namespace inferoscope::core
