// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace inferoscope::kernels::cpu {

// cosines[i], sines[i] of the angle position * inv_freq[i], rounded from doubles. All [num_pairs].
void ropeAnglesAvx2(double position, const double* inv_freq, int num_pairs, float* cosines, float* sines);

// Rotates the pairs of one head: (2 i, 2 i + 1), or (i, i + num_pairs).
void ropeInterleavedAvx2(float* head, const float* cosines, const float* sines, int num_pairs);
void ropeHalvesAvx2(float* head, const float* cosines, const float* sines, int num_pairs);

}  // namespace inferoscope::kernels::cpu
