// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/quant/bf16.h"
#include "kernels/quant/f16.h"
#include "kernels/quant/f32.h"
#include "kernels/quant/q2_k.h"
#include "kernels/quant/q3_k.h"
#include "kernels/quant/q4_0.h"
#include "kernels/quant/q4_1.h"
#include "kernels/quant/q4_k.h"
#include "kernels/quant/q5_0.h"
#include "kernels/quant/q5_1.h"
#include "kernels/quant/q5_k.h"
#include "kernels/quant/q6_k.h"
#include "kernels/quant/q8_0.h"

namespace inferoscope::kernels::quant {

// A format is a struct with kId, kName, kBlockElems, Block, encodeBlock and decodeBlock, and for the AVX2 kernels, in
// files compiled for it, one of
//   load8: 8 plain elements as floats
//   loadBytes, kSignedBytes, loadScaleAndMin: 32 bytes q, signed or not, and {scale, min, ...} of a block whose values
//     are scale * q + min; signed ones have no min.
// and for the kernels on interleaved rows kHeadHalves (interleave.h), and either kQuants, where a block is 32 small
// numbers, or Columns of its own (cpu/linear_columns.h).
template <class... Formats>
struct FormatList {};

// Every format. The rows of formats() and the kernels that are templates over a format expand from this list.
using AllFormats = FormatList<F32, F16, BF16, Q8_0, Q6_K, Q5_0, Q5_1, Q5_K, Q4_0, Q4_1, Q4_K, Q3_K, Q2_K>;

}  // namespace inferoscope::kernels::quant
