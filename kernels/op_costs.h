// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/op_cost.h"
#include "kernels/ops.h"

namespace inferoscope::kernels {

// What each op costs however it is computed: activations are read and written once as f32, weights are read once
// whatever the number of tokens. A kernel that spends more adds it beside its code.
OpCost embedCost(const EmbedArgs& args);      // only the rows of the tokens are read
OpCost rmsNormCost(const RmsNormArgs& args);  // 4 FLOPs an element: square, sum, scale, weight; adding: one more
OpCost linearCost(const LinearArgs& args);
OpCost ropeCost(const RopeArgs& args);  // 6 FLOPs a pair; only the rotated elements move
OpCost kvAppendCost(const KvAppendArgs& args);
OpCost attentionCost(const AttentionArgs& args);  // exactly the visible scores; keys and values once a sequence
OpCost swiGluCost(const SwiGluArgs& args);        // 5 FLOPs an element: negate, exp, add, divide, multiply
OpCost addCost(const AddArgs& args);
OpCost sampleCost(const SampleArgs& args);  // a comparison an id, and 4 FLOPs more where its weight is wanted

}  // namespace inferoscope::kernels
