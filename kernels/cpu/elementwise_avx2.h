// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace inferoscope::kernels::cpu {

// out = x / rms(x) * weight
void rmsNormRowAvx2(const float* x, const float* weight, int dim, float epsilon, float* out);  // all [dim]

// out = silu(gate) * up
void swiGluRowAvx2(const float* gate, const float* up, int hidden_dim, float* out);  // all [hidden_dim]

}  // namespace inferoscope::kernels::cpu
