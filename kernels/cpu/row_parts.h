// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/pool.h"
#include "kernels/kernel.h"

#include <algorithm>

namespace inferoscope::kernels::cpu {

// What rows of the catalog have in common.

template <class Args>
std::string supportsAll(const Args&) {
  return {};
}

template <class Args>
std::size_t noScratch(const Args&, int) {
  return 0;
}

// Empty, or why this CPU can't run the files compiled for AVX2, FMA and F16C.
std::string whyNoAvx2();
std::string whyNoAvxVnni();  // the same for AVX-VNNI
std::string whyNoAvx512();   // the same for AVX-512 with VNNI

template <class Args>
std::string needsAvx2(const Args&) {
  return whyNoAvx2();
}

// Empty, or why rows of num_elems elements can't be stored in `format`. `what` names them: "rows", "heads".
std::string whyNotStored(FormatId format, int num_elems, std::string_view what);

// The CPU adds to the residual in an op of its own.
inline std::string whyNoNorm(const RmsNormArgs& args) {
  return args.add == nullptr ? "" : "it does not add";
}

// Row i of the num_tokens * num_heads rows that a norm works on.
inline const float* normedRow(const RmsNormArgs& args, int i) {
  const int token = i / args.num_heads;
  const std::int64_t row = args.rows != nullptr ? args.rows[token] : token;
  return args.x + (row * args.num_heads + i % args.num_heads) * args.dim;
}

inline int ceilDiv(int a, int b) {
  return (a + b - 1) / b;
}

// Calls body(begin, end, thread) on panels of panel_rows rows that together are 0..num_rows-1.
template <class Body>
void forPanels(const Exec& exec, int num_rows, int panel_rows, const Body& body) {
  exec.pool->parallelFor(ceilDiv(num_rows, panel_rows), exec.stop, [&](int panel, int thread) {
    const int begin = panel * panel_rows;
    body(begin, std::min(begin + panel_rows, num_rows), thread);
  });
}

}  // namespace inferoscope::kernels::cpu
