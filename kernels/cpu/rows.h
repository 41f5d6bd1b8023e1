// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/kernel.h"

namespace inferoscope::kernels::cpu {

// The CPU's rows of the catalog, each defined in a file of its op.
Kernel<EmbedArgs> embedPlain();
Kernel<RmsNormArgs> rmsNormAvx2();
Kernel<RmsNormArgs> rmsNormNaive();
Kernel<LinearArgs> linearGroupsAvx512();
Kernel<LinearArgs> linearGroupsAvxVnni();
Kernel<LinearArgs> linearGroupsAvx2();
Kernel<LinearArgs> linearAvx2();
Kernel<LinearArgs> linearNaive();
Kernel<RopeArgs> ropeAvx2();
Kernel<RopeArgs> ropePlain();
Kernel<KvAppendArgs> kvAppendPlain();
Kernel<AttentionArgs> attentionFlashAvx512();
Kernel<AttentionArgs> attentionFlash();
Kernel<AttentionArgs> attentionFlashScalar();
Kernel<AttentionArgs> attentionNaiveAvx512();
Kernel<AttentionArgs> attentionNaive();
Kernel<AttentionArgs> attentionNaiveScalar();
Kernel<SwiGluArgs> swiGluAvx2();
Kernel<SwiGluArgs> swiGluNaive();
Kernel<AddArgs> addPlain();

}  // namespace inferoscope::kernels::cpu
