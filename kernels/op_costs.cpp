// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/op_costs.h"

namespace inferoscope::kernels {
namespace {

// The product of a few counts, none of them negative.
template <class... Ints>
std::uint64_t count(Ints... factors) {
  return (std::uint64_t{1} * ... * static_cast<std::uint64_t>(factors));
}

template <class... Ints>
std::uint64_t floats(Ints... factors) {
  return count(factors..., sizeof(float));
}

}  // namespace

OpCost embedCost(const EmbedArgs& args) {
  const std::int64_t row_bytes = storedBytes(formatOf(args.table.format), args.table.num_cols);
  return {.weights = count(args.num_tokens, row_bytes), .activations = floats(args.num_tokens, args.table.num_cols)};
}

OpCost rmsNormCost(const RmsNormArgs& args) {
  const bool adds = args.add != nullptr;  // read one more, write one more
  return {.flops = count(adds ? 5 : 4, args.num_tokens, args.num_heads, args.dim),
          .weights = floats(args.dim),
          .activations = floats(adds ? 4 : 2, args.num_tokens, args.num_heads, args.dim)};
}

OpCost linearCost(const LinearArgs& args) {
  return {.flops = count(2, args.num_tokens, args.w.num_rows, args.w.num_cols),
          .weights = count(matrixBytes(args.w)),
          .activations = floats(args.num_tokens, args.w.num_rows + args.w.num_cols)};
}

OpCost ropeCost(const RopeArgs& args) {
  return {.flops = count(3, args.num_tokens, args.num_heads, args.rope_dim),
          .activations = floats(2, args.num_tokens, args.num_heads, args.rope_dim)};
}

OpCost kvAppendCost(const KvAppendArgs& args) {
  return {.kv_write = count(2, args.num_tokens, args.kv.num_kv_heads, args.kv.vector_bytes),
          .activations = floats(2, args.num_tokens, args.kv.num_kv_heads, args.kv.head_dim)};
}

OpCost attentionCost(const AttentionArgs& args) {
  std::uint64_t num_visible = 0;  // pairs of a query and a token it sees
  std::uint64_t num_read = 0;     // tokens of the cache that some query sees
  for (int s = 0; s < args.kv.num_seqs; ++s) {
    const int q_len = args.q_starts[s + 1] - args.q_starts[s];
    if (q_len == 0) continue;
    num_visible += count(q_len, args.kv.kv_lens[s] - q_len) + count(q_len, q_len + 1) / 2;
    num_read += count(args.kv.kv_lens[s]);
  }
  return {.flops = count(4, args.num_heads, args.kv.head_dim) * num_visible,
          .kv_read = count(2, args.kv.num_kv_heads, args.kv.vector_bytes) * num_read,
          .activations = floats(2, args.num_tokens, args.num_heads, args.kv.head_dim)};
}

OpCost swiGluCost(const SwiGluArgs& args) {
  return {.flops = count(5, args.num_tokens, args.hidden_dim),
          .activations = floats(3, args.num_tokens, args.hidden_dim)};
}

OpCost addCost(const AddArgs& args) {
  const std::uint64_t flops = count(args.num_tokens, args.dim);
  if (args.is_bias) {
    return {.flops = flops, .weights = floats(args.dim), .activations = floats(2, args.num_tokens, args.dim)};
  }
  return {.flops = flops, .activations = floats(3, args.num_tokens, args.dim)};
}

OpCost sampleCost(const SampleArgs& args) {
  OpCost cost;
  for (int row = 0; row < args.num_tokens; ++row) {
    const bool draws = args.params[row].temperature >= kLeastTemperature;
    cost.flops += std::uint64_t(args.num_ids) * (draws ? 5 : 1);
    cost.activations += std::uint64_t(args.num_ids) * sizeof(float) + sizeof(std::int32_t);
  }
  return cost;
}

}  // namespace inferoscope::kernels
