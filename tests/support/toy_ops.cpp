// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/toy_ops.h"

#include "core/observe/limits.h"
#include "tests/support/frames.h"

#include <string_view>

namespace inferoscope::tests {

namespace {

using kernels::OpCost;
using kernels::OpKind;

constexpr std::uint64_t kDim = 2048, kKvDim = 512, kHiddenDim = 8192, kVocab = 128256;
constexpr std::int64_t kGapNs = 300;

std::uint64_t q8Bytes(std::uint64_t num_weights) {
  return num_weights * 34 / 32;
}

// Appends ops, one after the other.
class ToyPass {
 public:
  explicit ToyPass(core::StepRecord& step) : m_step(step) {
    for (const core::StepEntry& entry : step.entries) {
      m_tokens += static_cast<std::uint64_t>(entry.num_tokens);
      m_seen += static_cast<std::uint64_t>(entry.num_tokens) * static_cast<std::uint64_t>(entry.kv_len);
      m_cached += static_cast<std::uint64_t>(entry.kv_len);
      m_sampled += entry.sampled >= 0 ? 1 : 0;
    }
  }

  void run() {
    op(OpKind::kEmbed, "token_embedding", -1, {.weights = q8Bytes(m_tokens * kDim), .activations = 4 * m_tokens * kDim},
       0.5);
    for (int layer = 0; layer < kToyLayers; ++layer) {
      attention(layer);
      feedForward(layer);
    }
    if (m_sampled == 0) return;
    elementwise(OpKind::kRmsNorm, "output_norm", -1, 2 * kDim);
    linear("output", -1, kDim, kVocab, m_sampled);
  }

  std::int64_t endNs() const { return m_now_ns; }
  std::int64_t numSampled() const { return static_cast<std::int64_t>(m_sampled); }

 private:
  void attention(int layer) {
    elementwise(OpKind::kRmsNorm, "attn_norm", layer, 2 * kDim);
    linear("attn_q", layer, kDim, kDim, m_tokens);
    linear("attn_k", layer, kDim, kKvDim, m_tokens);
    linear("attn_v", layer, kDim, kKvDim, m_tokens);
    elementwise(OpKind::kRope, "rope_q", layer, 2 * kDim);
    elementwise(OpKind::kRope, "rope_k", layer, 2 * kKvDim);
    op(OpKind::kKvAppend, "kv_append", layer, {.kv_write = 4 * m_tokens * kKvDim, .activations = 8 * m_tokens * kKvDim},
       0.3);
    op(OpKind::kAttention, "attention", layer,
       {.flops = 4 * m_seen * kDim, .kv_read = 4 * m_cached * kKvDim, .activations = 8 * m_tokens * kDim}, 0.55);
    linear("attn_output", layer, kDim, kDim, m_tokens);
    elementwise(OpKind::kAdd, "attn_add", layer, 3 * kDim);
  }

  void feedForward(int layer) {
    elementwise(OpKind::kRmsNorm, "ffn_norm", layer, 2 * kDim);
    linear("ffn_gate", layer, kDim, kHiddenDim, m_tokens);
    linear("ffn_up", layer, kDim, kHiddenDim, m_tokens);
    elementwise(OpKind::kSwiGlu, "swiglu", layer, 3 * kHiddenDim);
    linear("ffn_down", layer, kHiddenDim, kDim, m_tokens);
    elementwise(OpKind::kAdd, "ffn_add", layer, 3 * kDim);
  }

  void linear(std::string_view name, int layer, std::uint64_t in, std::uint64_t out, std::uint64_t rows) {
    const std::uint64_t flops = 2 * rows * in * out;
    op(OpKind::kLinear, name, layer,
       {.flops = flops, .int8_ops = flops, .weights = q8Bytes(in * out), .activations = 4 * rows * (in + out)}, 0.82);
  }

  // From and to the cache: faster than memory.
  void elementwise(OpKind kind, std::string_view name, int layer, std::uint64_t floats) {
    op(kind, name, layer, {.flops = m_tokens * floats, .activations = 4 * m_tokens * floats}, 1.6);
  }

  // Takes 1 / roof_share of its floor, and half a microsecond to begin.
  void op(OpKind kind, std::string_view name, int layer, const OpCost& cost, double roof_share) {
    const double floor_ns = core::roofOf(cost, toyLimits()).floorNs();
    const double wobble = 1 + 0.01 * static_cast<double>((m_step.step_index * 7 + m_num_ops++ * 13) % 11);
    core::OpRecord record;
    record.kind = kind;
    record.name = name;
    record.kernel = kind == OpKind::kLinear ? "linear.avx2" : "plain";
    record.layer = static_cast<std::int16_t>(layer);
    record.num_tokens = static_cast<std::int32_t>(m_tokens);
    record.start_ns = m_now_ns;
    record.duration_ns = static_cast<std::int64_t>(500 + floor_ns / roof_share * wobble);
    record.cost = cost;
    m_now_ns += record.duration_ns + kGapNs;
    m_step.kernel_ns += record.duration_ns;
    m_step.cost += cost;
    m_step.ops.push_back(record);
  }

  core::StepRecord& m_step;
  std::uint64_t m_tokens = 0;
  std::uint64_t m_seen = 0;    // pairs of a query and a token, not halved
  std::uint64_t m_cached = 0;  // tokens
  std::uint64_t m_sampled = 0;
  std::int64_t m_now_ns = 90'000;  // scheduling comes first
  std::int64_t m_num_ops = 0;
};

}  // namespace

void addToyOps(core::StepRecord& step) {
  ToyPass pass(step);
  pass.run();
  step.num_sampled = static_cast<std::int32_t>(pass.numSampled());
  step.num_threads = 2;
  step.duration_ns = pass.endNs() + 60'000 + 40'000 * pass.numSampled();
  step.process_cpu_s = 1.9e-9 * static_cast<double>(step.duration_ns);
}

}  // namespace inferoscope::tests
