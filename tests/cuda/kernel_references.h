// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/counter_random.h"
#include "kernels/half.h"
#include "kernels/ops.h"
#include "tests/support/kernel_cases.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

// What kernels of a CUDA module should give, in double precision.
namespace inferoscope::tests {

inline double roundedToHalf(float value) {
  return kernels::halfToFloat(kernels::floatToHalf(value));
}

// Activations as the kernel for few columns sees them: signed bytes, a scale for each 32.
inline std::vector<double> roundedToBytes(const std::vector<float>& x) {
  std::vector<double> values(x.size());
  for (std::size_t begin = 0; begin + 32 <= x.size(); begin += 32) {
    float largest = 0.0F;
    for (std::size_t i = begin; i < begin + 32; ++i) largest = std::max(largest, std::fabs(x[i]));
    const float d = largest / 127.0F;
    const float inverse = d != 0.0F ? 1.0F / d : 0.0F;
    for (std::size_t i = begin; i < begin + 32; ++i) values[i] = double{d} * std::round(x[i] * inverse);
  }
  return values;
}

inline std::vector<double> product(const std::vector<double>& x, const std::vector<double>& w, int num_tokens,
                                   int num_rows, int num_cols) {
  std::vector<double> out;
  for (int t = 0; t < num_tokens; ++t) {
    for (int r = 0; r < num_rows; ++r) {
      double sum = 0.0;
      for (int c = 0; c < num_cols; ++c) {
        sum += x[static_cast<std::size_t>(t * num_cols + c)] * w[static_cast<std::size_t>(r * num_cols + c)];
      }
      out.push_back(sum);
    }
  }
  return out;
}

// As attentionReference(), but rows that see nothing are zero.
inline std::vector<double> maskedAttentionReference(AttentionCase& c) {
  const kernels::AttentionArgs args = c.args();
  const int dim = c.shape.head_dim;
  std::vector<double> out(c.q.size(), 0.0);
  std::vector<float> vector(static_cast<std::size_t>(dim));
  for (int s = 0; s < args.kv.num_seqs; ++s) {
    const int q_len = c.q_starts[s + 1] - c.q_starts[s];
    for (int i = 0; i < q_len; ++i) {
      const int num_visible = c.kv_lens[s] - q_len + i + 1;
      for (int head = 0; head < args.num_heads && num_visible > 0; ++head) {
        const int kv_head = head / (args.num_heads / args.kv.num_kv_heads);
        const std::size_t row = (std::size_t{1} * (c.q_starts[s] + i) * args.num_heads + head) * dim;
        std::vector<double> scores;
        for (int p = 0; p < num_visible; ++p) {
          c.format.decode(args.kv.keys + kernels::kvOffsetOf(args.kv, s, p, kv_head), vector.data(), dim);
          double score = 0.0;
          for (int d = 0; d < dim; ++d) score += double{c.q[row + d]} * vector[d];
          scores.push_back(score * args.scale);
        }
        const double largest = *std::ranges::max_element(scores);
        double sum = 0.0;
        for (double& score : scores) sum += score = std::exp(score - largest);
        for (int p = 0; p < num_visible; ++p) {
          c.format.decode(args.kv.values + kernels::kvOffsetOf(args.kv, s, p, kv_head), vector.data(), dim);
          for (int d = 0; d < dim; ++d) out[row + d] += scores[p] / sum * vector[d];
        }
      }
    }
  }
  return out;
}

// The id that the filters and a draw leave, by sorting all.
inline int sampleReference(std::span<const float> logits, const kernels::SampleParams& params) {
  std::vector<int> ids;
  for (int id = 0; id < static_cast<int>(logits.size()); ++id) {
    if (!(logits[id] < INFINITY)) return kernels::kNoToken;
    if (logits[id] != -INFINITY) ids.push_back(id);
  }
  if (ids.empty()) return kernels::kNoToken;
  std::ranges::stable_sort(ids, [&](int a, int b) { return logits[a] > logits[b]; });
  if (params.temperature < kernels::kLeastTemperature) return ids.front();
  if (params.top_k > 0 && params.top_k < static_cast<int>(ids.size())) ids.resize(params.top_k);
  std::vector<double> weights;
  double total = 0.0;
  for (const int id : ids) {
    weights.push_back(std::exp((logits[id] - logits[ids.front()]) / params.temperature));
    total += weights.back();
  }
  std::size_t kept = params.top_p < 1.0F ? 0 : ids.size();
  for (double sum = 0.0; kept < ids.size() && sum < double{params.top_p} * total; ++kept) sum += weights[kept];
  kept = std::max<std::size_t>(kept, 1);
  while (kept > 1 && weights[kept - 1] < params.min_p) --kept;
  double left = kernels::uniformAt(params.seed, params.position);
  left *= std::accumulate(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(kept), 0.0);
  for (std::size_t i = 0; i < kept; ++i) {
    if (left < weights[i]) return ids[i];
    left -= weights[i];
  }
  return ids[kept - 1];
}

}  // namespace inferoscope::tests
