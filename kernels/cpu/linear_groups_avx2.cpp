// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/lanes_avx2.h"
#include "kernels/cpu/linear_tiles.h"

namespace inferoscope::kernels::cpu {

GroupLinear groupLinearAvx2(FormatId format) {
  return groupLinearFor<LanesAvx2>(format, quant::AllFormats{});
}

}  // namespace inferoscope::kernels::cpu
