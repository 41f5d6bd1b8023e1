// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/lanes_avx512.h"
#include "kernels/cpu/linear_tiles.h"

namespace inferoscope::kernels::cpu {

GroupLinear groupLinearAvx512(FormatId format) {
  return groupLinearFor<LanesAvx512>(format, quant::AllFormats{});
}

}  // namespace inferoscope::kernels::cpu
