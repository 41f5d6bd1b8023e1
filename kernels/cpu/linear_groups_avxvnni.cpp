// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/lanes_avxvnni.h"
#include "kernels/cpu/linear_tiles.h"

namespace inferoscope::kernels::cpu {

GroupLinear groupLinearAvxVnni(FormatId format) {
  return groupLinearFor<LanesAvxVnni>(format, quant::AllFormats{});
}

}  // namespace inferoscope::kernels::cpu
