// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/requantize.h"

#include "core/model/parallel.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>
#include <vector>

namespace inferoscope::core {
namespace {

bool allFinite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

}  // namespace

bool requantize(const StoredRows& rows, std::span<const std::byte> data, const kernels::Format& to,
                std::span<std::byte> out) {
  const std::int64_t from_bytes = rows.rowBytes();
  const std::int64_t to_bytes = kernels::storedBytes(to, rows.num_cols);
  assert(std::ssize(data) == from_bytes * rows.num_rows && std::ssize(out) == to_bytes * rows.num_rows);
  std::atomic<bool> is_finite = true;
  inParallel(rows.num_rows, [&](int begin, int end) {
    std::vector<float> values(static_cast<std::size_t>(rows.num_cols));
    for (int row = begin; row < end; ++row) {
      std::byte* const stored = out.data() + row * to_bytes;
      rows.format->decode(data.data() + row * from_bytes, values.data(), rows.num_cols);
      if (!allFinite(values)) is_finite = false;
      to.encode(values.data(), stored, rows.num_cols);
      to.decode(stored, values.data(), rows.num_cols);
      if (!allFinite(values)) is_finite = false;
    }
  });
  return is_finite;
}

}  // namespace inferoscope::core
