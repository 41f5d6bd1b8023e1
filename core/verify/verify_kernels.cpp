// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/verify/verify_kernels.h"

#include "core/error.h"
#include "core/verify/device_memory.h"
#include "core/verify/kernel_cases.h"
#include "core/verify/reference.h"
#include "core/verify/verify_sampling.h"

#include <fmt/format.h>
#include <array>
#include <limits>

namespace inferoscope::core::verify {
namespace {

constexpr std::size_t kMemoryBytes = std::size_t{64} << 20;  // more than any case takes
constexpr std::size_t kScratchBytes = std::size_t{16} << 20;

// Relative to the sizes of what is summed. fp32 sums round by at most 2^-24 an addition; activations rounded to 8 bits
// are off by at most 1/254 of the largest of their block; tensor cores multiply halves, each off by at most 2^-11.
constexpr double kPlain = 2e-5;
constexpr double kRoundedActivations = 0.01;
constexpr double kHalves = 2e-3;

double largestError(const std::vector<float>& got, const std::vector<Expected>& expected) {
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::fabs(got[i] - expected[i].value) / (expected[i].size + 1e-30);
    if (!(error <= largest)) largest = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  }
  return largest;
}

// A key or value, once stored, is off by what its format rounds.
double storedTolerance(const kernels::Format& format) {
  const std::vector<float> values = Random(1).floats(1024);
  const std::vector<float> stored = decoded(format, encoded(format, values));
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    largest = std::max(largest, std::fabs(double{stored[i]} - values[i]));
  }
  return 2 * largest;
}

class Verifier {
 public:
  Verifier(Backend& backend, const std::function<void(const std::string&)>& before, const std::stop_token& stop)
      : m_backend(backend), m_memory(backend, kMemoryBytes), m_before(before), m_stop(stop) {}

  std::vector<KernelCheck> run() {
    const kernels::Catalog catalog = m_backend.catalog();
    eachRow(catalog.embed, [&](const auto& row) { eachFormat([&](const auto& f) { embed(row, f); }); });
    eachRow(catalog.rms_norm, [&](const auto& row) { rmsNorm(row); });
    eachRow(catalog.linear, [&](const auto& row) { eachFormat([&](const auto& f) { linear(row, f); }); });
    eachRow(catalog.rope, [&](const auto& row) { rope(row); });
    eachRow(catalog.kv_append, [&](const auto& row) { eachKvFormat([&](const auto& f) { kvAppend(row, f); }); });
    eachRow(catalog.attention, [&](const auto& row) { eachKvFormat([&](const auto& f) { attention(row, f); }); });
    eachRow(catalog.swiglu, [&](const auto& row) { swiGlu(row); });
    eachRow(catalog.add, [&](const auto& row) { add(row); });
    eachRow(catalog.sample, [&](const auto& row) {
      if (m_before) m_before(std::string(row.id));
      m_checks.push_back(verifySampling(m_backend, row, m_stop));
    });
    return std::move(m_checks);
  }

 private:
  template <class Args, class Use>
  static void eachRow(std::span<const kernels::Kernel<Args>> rows, const Use& use) {
    for (const kernels::Kernel<Args>& row : rows) use(row);
  }
  template <class Use>
  static void eachFormat(const Use& use) {
    for (const kernels::Format& format : kernels::formats()) use(format);
  }
  template <class Use>
  static void eachKvFormat(const Use& use) {
    for (const std::string_view name : {"f32", "f16", "q8_0"}) use(*kernels::findFormat(name));
  }

  void begin(std::string_view kernel, std::string_view format, double tolerance) {
    if (m_before) m_before(std::string(kernel));
    m_checks.push_back({.kernel = std::string(kernel), .format = std::string(format), .tolerance = tolerance});
  }

  // Runs one case; false if the kernel refuses it.
  template <class Args>
  bool runCase(const kernels::Kernel<Args>& row, const Args& args) {
    if (m_stop.stop_requested()) throw Cancelled();
    KernelCheck& check = m_checks.back();
    const std::string reason = row.supports(args);
    if (!reason.empty()) {
      const bool is_new = check.skipped.find(reason) == std::string::npos;
      if (check.num_cases == 0 && is_new) check.skipped += (check.skipped.empty() ? "" : "; ") + reason;
      return false;
    }
    check.skipped.clear();
    const std::size_t scratch_bytes = std::max(row.scratchBytes(args, m_backend.numThreads()), kScratchBytes);
    m_backend.resetMarks();
    m_backend.mark();
    row.run(args, m_backend.exec(scratch_bytes, m_stop));
    m_backend.mark();
    m_backend.times();  // waits for the device
    return true;
  }

  void judge(const std::vector<float>& got, const std::vector<Expected>& expected, const std::string& what) {
    const double error = largestError(got, expected);
    KernelCheck& check = m_checks.back();
    ++check.num_cases;
    if (error > check.tolerance) ++check.num_failed;
    if (check.worst_case.empty() || error > check.largest_error) {
      check.largest_error = error;
      check.worst_case = what;
    }
  }

  // `args` has its arrays on the device, all but `out` and those of indices, which lie in host memory everywhere;
  // nothing that was there before may pass for a result.
  template <class Args>
  void runAndJudge(const kernels::Kernel<Args>& row, Args args, const std::vector<Expected>& expected,
                   const std::string& what) {
    args.out = m_memory.put(std::vector<float>(expected.size(), std::numeric_limits<float>::quiet_NaN()));
    if (runCase(row, args)) judge(m_memory.get(args.out, expected.size()), expected, what);
  }

  void embed(const kernels::Kernel<kernels::EmbedArgs>& row, const kernels::Format& format) {
    begin(row.id, format.name, 1e-6);
    const int dim = 3 * std::max(32, format.block_elems);
    const std::vector<std::byte> table = encoded(format, Random(4).floats(std::int64_t{37} * dim));
    const std::vector<std::int32_t> ids = {0, 36, 17, 17, 5};
    kernels::EmbedArgs args = {.table = {table.data(), format.id, 37, dim},
                               .token_ids = ids.data(),
                               .out = nullptr,
                               .num_tokens = static_cast<int>(ids.size())};
    const std::vector<Expected> expected = reference(args);
    m_memory.clear();
    eachLayout(args.table, [&](const kernels::WeightMatrix& table_on_device, std::string_view layout) {
      args.table = table_on_device;
      runAndJudge(row, args, expected, fmt::format("5 tokens, {} x {}{}", 37, dim, layout));
    });
  }

  void rmsNorm(const kernels::Kernel<kernels::RmsNormArgs>& row) {
    begin(row.id, "", kPlain);
    for (const int dim : {1, 7, 33, 576}) {
      const std::vector<float> x = Random(1).floats(std::int64_t{19} * 3 * dim, -3, 3);
      const std::vector<float> weight = Random(2).floats(dim);
      for (const std::vector<std::int32_t>& rows : {std::vector<std::int32_t>{}, {18, 3, 0, 17}}) {
        kernels::RmsNormArgs args = {.x = x.data(),
                                     .weight = weight.data(),
                                     .rows = rows.empty() ? nullptr : rows.data(),
                                     .out = nullptr,
                                     .num_tokens = rows.empty() ? 19 : static_cast<int>(rows.size()),
                                     .num_heads = 3,
                                     .dim = dim,
                                     .epsilon = 1e-5F};
        const std::vector<Expected> expected = reference(args);
        m_memory.clear();
        args.x = m_memory.put(x);
        args.weight = m_memory.put(weight);
        runAndJudge(row, args, expected, fmt::format("{} tokens, 3 x {}", args.num_tokens, dim));
      }
      addAndNorm(row, dim, weight);
    }
  }

  void addAndNorm(const kernels::Kernel<kernels::RmsNormArgs>& row, int dim, const std::vector<float>& weight) {
    const std::vector<float> x = Random(3).floats(std::int64_t{5} * dim, -3, 3);
    const std::vector<float> add = Random(4).floats(std::int64_t{5} * dim, -3, 3);
    std::vector<float> sum = x;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += add[i];
    kernels::RmsNormArgs args = {.x = sum.data(),
                                 .weight = weight.data(),
                                 .rows = nullptr,
                                 .out = nullptr,
                                 .num_tokens = 5,
                                 .dim = dim,
                                 .epsilon = 1e-5F};
    const std::vector<Expected> expected = reference(args);
    m_memory.clear();
    args.x = args.sum = m_memory.put(x);
    args.add = m_memory.put(add);
    args.weight = m_memory.put(weight);
    runAndJudge(row, args, expected, fmt::format("5 tokens added, {}", dim));
  }

  void linear(const kernels::Kernel<kernels::LinearArgs>& row, const kernels::Format& format) {
    begin(row.id, format.name, row.choice == "cublas" ? kHalves : kPlain);
    struct Shape {
      int num_tokens, num_rows, num_blocks;
    };
    for (const auto [num_tokens, num_rows, num_blocks] :
         {Shape{1, 1, 1}, {1, 37, 3}, {2, 31, 2}, {3, 32, 5}, {4, 33, 1}, {5, 100, 2}, {17, 64, 3}, {33, 70, 7}}) {
      LinearCase c(format, num_tokens, num_rows, num_blocks * std::max(32, format.block_elems));
      linearCase(row, c);
    }
    if (format.block_elems > 1) return;
    for (const int num_cols : {1, 7, 20, 67}) {
      LinearCase c(format, 5, 9, num_cols);
      linearCase(row, c);
    }
  }

  void linearCase(const kernels::Kernel<kernels::LinearArgs>& row, LinearCase& c) {
    kernels::LinearArgs args = c.args();
    const std::vector<Expected> expected = reference(args);
    m_memory.clear();
    args.x = m_memory.put(c.x);
    eachLayout(c.args().w, [&](const kernels::WeightMatrix& w, std::string_view layout) {
      args.w = w;
      if (row.supports(args).empty() && row.cost(args).int8_ops > 0) m_checks.back().tolerance = kRoundedActivations;
      runAndJudge(row, args, expected,
                  fmt::format("{} tokens, {} x {}{}", args.num_tokens, w.num_rows, w.num_cols, layout));
    });
  }

  // The matrix on the device, as rows and in the layout that the device's fast kernels want.
  template <class Use>
  void eachLayout(kernels::WeightMatrix w, const Use& use) {
    use(m_memory.put(w), "");
    const bool is_cpu = m_backend.device() == kernels::Device::kCpu;
    w.layout = is_cpu ? kernels::Layout::kInterleaved : m_backend.layoutFor(w);
    if (w.layout != kernels::Layout::kRows) use(m_memory.put(w), ", laid out for it");
  }

  void rope(const kernels::Kernel<kernels::RopeArgs>& row) {
    begin(row.id, "", kPlain);
    const std::vector<std::int32_t> positions = {0, 1, 77, 8191, 131071};
    for (const auto style : {kernels::RopeStyle::kInterleaved, kernels::RopeStyle::kHalves}) {
      for (const int rope_dim : {2, 12, 64}) {
        std::vector<float> x = Random(3).floats(std::int64_t{5} * 3 * 64);
        std::vector<double> inv_freq;
        for (int i = 0; i < rope_dim / 2; ++i) inv_freq.push_back(std::pow(10000.0, -2.0 * i / rope_dim));
        kernels::RopeArgs args = {.x = x.data(),
                                  .positions = positions.data(),
                                  .inv_freq = inv_freq.data(),
                                  .num_tokens = 5,
                                  .num_heads = 3,
                                  .head_dim = 64,
                                  .rope_dim = rope_dim,
                                  .style = style};
        const std::vector<Expected> expected = reference(args);
        m_memory.clear();
        args.x = m_memory.put(x);
        if (!runCase(row, args)) continue;
        judge(m_memory.get(args.x, x.size()), expected,
              fmt::format("{} of 64, {}", rope_dim, style == kernels::RopeStyle::kHalves ? "halves" : "pairs"));
      }
    }
  }

  // The view of a case's cache, its keys and values on the device.
  kernels::PagedKvView onDevice(AttentionCase& c) {
    kernels::PagedKvView kv = c.kv();
    const auto bytes = [](const HostMemory& memory) { return std::span<const std::byte>(memory.bytes()); };
    kv.keys = m_memory.put(bytes(c.keys));
    kv.values = m_memory.put(bytes(c.values));
    return kv;
  }

  void kvAppend(const kernels::Kernel<kernels::KvAppendArgs>& row, const kernels::Format& format) {
    begin(row.id, format.name, storedTolerance(format));
    AttentionCase c({.sequences = {{0, 21}, {0, 3}}, .head_dim = 64, .block_size = 4, .format = format.name.data()});
    const std::vector<std::int32_t> positions = {19, 20, 2};
    const std::vector<std::int32_t> seqs = {0, 0, 1};
    const kernels::PagedKvView host = c.kv();
    const std::vector<float> keys = Random(5).floats(std::int64_t{3} * host.num_kv_heads * host.head_dim);
    m_memory.clear();
    const kernels::PagedKvView kv = onDevice(c);
    const float* on_device = m_memory.put(keys);
    if (!runCase(row, {.keys = on_device,
                       .values = on_device,
                       .positions = positions.data(),
                       .token_seqs = seqs.data(),
                       .kv = kv,
                       .num_tokens = 3})) {
      return;
    }
    const std::vector<std::byte> stored = m_memory.get<std::byte>(kv.values, c.values.bytes().size());
    std::vector<float> got;
    std::vector<Expected> expected;
    for (const float key : keys) expected.push_back({key, 1.0});
    for (std::size_t t = 0; t < positions.size(); ++t) {
      for (int head = 0; head < host.num_kv_heads; ++head) {
        const std::int64_t offset = kernels::kvOffsetOf(host, seqs[t], positions[t], head);
        const auto vector = std::span(stored).subspan(static_cast<std::size_t>(offset));
        const std::vector<float> values = decoded(format, vector.first(static_cast<std::size_t>(host.vector_bytes)));
        got.insert(got.end(), values.begin(), values.end());
      }
    }
    judge(got, expected, "3 tokens of 2 sequences");
  }

  void attention(const kernels::Kernel<kernels::AttentionArgs>& row, const kernels::Format& format) {
    begin(row.id, format.name, m_backend.device() == kernels::Device::kCpu ? 1e-4 : kHalves);
    const std::array<std::vector<AttentionShape::Sequence>, 4> batches = {
        {{{1, 1}}, {{1, 50}, {1, 17}, {1, 16}}, {{33, 33}, {5, 40}, {1, 129}}, {{70, 200}}}};
    for (const std::vector<AttentionShape::Sequence>& sequences : batches) {
      for (const int head_dim : {32, 64, 128}) {
        AttentionCase c({.sequences = sequences, .head_dim = head_dim, .format = format.name.data()});
        const std::vector<Expected> expected = reference(c.args());
        m_memory.clear();
        kernels::AttentionArgs args = c.args();
        args.q = m_memory.put(c.q);
        args.kv = onDevice(c);
        runAndJudge(row, args, expected,
                    fmt::format("{} sequences, {} tokens, heads of {}", sequences.size(), args.num_tokens, head_dim));
      }
    }
  }

  void swiGlu(const kernels::Kernel<kernels::SwiGluArgs>& row) {
    begin(row.id, "", kPlain);
    for (const int dim : {1, 7, 33, 576}) {
      const std::vector<float> gate = Random(2).floats(std::int64_t{5} * dim, -20, 20);
      const std::vector<float> up = Random(3).floats(std::int64_t{5} * dim);
      kernels::SwiGluArgs args = {
          .gate = gate.data(), .up = up.data(), .out = nullptr, .num_tokens = 5, .hidden_dim = dim};
      const std::vector<Expected> expected = reference(args);
      m_memory.clear();
      args.gate = m_memory.put(gate);
      args.up = m_memory.put(up);
      runAndJudge(row, args, expected, fmt::format("5 x {}", dim));
    }
  }

  void add(const kernels::Kernel<kernels::AddArgs>& row) {
    begin(row.id, "", kPlain);
    for (const int dim : {1, 7, 33, 576}) {
      for (const bool is_bias : {false, true}) {
        std::vector<float> x = Random(6).floats(std::int64_t{5} * dim);
        const std::vector<float> y = Random(7).floats(std::int64_t{is_bias ? 1 : 5} * dim);
        kernels::AddArgs args = {.x = x.data(), .y = y.data(), .num_tokens = 5, .dim = dim, .is_bias = is_bias};
        const std::vector<Expected> expected = reference(args);
        m_memory.clear();
        args.x = m_memory.put(x);
        args.y = m_memory.put(y);
        if (!runCase(row, args)) continue;
        judge(m_memory.get(args.x, x.size()), expected, fmt::format("5 x {}{}", dim, is_bias ? ", a bias" : ""));
      }
    }
  }

  Backend& m_backend;
  DeviceMemory m_memory;
  const std::function<void(const std::string&)>& m_before;
  const std::stop_token& m_stop;
  std::vector<KernelCheck> m_checks;
};

}  // namespace

std::vector<KernelCheck> verifyKernels(Backend& backend, const std::function<void(const std::string& kernel)>& before,
                                       const std::stop_token& stop) {
  return Verifier(backend, before, stop).run();
}

}  // namespace inferoscope::core::verify
