// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/row_parts.h"

namespace inferoscope::kernels::cpu {

std::string whyNoAvx2() {
  static const bool has_it =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  return has_it ? "" : "this CPU lacks AVX2, FMA or F16C";
}

std::string whyNoAvxVnni() {
  static const bool has_it = whyNoAvx2().empty() && __builtin_cpu_supports("avxvnni");
  return has_it ? "" : "this CPU lacks AVX-VNNI";
}

std::string whyNoAvx512() {
  static const bool has_it = whyNoAvx2().empty() && __builtin_cpu_supports("avx512f") &&
                             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni");
  return has_it ? "" : "this CPU lacks AVX-512 or its VNNI";
}

std::string whyNotStored(FormatId format, int num_elems, std::string_view what) {
  const Format* row = findFormat(format);
  if (row == nullptr) return "there is no format " + std::to_string(static_cast<std::uint32_t>(format));
  if (num_elems % row->block_elems == 0) return {};
  return std::string(row->name) + " needs " + std::string(what) + " of a multiple of " +
         std::to_string(row->block_elems) + " elements, not " + std::to_string(num_elems);
}

}  // namespace inferoscope::kernels::cpu
