// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/backend.h"

namespace inferoscope::core {

kernels::Catalog Backend::catalog() const {
  return kernels::catalogOf(device());
}

kernels::Layout Backend::layoutFor(const kernels::WeightMatrix&) const {
  return kernels::Layout::kRows;
}

void Backend::uploadRows(Buffer& to, std::size_t offset, const kernels::WeightMatrix& w, int first_row,
                         std::span<const std::byte> rows) {
  const std::int64_t row_bytes = kernels::storedBytes(kernels::formatOf(w.format), w.num_cols);
  upload(to, offset + static_cast<std::size_t>(first_row * row_bytes), rows);
}

}  // namespace inferoscope::core
