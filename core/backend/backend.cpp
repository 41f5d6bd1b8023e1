// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <thread>

namespace inferoscope::core {

std::string Backend::hardware() const {
  std::string model = "unknown CPU";
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    model = line.substr(std::min(line.size(), line.find(':') + 2));
    break;
  }
  return fmt::format("{}, {} cores", model, std::thread::hardware_concurrency());
}

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
