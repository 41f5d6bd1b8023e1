// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/verify/reference.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace inferoscope::core::verify {
namespace {

std::vector<float> rowOf(const kernels::WeightMatrix& w, int row) {
  const kernels::Format& format = kernels::formatOf(w.format);
  std::vector<float> values(static_cast<std::size_t>(w.num_cols));
  format.decode(w.data + row * kernels::storedBytes(format, w.num_cols), values.data(), w.num_cols);
  return values;
}

// The key or value of one token and head.
std::vector<float> vectorAt(const kernels::PagedKvView& kv, const std::byte* memory, int seq, int position, int head) {
  std::vector<float> values(static_cast<std::size_t>(kv.head_dim));
  kernels::formatOf(kv.format).decode(memory + kernels::kvOffsetOf(kv, seq, position, head), values.data(),
                                      kv.head_dim);
  return values;
}

double dot(const float* a, const float* b, int num_elems) {
  double sum = 0;
  for (int i = 0; i < num_elems; ++i) sum += double{a[i]} * b[i];
  return sum;
}

void attendOne(const kernels::AttentionArgs& args, int seq, int token, int head, int num_visible,
               std::vector<Expected>& out) {
  const kernels::PagedKvView& kv = args.kv;
  const int kv_head = head / (args.num_heads / kv.num_kv_heads);
  const std::size_t row = (std::size_t{1} * token * args.num_heads + head) * kv.head_dim;
  std::vector<double> scores;
  for (int p = 0; p < num_visible; ++p) {
    scores.push_back(dot(args.q + row, vectorAt(kv, kv.keys, seq, p, kv_head).data(), kv.head_dim) *
                     double{args.scale});
  }
  const double largest = *std::ranges::max_element(scores);
  for (double& score : scores) score = std::exp(score - largest);
  const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
  for (int p = 0; p < num_visible; ++p) {
    const std::vector<float> value = vectorAt(kv, kv.values, seq, p, kv_head);
    for (int d = 0; d < kv.head_dim; ++d) {
      const double product = scores[p] / sum * value[d];
      out[row + d].value += product;
      out[row + d].size += std::fabs(product);
    }
  }
}

}  // namespace

std::vector<Expected> reference(const kernels::EmbedArgs& args) {
  std::vector<Expected> out;
  for (int t = 0; t < args.num_tokens; ++t) {
    for (const float value : rowOf(args.table, args.token_ids[t])) out.push_back({value, std::fabs(value)});
  }
  return out;
}

std::vector<Expected> reference(const kernels::RmsNormArgs& args) {
  std::vector<Expected> out;
  for (int t = 0; t < args.num_tokens; ++t) {
    const std::int64_t row = args.rows ? args.rows[t] : t;
    for (int head = 0; head < args.num_heads; ++head) {
      const float* x = args.x + (row * args.num_heads + head) * args.dim;
      const double scale = 1.0 / std::sqrt(dot(x, x, args.dim) / args.dim + double{args.epsilon});
      for (int i = 0; i < args.dim; ++i) {
        const double value = x[i] * scale * args.weight[i];
        out.push_back({value, std::fabs(value)});
      }
    }
  }
  return out;
}

std::vector<Expected> reference(const kernels::LinearArgs& args) {
  std::vector<Expected> out(static_cast<std::size_t>(args.num_tokens) * args.w.num_rows);
  for (int r = 0; r < args.w.num_rows; ++r) {
    const std::vector<float> w = rowOf(args.w, r);
    for (int t = 0; t < args.num_tokens; ++t) {
      Expected& sum = out[std::size_t{1} * t * args.w.num_rows + r];
      for (int i = 0; i < args.w.num_cols; ++i) {
        const double product = double{w[i]} * args.x[std::int64_t{t} * args.w.num_cols + i];
        sum.value += product;
        sum.size += std::fabs(product);
      }
    }
  }
  return out;
}

std::vector<Expected> reference(const kernels::RopeArgs& args) {
  std::vector<Expected> out;
  for (std::int64_t v = 0; v < std::int64_t{args.num_tokens} * args.num_heads; ++v) {
    const float* x = args.x + v * args.head_dim;
    std::vector<Expected> head;
    for (int i = 0; i < args.head_dim; ++i) head.push_back({x[i], std::fabs(x[i])});
    for (int i = 0; i < args.rope_dim / 2; ++i) {
      const bool halves = args.style == kernels::RopeStyle::kHalves;
      const int a = halves ? i : 2 * i;
      const int b = halves ? i + args.rope_dim / 2 : 2 * i + 1;
      const double angle = args.positions[v / args.num_heads] * args.inv_freq[i];
      const double size = std::fabs(x[a]) + std::fabs(x[b]);
      head[a] = {x[a] * std::cos(angle) - x[b] * std::sin(angle), size};
      head[b] = {x[a] * std::sin(angle) + x[b] * std::cos(angle), size};
    }
    out.insert(out.end(), head.begin(), head.end());
  }
  return out;
}

std::vector<Expected> reference(const kernels::AttentionArgs& args) {
  std::vector<Expected> out(std::size_t{1} * args.num_tokens * args.num_heads * args.kv.head_dim, {0, 0});
  for (int seq = 0; seq < args.kv.num_seqs; ++seq) {
    const int q_len = args.q_starts[seq + 1] - args.q_starts[seq];
    for (int i = 0; i < q_len; ++i) {
      for (int head = 0; head < args.num_heads; ++head) {
        attendOne(args, seq, args.q_starts[seq] + i, head, args.kv.kv_lens[seq] - q_len + i + 1, out);
      }
    }
  }
  return out;
}

std::vector<Expected> reference(const kernels::SwiGluArgs& args) {
  std::vector<Expected> out;
  for (std::int64_t i = 0; i < std::int64_t{args.num_tokens} * args.hidden_dim; ++i) {
    const double value = args.gate[i] / (1.0 + std::exp(-double{args.gate[i]})) * args.up[i];
    out.push_back({value, std::fabs(value)});
  }
  return out;
}

std::vector<Expected> reference(const kernels::AddArgs& args) {
  std::vector<Expected> out;
  for (std::int64_t i = 0; i < std::int64_t{args.num_tokens} * args.dim; ++i) {
    const double y = args.y[args.is_bias ? i % args.dim : i];
    out.push_back({args.x[i] + y, std::fabs(args.x[i]) + std::fabs(y)});
  }
  return out;
}

}  // namespace inferoscope::core::verify
