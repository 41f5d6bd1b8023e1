// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/storage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>

namespace inferoscope::core {
namespace {

struct Fallback {
  std::string_view from, to;
};
constexpr std::array<Fallback, 5> kFallbacks{
    {{"q2_k", "q4_0"}, {"q3_k", "q4_0"}, {"q4_k", "q4_1"}, {"q5_k", "q5_1"}, {"q6_k", "q8_0"}}};

// "blk.7.attn_q.weight" -> "blk.*.attn_q.weight"
std::string ofAnyLayer(std::string_view name) {
  constexpr std::string_view kLayer = "blk.";
  if (!name.starts_with(kLayer)) return std::string(name);
  const std::size_t end = std::min(name.find_first_not_of("0123456789", kLayer.size()), name.size());
  return fmt::format("{}*{}", kLayer, name.substr(end));
}

}  // namespace

const kernels::Format& formatThatHolds(const kernels::Format& wanted, std::int64_t num_cols) {
  if (num_cols % wanted.block_elems == 0) return wanted;
  const auto fallback = std::ranges::find(kFallbacks, wanted.name, &Fallback::from);
  const std::string_view next = fallback == kFallbacks.end() ? "f16" : fallback->to;
  return formatThatHolds(*kernels::findFormat(next), num_cols);
}

std::vector<std::string> otherwiseStored(const std::vector<StoredMatrix>& matrices, const kernels::Format& wanted) {
  std::vector<std::string> notices;
  for (const kernels::Format& format : kernels::formats()) {
    if (format.id == wanted.id) continue;
    std::size_t num_matrices = 0;
    std::vector<std::string> names;
    for (const StoredMatrix& matrix : matrices) {
      if (matrix.format != &format) continue;
      ++num_matrices;
      const std::string name = ofAnyLayer(matrix.name);
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    if (num_matrices == 0) continue;
    notices.push_back(fmt::format("{} of {} matrices are {}, since their rows do not divide into {} blocks of {}: {}",
                                  num_matrices, matrices.size(), format.name, wanted.name, wanted.block_elems,
                                  fmt::join(names, ", ")));
  }
  return notices;
}

}  // namespace inferoscope::core
