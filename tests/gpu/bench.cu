// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cuda/kernel_lab.h"
#include "tests/support/kernel_cases.h"

#include <cstdio>
#include <functional>

// Speeds of the kernels at the shapes of an 8B model, each beside what the same run measured as the device's ceiling.

using namespace inferoscope;
using kernels::cuda::Module;
using kernels::cuda::Queue;

namespace {

constexpr int kPasses = 20;

// The median of some runs, in seconds.
double seconds(Queue& queue, const std::function<void()>& run) {
  std::vector<std::int64_t> times;
  for (int pass = 0; pass < kPasses + 3; ++pass) {
    queue.beginStep();
    queue.mark();
    run();
    queue.mark();
    const std::int64_t ns = queue.times()[1];
    if (pass >= 3) times.push_back(ns);
  }
  std::ranges::sort(times);
  return static_cast<double>(times[times.size() / 2]) * 1e-9;
}

class Bench {
 public:
  Bench(const Module& module, Queue& queue) : m_module(module), m_queue(queue), m_ceilings(queue.probe()) {}

  void printCeilings() const {
    std::printf("copy %.0f GB/s, cuBLAS half %.0f TFLOP/s\n\n", m_ceilings.copy_bytes_per_s * 1e-9,
                m_ceilings.half_flop_per_s * 1e-12);
  }

  // The matrix is larger than any cache.
  void linear(std::string_view choice, const char* format_name, int num_tokens) {
    constexpr int kRows = 14336 * 4;
    constexpr int kCols = 4096;
    const kernels::Format& format = *kernels::findFormat(format_name);
    const auto bytes = static_cast<std::size_t>(kernels::storedBytes(format, std::int64_t{kRows} * kCols));
    Memory w(*this, bytes);
    Memory x(*this, sizeof(float) * num_tokens * kCols);
    Memory out(*this, sizeof(float) * num_tokens * kRows);
    const kernels::LinearArgs args{.x = x.floats(),
                                   .w = {w.data, format.id, kRows, kCols, m_module.layout(format.id)},
                                   .out = out.floats(),
                                   .num_tokens = num_tokens};
    report(std::string("linear ") + format_name + ", " + std::to_string(num_tokens) + " tokens",
           m_module.catalog.linear, choice, args);
  }

  void attention(std::string_view choice, int num_seqs, int q_len, int kv_len, const char* format_name,
                 int block_size) {
    constexpr int kHeads = 32;
    constexpr int kKvHeads = 8;
    constexpr int kDim = 128;
    const kernels::Format& format = *kernels::findFormat(format_name);
    const int blocks = (kv_len + block_size - 1) / block_size;
    const std::int64_t vector_bytes = kernels::storedBytes(format, kDim);
    const auto bytes = static_cast<std::size_t>(std::int64_t{num_seqs} * blocks * block_size * kKvHeads * vector_bytes);
    Memory keys(*this, bytes);
    Memory values(*this, bytes);
    Memory q(*this, sizeof(float) * num_seqs * q_len * kHeads * kDim);
    Memory out(*this, sizeof(float) * num_seqs * q_len * kHeads * kDim);
    std::vector<std::int32_t> tables(static_cast<std::size_t>(num_seqs * blocks));
    for (std::size_t i = 0; i < tables.size(); ++i) {
      tables[i] = static_cast<std::int32_t>(i * 7919 % tables.size());  // 7919: a prime, so that each comes once
    }
    std::vector<std::int32_t> starts;
    for (int s = 0; s <= num_seqs; ++s) starts.push_back(s * q_len);
    const std::vector<std::int32_t> lens(static_cast<std::size_t>(num_seqs), kv_len);
    const kernels::AttentionArgs args{.q = q.floats(),
                                      .kv = {.keys = keys.data,
                                             .values = values.data,
                                             .format = format.id,
                                             .num_blocks = num_seqs * blocks,
                                             .block_size = block_size,
                                             .num_kv_heads = kKvHeads,
                                             .head_dim = kDim,
                                             .vector_bytes = vector_bytes,
                                             .block_tables = tables.data(),
                                             .block_table_stride = blocks,
                                             .kv_lens = lens.data(),
                                             .num_seqs = num_seqs},
                                      .q_starts = starts.data(),
                                      .out = out.floats(),
                                      .num_tokens = num_seqs * q_len,
                                      .num_heads = kHeads,
                                      .scale = 0.088F};
    report(std::string("attention ") + format_name + ", " + std::to_string(num_seqs) + " x " + std::to_string(q_len) +
               " of " + std::to_string(kv_len) + ", blocks of " + std::to_string(block_size),
           m_module.catalog.attention, choice, args);
  }

  // The norms and matrices of a 135M model's layers for one token, one launch after the other and as one graph: what a
  // graph saves is the time between kernels as short as these.
  void shortKernels(bool as_graph) {
    constexpr int kDim = 576;
    constexpr int kLayers = 30;
    constexpr int kMatrices = 7;
    const kernels::Format& format = *kernels::findFormat("q8_0");
    Memory w(*this, static_cast<std::size_t>(kernels::storedBytes(format, std::int64_t{kDim} * kDim)));
    Memory weight(*this, sizeof(float) * kDim);
    Memory x(*this, sizeof(float) * kDim);
    Memory out(*this, sizeof(float) * kDim);
    const kernels::RmsNormArgs norm{.x = x.floats(),
                                    .weight = weight.floats(),
                                    .rows = nullptr,
                                    .out = out.floats(),
                                    .num_tokens = 1,
                                    .dim = kDim,
                                    .epsilon = 1e-5F};
    const kernels::LinearArgs linear{.x = out.floats(),
                                     .w = {w.data, format.id, kDim, kDim, m_module.layout(format.id)},
                                     .out = x.floats(),
                                     .num_tokens = 1};
    const auto& norm_row = m_module.catalog.rms_norm[0];
    const auto& linear_row = m_module.catalog.linear[0];
    const std::size_t scratch_bytes = linear_row.scratchBytes(linear, 1);
    Memory scratch(*this, scratch_bytes);
    const kernels::Exec exec{.pool = nullptr, .queue = &m_queue, .scratch = {scratch.data, scratch_bytes}, .stop = {}};
    const double s = seconds(m_queue, [&] {
      if (as_graph) m_queue.beginGraph();
      for (int layer = 0; layer < kLayers; ++layer) {
        for (int i = 0; i < 2; ++i) norm_row.run(norm, exec);
        for (int i = 0; i < kMatrices; ++i) linear_row.run(linear, exec);
      }
    });
    std::printf("%d layers of short kernels, %-10s %9.1f us\n", kLayers,
                as_graph ? "one graph:" : "launched:", s * 1e6);
  }

 private:
  // Zeros: what is in it changes no speed.
  struct Memory {
    Memory(Bench& bench, std::size_t bytes) : queue(bench.m_queue), data(queue.allocate(bytes)) {
      if (data == nullptr) throw kernels::cuda::DeviceError("not enough memory on the device");
      const std::vector<std::byte> zeros(bytes);
      queue.upload(data, zeros);
    }
    ~Memory() { queue.free(data); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    float* floats() const { return reinterpret_cast<float*>(data); }
    Queue& queue;
    std::byte* data;
  };

  template <class Args>
  void report(const std::string& what, std::span<const kernels::Kernel<Args>> rows, std::string_view choice,
              const Args& args) {
    const auto row = std::ranges::find_if(
        rows, [&](const auto& kernel) { return kernel.choice == choice && kernel.supports(args).empty(); });
    if (row == rows.end()) return;
    Memory scratch(*this, row->scratchBytes(args, 1) + 256);
    const double s = seconds(m_queue, [&] {
      row->run(args,
               {.pool = nullptr, .queue = &m_queue, .scratch = {scratch.data, row->scratchBytes(args, 1)}, .stop = {}});
    });
    const kernels::OpCost cost = row->cost(args);
    const double bytes_per_s = static_cast<double>(cost.bytes()) / s;
    const double flop_per_s = static_cast<double>(cost.flops) / s;
    std::printf("%-22s %-52s %9.1f us %7.0f GB/s %4.0f%% %7.1f TFLOP/s %4.0f%%\n", std::string(row->id).c_str(),
                what.c_str(), s * 1e6, bytes_per_s * 1e-9, 100 * bytes_per_s / m_ceilings.copy_bytes_per_s,
                flop_per_s * 1e-12, 100 * flop_per_s / m_ceilings.half_flop_per_s);
  }

  const Module& m_module;
  Queue& m_queue;
  kernels::cuda::DeviceCeilings m_ceilings;
};

}  // namespace

int main() {
  const Module& module = *inferoscopeCudaModule();
  std::string why;
  if (module.devices(why).empty()) {
    std::printf("no device: %s\n", why.c_str());
    return 1;
  }
  const auto queue = module.open(0);
  Bench bench(module, *queue);
  bench.printCeilings();
  for (const char* format : {"f16", "q8_0", "q4_0", "q4_1", "q4_k", "q6_k"}) {
    for (const int num_tokens : {1, 8}) bench.linear("own", format, num_tokens);
  }
  for (const char* format : {"f16", "q4_0"}) {
    for (const int num_tokens : {32, 512, 2048}) bench.linear("cublas", format, num_tokens);
  }
  for (const char* choice : {"flash", "naive"}) {
    for (const int len : {512, 2048, 8192}) bench.attention(choice, 1, len, len, "f16", 16);
  }
  for (const char* format : {"f16", "q8_0"}) {
    for (const int num_seqs : {1, 8, 32}) bench.attention("flash", num_seqs, 1, 4096, format, 16);
  }
  bench.attention("flash", 8, 1, 4096, "f16", 4096);  // contiguous
  for (const bool as_graph : {false, true}) bench.shortKernels(as_graph);
  return 0;
}
