// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/cuda/kernel_lab.h"
#include "tests/cuda/kernel_references.h"
#include "tests/support/kernel_cases.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

// What must hold of every kernel of a CUDA module, against references in double precision. Knows no Qt: run under the
// emulation by tst_cuda_kernels, and on a device by tests/gpu.
namespace inferoscope::tests {

// ---- Checks, one function an op ----------------------------------------------------------------------------------

inline Outcome checkLinear(Lab& lab, const kernels::Kernel<kernels::LinearArgs>& kernel, const char* format_name,
                           int num_tokens, int num_rows, int num_cols) {
  const kernels::Format& format = *kernels::findFormat(format_name);
  LinearCase c(format, num_tokens, num_rows, num_cols);
  kernels::LinearArgs args = c.args();
  args.x = lab.put(c.x);
  args.w = lab.putMatrix(format, c.w, num_rows, num_cols);
  args.out = lab.output(c.out.size());
  if (const std::string reason = kernel.supports(args); !reason.empty()) throw std::runtime_error(reason);
  lab.run(kernel, args);

  const std::vector<float> weights = decoded(format, c.w);
  std::vector<double> w(weights.begin(), weights.end());
  std::vector<double> x(c.x.begin(), c.x.end());
  if (kernel.choice == "cublas") {
    for (double& value : w) value = roundedToHalf(static_cast<float>(value));
    for (double& value : x) value = roundedToHalf(static_cast<float>(value));
  } else if (format.block_elems > 1) {
    x = roundedToBytes(c.x);
  }
  return {lab.take(args.out, c.out.size()), product(x, w, num_tokens, num_rows, num_cols), 2e-5};
}

inline Outcome checkAttention(Lab& lab, const kernels::Kernel<kernels::AttentionArgs>& kernel,
                              const AttentionShape& shape, double tolerance) {
  AttentionCase c(shape);
  kernels::AttentionArgs args = c.args();
  args.q = lab.put(c.q);
  args.kv.keys = lab.put(std::span<const std::byte>(c.keys.bytes()));
  args.kv.values = lab.put(std::span<const std::byte>(c.values.bytes()));
  args.out = lab.output(c.q.size());
  if (const std::string reason = kernel.supports(args); !reason.empty()) throw std::runtime_error(reason);
  lab.run(kernel, args);
  return {lab.take(args.out, c.q.size()), maskedAttentionReference(c), tolerance};
}

inline Outcome checkEmbed(Lab& lab, const char* format_name, int dim) {
  const kernels::Format& format = *kernels::findFormat(format_name);
  Random random(3);
  constexpr int kVocab = 11;
  const std::vector<std::byte> table = encoded(format, random.floats(kVocab * dim));
  const std::vector<std::int32_t> ids = {4, 0, 10, 4, 7};
  float* out = lab.output(ids.size() * static_cast<std::size_t>(dim));
  lab.run(lab.module().catalog.embed[0], {.table = lab.putMatrix(format, table, kVocab, dim),
                                          .token_ids = ids.data(),
                                          .out = out,
                                          .num_tokens = static_cast<int>(ids.size())});
  const std::vector<float> rows = decoded(format, table);
  std::vector<double> expected;
  for (const std::int32_t id : ids)
    expected.insert(expected.end(), rows.begin() + id * dim, rows.begin() + (id + 1) * dim);
  return {lab.take(out, expected.size()), expected, 2e-7};
}

inline Outcome checkRmsNorm(Lab& lab, int dim, bool picked) {
  Random random(4);
  constexpr int kRows = 5;
  const std::vector<float> x = random.floats(kRows * dim, -3, 3);
  const std::vector<float> weight = random.floats(dim, 0.5F, 2);
  const std::vector<std::int32_t> rows =
      picked ? std::vector<std::int32_t>{4, 1, 1} : std::vector<std::int32_t>{0, 1, 2, 3, 4};
  float* out = lab.output(rows.size() * static_cast<std::size_t>(dim));
  lab.run(lab.module().catalog.rms_norm[0], {.x = lab.put(x),
                                             .weight = lab.put(weight),
                                             .rows = picked ? rows.data() : nullptr,
                                             .out = out,
                                             .num_tokens = static_cast<int>(rows.size()),
                                             .dim = dim,
                                             .epsilon = 1e-5F});
  std::vector<double> expected;
  for (const std::int32_t row : rows) {
    double squares = 0.0;
    for (int i = 0; i < dim; ++i) squares += double{x[row * dim + i]} * x[row * dim + i];
    const double factor = 1.0 / std::sqrt(squares / dim + 1e-5);
    for (int i = 0; i < dim; ++i) expected.push_back(x[row * dim + i] * factor * weight[i]);
  }
  return {lab.take(out, expected.size()), expected, 2e-6};
}

inline Outcome checkRope(Lab& lab, int num_heads, int head_dim, int rope_dim, kernels::RopeStyle style) {
  Random random(5);
  const std::vector<std::int32_t> positions = {0, 1, 77, 131071};
  const auto num_tokens = static_cast<int>(positions.size());
  std::vector<float> x = random.floats(std::int64_t{num_tokens} * num_heads * head_dim);
  std::vector<double> inv_freq;
  for (int i = 0; i < rope_dim / 2; ++i) inv_freq.push_back(std::pow(10000.0, -2.0 * i / rope_dim));
  float* on_device = lab.put(x);
  lab.run(lab.module().catalog.rope[0], {.x = on_device,
                                         .positions = positions.data(),
                                         .inv_freq = inv_freq.data(),
                                         .num_tokens = num_tokens,
                                         .num_heads = num_heads,
                                         .head_dim = head_dim,
                                         .rope_dim = rope_dim,
                                         .style = style});
  std::vector<double> expected(x.begin(), x.end());
  const bool interleaved = style == kernels::RopeStyle::kInterleaved;
  for (int row = 0; row < num_tokens * num_heads; ++row) {
    for (int i = 0; i < rope_dim / 2; ++i) {
      const double angle = positions[row / num_heads] * inv_freq[i];
      const std::size_t a = static_cast<std::size_t>(row * head_dim + (interleaved ? 2 * i : i));
      const std::size_t b = a + static_cast<std::size_t>(interleaved ? 1 : rope_dim / 2);
      expected[a] = x[a] * std::cos(angle) - x[b] * std::sin(angle);
      expected[b] = x[a] * std::sin(angle) + x[b] * std::cos(angle);
    }
  }
  return {lab.take(on_device, x.size()), expected, 1e-6};
}

// Exactly what the format's own encoder makes, in the right slots, and nothing else touched.
inline Outcome checkKvAppend(Lab& lab, const char* format_name, int head_dim) {
  AttentionCase c(
      {.sequences = {{3, 21}, {1, 5}, {0, 9}}, .head_dim = head_dim, .block_size = 7, .format = format_name});
  Random random(6);
  const kernels::PagedKvView kv = c.kv();
  const std::vector<std::int32_t> positions = {18, 19, 20, 4};
  const std::vector<std::int32_t> seqs = {0, 0, 0, 1};
  const std::int64_t token_elems = std::int64_t{kv.num_kv_heads} * head_dim;
  const std::vector<float> keys = random.floats(4 * token_elems, -2, 2);
  const std::vector<float> values = random.floats(4 * token_elems, -2, 2);
  kernels::PagedKvView on_device = kv;
  on_device.keys = lab.put(std::span<const std::byte>(c.keys.bytes()));
  on_device.values = lab.put(std::span<const std::byte>(c.values.bytes()));
  lab.run(lab.module().catalog.kv_append[0], {.keys = lab.put(keys),
                                              .values = lab.put(values),
                                              .positions = positions.data(),
                                              .token_seqs = seqs.data(),
                                              .kv = on_device,
                                              .num_tokens = 4});
  for (int t = 0; t < 4; ++t) {
    for (int head = 0; head < kv.num_kv_heads; ++head) {
      const std::int64_t to = kernels::kvOffsetOf(kv, seqs[t], positions[t], head);
      const std::int64_t from = t * token_elems + head * head_dim;
      c.format.encode(keys.data() + from, kv.keys + to, head_dim);
      c.format.encode(values.data() + from, kv.values + to, head_dim);
    }
  }
  Outcome outcome;
  for (const auto& [memory, device] :
       {std::pair(c.keys.bytes(), on_device.keys), {c.values.bytes(), on_device.values}}) {
    for (const std::byte byte : lab.take(device, memory.size()))
      outcome.got.push_back(static_cast<float>(std::to_integer<int>(byte)));
    for (const std::byte byte : memory) outcome.expected.push_back(std::to_integer<int>(byte));
  }
  return outcome;
}

// Heads normed one by one, in place.
inline Outcome checkHeadNorm(Lab& lab, int num_heads, int dim) {
  Random random(9);
  const std::vector<float> x = random.floats(std::int64_t{3} * num_heads * dim, -3, 3);
  const std::vector<float> weight = random.floats(dim, 0.5F, 2);
  float* on_device = lab.put(x);
  lab.run(lab.module().catalog.rms_norm[0], {.x = on_device,
                                             .weight = lab.put(weight),
                                             .rows = nullptr,
                                             .out = on_device,
                                             .num_tokens = 3,
                                             .num_heads = num_heads,
                                             .dim = dim,
                                             .epsilon = 1e-6F});
  std::vector<double> expected;
  for (int row = 0; row < 3 * num_heads; ++row) {
    double squares = 0.0;
    for (int i = 0; i < dim; ++i) squares += double{x[row * dim + i]} * x[row * dim + i];
    for (int i = 0; i < dim; ++i) expected.push_back(x[row * dim + i] / std::sqrt(squares / dim + 1e-6) * weight[i]);
  }
  return {lab.take(on_device, expected.size()), expected, 2e-6};
}

// The sum where x was, the norm where the addend was, as the forward pass runs it.
inline Outcome checkAddAndNorm(Lab& lab, int num_tokens, int dim) {
  Random random(12);
  const std::vector<float> x = random.floats(std::int64_t{num_tokens} * dim, -3, 3);
  const std::vector<float> add = random.floats(std::int64_t{num_tokens} * dim, -3, 3);
  const std::vector<float> weight = random.floats(dim, 0.5F, 2);
  float* hidden = lab.put(x);
  float* normed = lab.put(add);
  const kernels::RmsNormArgs args{.x = hidden,
                                  .weight = lab.put(weight),
                                  .rows = nullptr,
                                  .out = normed,
                                  .num_tokens = num_tokens,
                                  .dim = dim,
                                  .epsilon = 1e-5F,
                                  .add = normed,
                                  .sum = hidden};
  for (const auto& kernel : lab.module().catalog.rms_norm) {
    if (kernel.supports(args).empty()) lab.run(kernel, args);
  }
  Outcome outcome{lab.take(hidden, x.size()), {}, 2e-6};
  const std::vector<float> norms = lab.take(normed, x.size());
  outcome.got.insert(outcome.got.end(), norms.begin(), norms.end());
  std::vector<double> expected_norms;
  for (int row = 0; row < num_tokens; ++row) {
    double squares = 0.0;
    for (int i = 0; i < dim; ++i) {
      const float sum = x[row * dim + i] + add[row * dim + i];
      outcome.expected.push_back(sum);
      squares += double{sum} * sum;
    }
    const double factor = 1.0 / std::sqrt(squares / dim + 1e-5);
    for (int i = 0; i < dim; ++i) expected_norms.push_back(outcome.expected[row * dim + i] * factor * weight[i]);
  }
  outcome.expected.insert(outcome.expected.end(), expected_norms.begin(), expected_norms.end());
  return outcome;
}

inline Outcome checkSwiGlu(Lab& lab, int num_tokens, int hidden_dim) {
  Random random(7);
  const std::vector<float> gate = random.floats(std::int64_t{num_tokens} * hidden_dim, -20, 20);
  const std::vector<float> up = random.floats(std::int64_t{num_tokens} * hidden_dim);
  float* out = lab.put(gate);  // in place, as the forward pass runs it
  lab.run(lab.module().catalog.swiglu[0],
          {.gate = out, .up = lab.put(up), .out = out, .num_tokens = num_tokens, .hidden_dim = hidden_dim});
  std::vector<double> expected;
  for (std::size_t i = 0; i < gate.size(); ++i)
    expected.push_back(gate[i] / (1.0 + std::exp(-double{gate[i]})) * up[i]);
  return {lab.take(out, gate.size()), expected, 1e-6};
}

inline Outcome checkAdd(Lab& lab, int num_tokens, int dim, bool is_bias) {
  Random random(8);
  const std::vector<float> x = random.floats(std::int64_t{num_tokens} * dim);
  const std::vector<float> y = random.floats(is_bias ? dim : std::int64_t{num_tokens} * dim);
  float* sum = lab.put(x);
  lab.run(lab.module().catalog.add[0],
          {.x = sum, .y = lab.put(y), .num_tokens = num_tokens, .dim = dim, .is_bias = is_bias});
  std::vector<double> expected;
  for (std::size_t i = 0; i < x.size(); ++i) expected.push_back(x[i] + y[i % y.size()]);
  return {lab.take(sum, x.size()), expected, 0.0};
}

// A row for each set of parameters. Ids from num_ids on have the largest logits, and must not be picked.
inline Outcome checkSample(Lab& lab, int num_ids, const std::vector<kernels::SampleParams>& params,
                           const std::function<void(std::vector<float>&)>& spoil,
                           const std::vector<kernels::LogitChange>& changes = {}) {
  Random random(10);
  const int vocab_size = num_ids + 3;
  const auto num_rows = static_cast<int>(params.size());
  std::vector<float> logits = random.floats(std::int64_t{num_rows} * vocab_size, -9, 9);
  for (int row = 0; row < num_rows; ++row) {
    for (int id = num_ids; id < vocab_size; ++id) logits[row * vocab_size + id] = 1e9F;
  }
  spoil(logits);
  float* on_device = lab.put(logits);
  auto* out = reinterpret_cast<std::int32_t*>(lab.room(sizeof(std::int32_t) * params.size()));
  lab.run(lab.module().catalog.sample[0], {.logits = on_device,
                                           .params = params.data(),
                                           .changes = changes.data(),
                                           .out = out,
                                           .num_tokens = num_rows,
                                           .num_changes = static_cast<int>(changes.size()),
                                           .vocab_size = vocab_size,
                                           .num_ids = num_ids});
  for (const kernels::LogitChange& change : changes) {
    float& logit = logits[change.row * vocab_size + change.id];
    logit += change.bias;
    logit = logit > 0 ? logit / change.penalty : logit * change.penalty;
  }
  Outcome outcome;
  for (const std::int32_t id : lab.take(out, params.size())) outcome.got.push_back(static_cast<float>(id));
  for (int row = 0; row < num_rows; ++row) {
    outcome.expected.push_back(sampleReference(std::span(logits).subspan(row * vocab_size, num_ids), params[row]));
  }
  return outcome;
}

// ---- All of them -----------------------------------------------------------------------------------------------

inline void addLinearChecks(std::vector<Check>& checks, const Module& module) {
  struct Shape {
    const char* format;
    int num_rows, num_cols;
  };
  for (const auto& kernel : module.catalog.linear) {
    const bool few = kernel.choice == "own";
    std::vector<Shape> shapes = {{"f32", 5, 40},   {"f16", 13, 264}, {"bf16", 6, 72},
                                 {"q8_0", 7, 96},  {"q4_0", 9, 64},  {"q4_1", 10, 1056},
                                 {"q4_k", 3, 512}, {"q5_k", 4, 512}, {"q6_k", 5, 768}};
    if (!few) shapes.insert(shapes.end(), {{"f16", 66, 33}, {"f32", 3, 7}});
    for (const Shape& shape : shapes) {
      for (const int num_tokens : few ? std::vector{1, 2, 3, 5, 8} : std::vector{1, 9, 34}) {
        const std::string name = std::string(kernel.id) + " " + shape.format + ", " + std::to_string(num_tokens) +
                                 " x " + std::to_string(shape.num_rows) + " x " + std::to_string(shape.num_cols);
        checks.push_back({name, [&kernel, shape, num_tokens](Lab& lab) {
                            return checkLinear(lab, kernel, shape.format, num_tokens, shape.num_rows, shape.num_cols);
                          }});
      }
    }
  }
}

inline void addAttentionChecks(std::vector<Check>& checks, const Module& module) {
  constexpr double kFloats = 5e-6;  // sums in f32
  constexpr double kHalves = 2e-3;  // queries and weights rounded to half
  struct Case {
    std::string name;
    AttentionShape shape;
    bool single_queries = false;  // no tensor cores
  };
  std::vector<Case> cases = {
      {"one token", {.sequences = {{1, 1}}}, true},
      {"decode, several splits", {.sequences = {{1, 700}}, .head_dim = 64}, true},
      {"decode, part of a block", {.sequences = {{1, 37}, {1, 256}, {1, 257}}, .head_dim = 80, .format = "f16"}, true},
      {"prompt", {.sequences = {{70, 70}}, .head_dim = 64, .format = "f16"}},
      {"prompt behind a prefix", {.sequences = {{33, 150}}, .head_dim = 80, .block_size = 7, .format = "f16"}},
      {"prompt, head of 128", {.sequences = {{17, 66}}, .head_dim = 128, .format = "f16"}},
      {"prompt, q8_0", {.sequences = {{20, 90}}, .head_dim = 64, .format = "q8_0"}},
      {"prompt, f32", {.sequences = {{20, 90}}, .num_heads = 3, .num_kv_heads = 1, .head_dim = 64}},
      {"prompt, head of 8", {.sequences = {{9, 20}}, .head_dim = 8, .format = "f16"}, true},
      {"prompt, head of 96", {.sequences = {{3, 20}}, .head_dim = 96, .format = "q8_0"}, true},
      {"mixed batch", {.sequences = {{1, 33}, {20, 20}, {1, 300}, {7, 40}, {1, 1}}, .head_dim = 64, .format = "f16"}},
      {"a sequence without queries", {.sequences = {{0, 9}, {3, 9}, {0, 0}}, .head_dim = 64, .format = "f16"}},
      {"queries that see nothing", {.sequences = {{5, 2}, {2, 0}, {1, 0}}, .head_dim = 64, .format = "f16"}},
      {"block of one", {.sequences = {{9, 50}}, .head_dim = 64, .block_size = 1, .format = "f16"}},
      {"block of 256", {.sequences = {{9, 300}}, .head_dim = 64, .block_size = 256, .format = "f16"}},
      {"group of 16",
       {.sequences = {{1, 20}}, .num_heads = 16, .num_kv_heads = 1, .head_dim = 64, .format = "f16"},
       true},
  };
  for (int group = 1; group <= 8; ++group) {
    cases.push_back({"group of " + std::to_string(group),
                     {.sequences = {{1, 40}, {11, 35}},
                      .num_heads = 2 * group,
                      .num_kv_heads = 2,
                      .head_dim = 64,
                      .format = "f16"}});
  }
  for (const auto& kernel : module.catalog.attention) {
    for (const Case& c : cases) {
      const double tolerance = kernel.choice == "flash" && c.single_queries ? kFloats : kHalves;
      checks.push_back({std::string(kernel.id) + " " + c.name, [&kernel, shape = c.shape, tolerance](Lab& lab) {
                          return checkAttention(lab, kernel, shape, tolerance);
                        }});
    }
  }
}

inline void addSampleChecks(std::vector<Check>& checks) {
  const kernels::SampleParams greedy{.temperature = 0, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 5, .position = 0};
  std::vector<kernels::SampleParams> draws;
  for (const float temperature : {0.2F, 1.0F, 5.0F}) {
    for (const int top_k : {0, 7, 100000}) {
      for (const float top_p : {1.0F, 0.9F, 0.0F}) {
        for (const float min_p : {0.0F, 0.2F}) {
          draws.push_back({temperature, top_k, top_p, min_p, 17 * draws.size(), 1000 + std::ssize(draws)});
        }
      }
    }
  }
  const auto as_it_is = [](std::vector<float>&) {};
  for (const int num_ids : {1, 40, 2500}) {
    checks.push_back({"sample greedily of " + std::to_string(num_ids), [=](Lab& lab) {
                        return checkSample(lab, num_ids, {greedy, greedy}, as_it_is);
                      }});
    checks.push_back({"sample of " + std::to_string(num_ids), [=](Lab& lab) {
                        const std::size_t some = num_ids > 1000 ? 4 : 1;  // of the draws
                        std::vector<kernels::SampleParams> params;
                        for (std::size_t i = 0; i < draws.size(); i += some) params.push_back(draws[i]);
                        return checkSample(lab, num_ids, params, as_it_is);
                      }});
  }
  // Equal logits but for their sign of zero, some banned.
  checks.push_back({"sample of ties", [=](Lab& lab) {
                      return checkSample(lab, 50, draws, [](std::vector<float>& logits) {
                        for (std::size_t i = 0; i < logits.size(); ++i) {
                          if (logits[i] < 1e8F) logits[i] = i % 7 == 3 ? -INFINITY : i % 2 == 0 ? 0.0F : -0.0F;
                        }
                      });
                    }});
  checks.push_back({"sample of NaN, infinity and nothing", [=](Lab& lab) {
                      return checkSample(lab, 20, {greedy, draws[0], greedy, greedy}, [](std::vector<float>& logits) {
                        logits[3] = NAN;
                        logits[23 + 19] = INFINITY;
                        std::fill_n(logits.begin() + 2 * 23, 20, -INFINITY);
                      });
                    }});
  checks.push_back({"sample of changed logits", [=](Lab& lab) {
                      return checkSample(lab, 30, {greedy, greedy, greedy, draws[40]}, as_it_is,
                                         {{0, 7, 100.0F, 1.0F},
                                          {1, 9, 50.0F, 2.0F},
                                          {1, 8, 30.0F, 1.0F},
                                          {2, 5, -INFINITY, 1.0F},
                                          {3, 4, 20.0F, 1.5F},
                                          {3, 1, 0.0F, 1.5F}});
                    }});
}

inline std::vector<Check> allChecks(const Module& module) {
  std::vector<Check> checks;
  for (const char* format : {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q4_k", "q5_k", "q6_k"}) {
    checks.push_back({std::string("embed ") + format, [format](Lab& lab) { return checkEmbed(lab, format, 512); }});
  }
  for (const int dim : {1, 40, 577, 4096}) {
    checks.push_back({"rms_norm of " + std::to_string(dim), [dim](Lab& lab) { return checkRmsNorm(lab, dim, false); }});
  }
  checks.push_back({"rms_norm of picked rows", [](Lab& lab) { return checkRmsNorm(lab, 33, true); }});
  for (const auto style : {kernels::RopeStyle::kInterleaved, kernels::RopeStyle::kHalves}) {
    const std::string name = style == kernels::RopeStyle::kInterleaved ? "rope, interleaved" : "rope, halves";
    checks.push_back({name, [style](Lab& lab) { return checkRope(lab, 3, 64, 64, style); }});
    checks.push_back({name + " in part", [style](Lab& lab) { return checkRope(lab, 2, 80, 20, style); }});
    checks.push_back({name + ", many pairs", [style](Lab& lab) { return checkRope(lab, 1, 512, 512, style); }});
  }
  for (const char* format : {"f32", "f16", "q8_0"}) {
    for (const int head_dim : {64, 96}) {
      checks.push_back({std::string("kv_append ") + format + ", head of " + std::to_string(head_dim),
                        [format, head_dim](Lab& lab) { return checkKvAppend(lab, format, head_dim); }});
    }
  }
  checks.push_back({"swiglu", [](Lab& lab) { return checkSwiGlu(lab, 3, 333); }});
  checks.push_back({"add", [](Lab& lab) { return checkAdd(lab, 7, 41, false); }});
  checks.push_back({"add a bias", [](Lab& lab) { return checkAdd(lab, 7, 41, true); }});
  for (const int dim : {1, 300}) {
    checks.push_back(
        {"add and rms_norm of " + std::to_string(dim), [dim](Lab& lab) { return checkAddAndNorm(lab, 3, dim); }});
  }
  checks.push_back({"rms_norm of heads", [](Lab& lab) { return checkHeadNorm(lab, 3, 40); }});
  addSampleChecks(checks);
  addLinearChecks(checks, module);
  addAttentionChecks(checks, module);
  return checks;
}

}  // namespace inferoscope::tests
