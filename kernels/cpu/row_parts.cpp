// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/row_parts.h"

#include <cpuid.h>

namespace inferoscope::kernels::cpu {
namespace {

// Two that clang 16's __builtin_cpu_supports does not know. Intel's manual, CPUID: leaf 1, ECX, and leaf 7.1, EAX.

bool hasF16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 29 & 1U) != 0;
}

bool hasAvxVnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1U) != 0;
}

}  // namespace

std::string whyNoAvx2() {
  static const bool has_it = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && hasF16c();
  return has_it ? "" : "this CPU lacks AVX2, FMA or F16C";
}

std::string whyNoAvxVnni() {
  static const bool has_it = whyNoAvx2().empty() && hasAvxVnni();
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
