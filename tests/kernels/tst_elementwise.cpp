// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/kernel_cases.h"

#include <QTest>

using namespace inferoscope;
using kernels::Device;
using kernels::Kernel;
using kernels::kernelsFor;
using tests::Random;

namespace {

constexpr int kNumTokens = 19;

// Calls check(row) for every row of an op that this machine can run.
template <class Args, class Check>
void forRows(const Args& args, const Check& check) {
  for (const Kernel<Args>& row : kernelsFor<Args>(Device::kCpu)) {
    if (row.supports(args).empty()) check(row);
  }
}

bool isClose(double got, double expected, double relative, double absolute = 0.0) {
  return std::fabs(got - expected) <= std::fabs(expected) * relative + absolute;
}

bool sameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

// The ops without a table of shapes of their own: embed, rms_norm, rope, kv_append, swiglu, add.
class TestElementwise : public QObject {
  Q_OBJECT

 private slots:
  void rmsNorm_data() { dims(); }
  void rmsNorm() {
    QFETCH(const int, dim);
    Random random(1);
    const std::vector<float> x = random.floats(kNumTokens * dim, -3, 3);
    const std::vector<float> weight = random.floats(dim);
    for (const std::vector<std::int32_t>& picked : {std::vector<std::int32_t>{}, {18}, {3, 0, 17}}) {
      const int num_tokens = picked.empty() ? kNumTokens : static_cast<int>(picked.size());
      std::vector<float> out(std::size_t{1} * num_tokens * dim);
      const kernels::RmsNormArgs args = {.x = x.data(),
                                         .weight = weight.data(),
                                         .rows = picked.empty() ? nullptr : picked.data(),
                                         .out = out.data(),
                                         .num_tokens = num_tokens,
                                         .dim = dim,
                                         .epsilon = 1e-5F};
      forRows(args, [&](const auto& row) {
        std::ranges::fill(out, NAN);
        QVERIFY(tests::runKernel(row, args, 2));
        for (int t = 0; t < num_tokens; ++t) {
          const float* from = x.data() + (picked.empty() ? t : picked[t]) * dim;
          double squares = 0.0;
          for (int i = 0; i < dim; ++i) squares += double{from[i]} * from[i];
          const double scale = 1.0 / std::sqrt(squares / dim + 1e-5);
          for (int i = 0; i < dim; ++i) QVERIFY(isClose(out[t * dim + i], from[i] * scale * weight[i], 3e-6));
        }
      });
    }
  }

  // Each head by itself, in place, all with the same weight: what QK norm needs.
  void rmsNormOfHeads_data() { dims(); }
  void rmsNormOfHeads() {
    QFETCH(const int, dim);
    constexpr int kNumHeads = 3;
    Random random(8);
    const std::vector<float> x = random.floats(kNumTokens * kNumHeads * dim, -3, 3);
    const std::vector<float> weight = random.floats(dim);
    std::vector<float> heads = x;
    const kernels::RmsNormArgs args = {.x = heads.data(),
                                       .weight = weight.data(),
                                       .rows = nullptr,
                                       .out = heads.data(),
                                       .num_tokens = kNumTokens,
                                       .num_heads = kNumHeads,
                                       .dim = dim,
                                       .epsilon = 1e-6F};
    forRows(args, [&](const auto& row) {
      heads = x;
      QVERIFY(tests::runKernel(row, args, 2));
      for (int v = 0; v < kNumTokens * kNumHeads; ++v) {
        const float* from = x.data() + v * dim;
        double squares = 0.0;
        for (int i = 0; i < dim; ++i) squares += double{from[i]} * from[i];
        const double scale = 1.0 / std::sqrt(squares / dim + 1e-6);
        for (int i = 0; i < dim; ++i) QVERIFY(isClose(heads[v * dim + i], from[i] * scale * weight[i], 3e-6));
      }
      QCOMPARE(row.cost(args).weights, 4U * dim);
      QCOMPARE(row.cost(args).flops, 4U * kNumTokens * kNumHeads * dim);
    });
  }

  void swiGlu_data() { dims(); }
  void swiGlu() {
    QFETCH(const int, dim);
    Random random(2);
    std::vector<float> gate = random.floats(kNumTokens * dim, -20, 20);
    gate[0] = 100.0F;  // e^-100 and e^100 are no normal floats
    gate[dim] = -100.0F;
    gate[2 * dim] = 0.0F;
    const std::vector<float> up = random.floats(kNumTokens * dim);
    std::vector<float> out(gate.size());
    const kernels::SwiGluArgs args = {
        .gate = gate.data(), .up = up.data(), .out = out.data(), .num_tokens = kNumTokens, .hidden_dim = dim};
    forRows(args, [&](const auto& row) {
      std::ranges::fill(out, NAN);
      QVERIFY(tests::runKernel(row, args, 2));
      for (std::size_t i = 0; i < out.size(); ++i) {
        const double expected = gate[i] / (1.0 + std::exp(-double{gate[i]})) * up[i];
        QVERIFY(isClose(out[i], expected, 1e-6, 1e-36));
      }
    });
  }

  void swiGluKeepsWhatIsNotFinite() {
    for (const float bad : {NAN, INFINITY}) {
      std::vector<float> gate(9, bad);
      const std::vector<float> up(9, 1.0F);
      std::vector<float> out(9, 0.0F);
      const kernels::SwiGluArgs args = {
          .gate = gate.data(), .up = up.data(), .out = out.data(), .num_tokens = 1, .hidden_dim = 9};
      forRows(args, [&](const auto& row) {
        QVERIFY(tests::runKernel(row, args, 1));
        for (const float x : out) QVERIFY(!std::isfinite(x));
      });
    }
  }

  void rope_data() {
    QTest::addColumn<int>("head_dim");
    QTest::addColumn<int>("rope_dim");
    QTest::addColumn<bool>("interleaved");
    for (const bool interleaved : {true, false}) {
      for (const auto& [head_dim, rope_dim] : {std::pair{2, 2}, {8, 8}, {20, 20}, {64, 64}, {64, 16}}) {
        QTest::addRow("%d of %d, %s", rope_dim, head_dim, interleaved ? "interleaved" : "halves")
            << head_dim << rope_dim << interleaved;
      }
    }
  }
  void rope() {
    QFETCH(const int, head_dim);
    QFETCH(const int, rope_dim);
    QFETCH(const bool, interleaved);
    constexpr int kNumHeads = 3;
    Random random(3);
    const std::vector<float> x = random.floats(kNumTokens * kNumHeads * head_dim);
    std::vector<float> rotated = x;
    std::vector<std::int32_t> positions;
    std::vector<double> inv_freq;
    for (int t = 0; t < kNumTokens; ++t) positions.push_back(t * t * 300);
    for (int i = 0; i < rope_dim / 2; ++i) inv_freq.push_back(std::pow(10000.0, -2.0 * i / rope_dim));
    const kernels::RopeArgs args = {
        .x = rotated.data(),
        .positions = positions.data(),
        .inv_freq = inv_freq.data(),
        .num_tokens = kNumTokens,
        .num_heads = kNumHeads,
        .head_dim = head_dim,
        .rope_dim = rope_dim,
        .style = interleaved ? kernels::RopeStyle::kInterleaved : kernels::RopeStyle::kHalves};
    forRows(args, [&](const auto& row) {
      rotated = x;
      QVERIFY(tests::runKernel(row, args, 2));
      for (int v = 0; v < kNumTokens * kNumHeads; ++v) {
        const float* from = x.data() + v * head_dim;
        const float* to = rotated.data() + v * head_dim;
        for (int i = 0; i < rope_dim / 2; ++i) {
          const double angle = positions[v / kNumHeads] * inv_freq[i];
          const int a = interleaved ? 2 * i : i;
          const int b = interleaved ? 2 * i + 1 : i + rope_dim / 2;
          QVERIFY(isClose(to[a], from[a] * std::cos(angle) - from[b] * std::sin(angle), 0, 3e-7));
          QVERIFY(isClose(to[b], from[a] * std::sin(angle) + from[b] * std::cos(angle), 0, 3e-7));
        }
        for (int i = rope_dim; i < head_dim; ++i) QCOMPARE(to[i], from[i]);
      }
    });
  }

  void embed_data() { everyFormat(); }
  void embed() {
    QFETCH(const QString, format);
    const kernels::Format& f = *kernels::findFormat(format.toStdString());
    constexpr int kDim = 512;
    const std::vector<std::byte> table = tests::encoded(f, Random(4).floats(50 * kDim));
    const std::vector<float> rows = tests::decoded(f, table);
    const std::vector<std::int32_t> ids = {49, 0, 7, 7};
    std::vector<float> out(ids.size() * kDim, NAN);
    const kernels::EmbedArgs args = {.table = {.data = table.data(), .format = f.id, .num_rows = 50, .num_cols = kDim},
                                     .token_ids = ids.data(),
                                     .out = out.data(),
                                     .num_tokens = static_cast<int>(ids.size())};
    forRows(args, [&](const auto& row) {
      QVERIFY(tests::runKernel(row, args, 2));
      for (std::size_t t = 0; t < ids.size(); ++t) {
        QVERIFY(std::equal(&out[t * kDim], &out[t * kDim] + kDim, &rows[std::size_t{1} * ids[t] * kDim]));
      }
      QCOMPARE(row.cost(args).weights, 4U * kDim / f.block_elems * f.block_bytes);
    });
  }

  // Stored vectors lie where attention looks for them, and nothing else changes.
  void kvAppend_data() { everyFormat(); }
  void kvAppend() {
    QFETCH(const QString, format);
    const std::string name = format.toStdString();
    tests::AttentionCase cache(
        {.sequences = {{0, 21}, {0, 3}}, .head_dim = 256, .block_size = 4, .format = name.c_str()});
    const kernels::PagedKvView kv = cache.kv();
    const std::vector<std::int32_t> positions = {19, 20, 2};
    const std::vector<std::int32_t> token_seqs = {0, 0, 1};
    Random random(5);
    const std::vector<float> keys = random.floats(3 * kv.num_kv_heads * kv.head_dim);
    const std::vector<float> values = random.floats(3 * kv.num_kv_heads * kv.head_dim);
    const std::vector<std::byte> old_keys(cache.keys.bytes().begin(), cache.keys.bytes().end());
    const std::vector<std::byte> old_values(cache.values.bytes().begin(), cache.values.bytes().end());
    std::vector<std::byte> expected_keys = old_keys;
    std::vector<std::byte> expected_values = old_values;
    for (int t = 0; t < 3; ++t) {
      for (int head = 0; head < kv.num_kv_heads; ++head) {
        const std::int64_t from = (t * kv.num_kv_heads + head) * kv.head_dim;
        const std::int64_t to = kernels::kvOffsetOf(kv, token_seqs[t], positions[t], head);
        cache.format.encode(&keys[from], &expected_keys[to], kv.head_dim);
        cache.format.encode(&values[from], &expected_values[to], kv.head_dim);
      }
    }
    const kernels::KvAppendArgs args = {.keys = keys.data(),
                                        .values = values.data(),
                                        .positions = positions.data(),
                                        .token_seqs = token_seqs.data(),
                                        .kv = kv,
                                        .num_tokens = 3};
    forRows(args, [&](const auto& row) {
      std::ranges::copy(old_keys, cache.keys.data());
      std::ranges::copy(old_values, cache.values.data());
      QVERIFY(tests::runKernel(row, args, 2));
      QVERIFY(std::ranges::equal(cache.keys.bytes(), expected_keys));
      QVERIFY(std::ranges::equal(cache.values.bytes(), expected_values));
      QCOMPARE(row.cost(args).kv_write, 2U * 3 * kv.num_kv_heads * kv.vector_bytes);
    });
  }

  void add_data() { dims(); }
  void add() {
    QFETCH(const int, dim);
    Random random(6);
    const std::vector<float> x = random.floats(kNumTokens * dim);
    const std::vector<float> y = random.floats(kNumTokens * dim);
    std::vector<float> sum = x;
    const kernels::AddArgs args = {.x = sum.data(), .y = y.data(), .num_tokens = kNumTokens, .dim = dim};
    forRows(args, [&](const auto& row) {
      sum = x;
      QVERIFY(tests::runKernel(row, args, 2));
      for (std::size_t i = 0; i < sum.size(); ++i) QCOMPARE(sum[i], x[i] + y[i]);
    });
  }

  void addBias_data() { dims(); }
  void addBias() {
    QFETCH(const int, dim);
    Random random(9);
    const std::vector<float> x = random.floats(kNumTokens * dim);
    const std::vector<float> bias = random.floats(dim);
    std::vector<float> sum = x;
    const kernels::AddArgs args = {
        .x = sum.data(), .y = bias.data(), .num_tokens = kNumTokens, .dim = dim, .is_bias = true};
    forRows(args, [&](const auto& row) {
      sum = x;
      QVERIFY(tests::runKernel(row, args, 2));
      for (int i = 0; i < kNumTokens * dim; ++i) QCOMPARE(sum[i], x[i] + bias[i % dim]);
      QCOMPARE(row.cost(args).weights, 4U * dim);
      QCOMPARE(row.cost(args).activations, 2U * 4 * kNumTokens * dim);
    });
  }

  // One token alone gives the bits it gives among others, whatever the threads.
  void bitsDependOnNothingButTheToken_data() { dims(); }
  void bitsDependOnNothingButTheToken() {
    QFETCH(const int, dim);
    Random random(7);
    const std::vector<float> x = random.floats(kNumTokens * dim, -9, 9);
    const std::vector<float> y = random.floats(kNumTokens * dim);
    std::vector<float> whole(x.size());
    std::vector<float> again(x.size());
    const auto check = [&](const auto& argsOf, auto first) {
      forRows(first, [&](const auto& row) {
        QVERIFY(tests::runKernel(row, argsOf(0, kNumTokens, whole.data()), 1));
        QVERIFY(tests::runKernel(row, argsOf(0, kNumTokens, again.data()), 3));
        QVERIFY(sameBits(whole, again));
        for (int t = 0; t < kNumTokens; ++t) QVERIFY(tests::runKernel(row, argsOf(t, 1, again.data()), 2));
        QVERIFY(sameBits(whole, again));
      });
    };
    const auto norm = [&](int begin, int num_tokens, float* out) {
      return kernels::RmsNormArgs{.x = x.data() + begin * dim,
                                  .weight = y.data(),
                                  .rows = nullptr,
                                  .out = out + begin * dim,
                                  .num_tokens = num_tokens,
                                  .dim = dim,
                                  .epsilon = 1e-5F};
    };
    const auto swiglu = [&](int begin, int num_tokens, float* out) {
      return kernels::SwiGluArgs{.gate = x.data() + begin * dim,
                                 .up = y.data() + begin * dim,
                                 .out = out + begin * dim,
                                 .num_tokens = num_tokens,
                                 .hidden_dim = dim};
    };
    check(norm, norm(0, 1, nullptr));
    check(swiglu, swiglu(0, 1, nullptr));
  }

  void opsHaveNames() {
    std::string names;
    for (int i = 0; i < kernels::kNumOpKinds; ++i) {
      names += std::string(kernels::opKindName(static_cast<kernels::OpKind>(i))) + " ";
    }
    QCOMPARE(names, "embed rms_norm linear rope kv_append attention swiglu add sample ");
  }

 private:
  static void dims() {
    QTest::addColumn<int>("dim");
    for (const int dim : {1, 7, 8, 33, 576}) QTest::addRow("%d wide", dim) << dim;
  }

  static void everyFormat() {
    QTest::addColumn<QString>("format");
    for (const kernels::Format& f : kernels::formats()) {
      const auto name = QString::fromUtf8(f.name.data(), qsizetype(f.name.size()));
      QTest::newRow(qPrintable(name)) << name;
    }
  }
};

QTEST_GUILESS_MAIN(TestElementwise)
#include "tst_elementwise.moc"
