// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"
#include "kernels/paged_kv.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace inferoscope::kernels {

// Activations are f32, row-major. num_tokens rows of a step hold the tokens of all its sequences, one after the other.

enum class OpKind : std::uint8_t { kEmbed, kRmsNorm, kLinear, kRope, kKvAppend, kAttention, kSwiGlu, kAdd, kSample };
inline constexpr int kNumOpKinds = 9;
std::string_view opKindName(OpKind kind);  // "embed", "rms_norm", "linear", ...

// How the rows of a matrix lie in memory.
enum class Layout : std::uint8_t {
  kRows,         // one after the other, without padding, as files hold them
  kInterleaved,  // 32 side by side, a row a SIMD lane: interleave.h
  kPlanes,       // the quants of all blocks, then their scales: cuda/planes.h
};

// A stored matrix: num_rows rows of num_cols elements, each row a whole number of blocks of `format`.
struct WeightMatrix {
  const std::byte* data = nullptr;  // [num_rows, num_cols] in `format`
  FormatId format{};
  int num_rows = 0;
  int num_cols = 0;
  Layout layout = Layout::kRows;
};
std::int64_t matrixBytes(const WeightMatrix& w);  // stored, without what a layout pads

struct EmbedArgs {
  static constexpr OpKind kKind = OpKind::kEmbed;
  WeightMatrix table;             // [vocab_size, model_dim]
  const std::int32_t* token_ids;  // [num_tokens]
  float* out;                     // [num_tokens, model_dim]
  int num_tokens;
};

// out[i] = x[rows[i]] / rms(x[rows[i]]) * weight. `rows` picks the rows whose logits are wanted; null: all in order.
// Heads are normed one by one, all with the same weight; their x may be out. With `add`, which may be out, x + add is
// normed and kept in `sum`, which may be x: adding to the residual and norming it at once, of all rows in order.
struct RmsNormArgs {
  static constexpr OpKind kKind = OpKind::kRmsNorm;
  const float* x;            // [*, num_heads, dim]
  const float* weight;       // [dim]
  const std::int32_t* rows;  // [num_tokens] or null
  float* out;                // [num_tokens, num_heads, dim]
  int num_tokens;
  int num_heads = 1;
  int dim;
  float epsilon;
  const float* add = nullptr;  // [num_tokens, dim] or null
  float* sum = nullptr;        // [num_tokens, dim] or null
};

// out = x * w^T
struct LinearArgs {
  static constexpr OpKind kKind = OpKind::kLinear;
  const float* x;  // [num_tokens, w.num_cols]
  WeightMatrix w;  // [out_dim, in_dim]
  float* out;      // [num_tokens, w.num_rows]
  int num_tokens;
};

// Which elements of a head are rotated together: (2i, 2i+1), as GGUF stores `llama` models, or (i, i + rope_dim / 2).
enum class RopeStyle : std::uint8_t { kInterleaved, kHalves };

struct RopeArgs {
  static constexpr OpKind kKind = OpKind::kRope;
  float* x;                       // [num_tokens, num_heads, head_dim], rotated in place
  const std::int32_t* positions;  // [num_tokens]
  const double* inv_freq;         // [rope_dim / 2]: radians per position
  int num_tokens;
  int num_heads;
  int head_dim;
  int rope_dim;  // the first rope_dim elements of a head are rotated
  RopeStyle style;
};

// Stores this step's keys and values in their slots. Token t of the step belongs to sequence token_seqs[t].
struct KvAppendArgs {
  static constexpr OpKind kKind = OpKind::kKvAppend;
  const float* keys;               // [num_tokens, num_kv_heads, head_dim], rotated
  const float* values;             // [num_tokens, num_kv_heads, head_dim]
  const std::int32_t* positions;   // [num_tokens]
  const std::int32_t* token_seqs;  // [num_tokens]: row of the block table
  PagedKvView kv;
  int num_tokens;
};

// Causal attention of this step's queries over the cache. The tokens q_starts[s] .. q_starts[s+1]-1 belong to sequence
// s and are its last ones: query i of q_len sees the first kv_lens[s] - q_len + i + 1 tokens. Query head h reads
// key-value head h / (num_heads / num_kv_heads).
struct AttentionArgs {
  static constexpr OpKind kKind = OpKind::kAttention;
  const float* q;  // [num_tokens, num_heads, head_dim], rotated
  PagedKvView kv;
  const std::int32_t* q_starts;  // [kv.num_seqs + 1]
  float* out;                    // [num_tokens, num_heads, head_dim]
  int num_tokens;
  int num_heads;
  float scale;  // 1 / sqrt(head_dim)
};

// out = silu(gate) * up
struct SwiGluArgs {
  static constexpr OpKind kKind = OpKind::kSwiGlu;
  const float* gate;  // [num_tokens, hidden_dim]
  const float* up;    // [num_tokens, hidden_dim]
  float* out;         // [num_tokens, hidden_dim]
  int num_tokens;
  int hidden_dim;
};

// x += y
struct AddArgs {
  static constexpr OpKind kKind = OpKind::kAdd;
  float* x;        // [num_tokens, dim]
  const float* y;  // [num_tokens, dim], a bias: [dim]
  int num_tokens;
  int dim;
  bool is_bias = false;  // the same y for every token
};

// How the next token of a row is picked: greedily, or by a draw from what the filters leave.
struct SampleParams {
  float temperature;      // too small to divide by: the largest logit, the lowest id on a tie
  int top_k;              // 0: all
  float top_p;            // the fewest, best ids whose probability reaches it
  float min_p;            // drops ids below min_p times the best one's probability
  std::uint64_t seed;     // with the position it names the random number: counter_random.h
  std::int64_t position;  // of the new token in its sequence
};
inline constexpr float kLeastTemperature = 1e-6F;  // dividing by less overflows

// A logit made another before: bias is added, then it is divided by the penalty if positive, else multiplied.
struct LogitChange {
  std::int32_t row;  // of the logits
  std::int32_t id;
  float bias;
  float penalty;
};

// Picks a token a row, so that logits need not leave the device they lie on.
struct SampleArgs {
  static constexpr OpKind kKind = OpKind::kSample;
  float* logits;               // [num_tokens, vocab_size]; the changes are made in place
  const SampleParams* params;  // [num_tokens]
  const LogitChange* changes;  // [num_changes]: a row's id once
  std::int32_t* out;           // [num_tokens]: ids; kNoToken where a logit is NaN or infinity, or all are -infinity
  int num_tokens;
  int num_changes;
  int vocab_size;
  int num_ids;  // ids at and above are never picked
};
inline constexpr std::int32_t kNoToken = -1;

}  // namespace inferoscope::kernels
