// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/kernel_cases.h"

#include <QTest>

#include <nlohmann/json.hpp>

#include <fstream>

using namespace inferoscope;
using kernels::AttentionArgs;
using kernels::Kernel;
using tests::AttentionCase;
using tests::AttentionShape;

namespace {

std::span<const Kernel<AttentionArgs>> rows() {
  return kernels::kernelsFor<AttentionArgs>(kernels::Device::kCpu);
}

double largestError(const std::vector<float>& got, const std::vector<double>& expected) {
  double largest = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::fabs(got[i] - expected[i]);
    if (!(error <= largest)) largest = error;  // NaN counts
  }
  return largest;
}

// The output of one row of the catalog for a case made anew.
std::vector<float> run(const Kernel<AttentionArgs>& row, const AttentionShape& shape, int num_threads) {
  AttentionCase c(shape);
  if (!tests::runKernel(row, c.args(), num_threads)) qFatal("wrote behind its scratch");
  return c.out;
}

bool sameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

class TestAttention : public QObject {
  Q_OBJECT

 private slots:
  void everyRowMatchesTheDefinition_data() {
    QTest::addColumn<int>("row");
    QTest::addColumn<AttentionShape>("shape");
    const std::vector<std::pair<const char*, AttentionShape>> shapes = {
        {"one token", {.sequences = {{1, 1}}}},
        {"whole block", {.sequences = {{16, 16}}}},
        {"part of a block", {.sequences = {{5, 21}}}},
        {"decode, several splits", {.sequences = {{1, 1300}}}},
        {"prompt, several splits", {.sequences = {{40, 1100}}, .block_size = 64}},
        {"mixed batch", {.sequences = {{1, 33}, {20, 20}, {1, 600}, {7, 40}, {1, 1}}}},
        {"a sequence without queries", {.sequences = {{0, 9}, {3, 9}, {0, 0}}}},
        {"no query at all", {.sequences = {{0, 12}}}},
        {"block of one", {.sequences = {{9, 50}}, .block_size = 1}},
        {"block of 7", {.sequences = {{9, 50}}, .block_size = 7}},
        {"block of 256", {.sequences = {{9, 300}}, .block_size = 256}},
        {"head of 4", {.sequences = {{3, 40}}, .head_dim = 4}},
        {"head of 20", {.sequences = {{3, 40}}, .head_dim = 20, .format = "f16"}},
        {"head of 64", {.sequences = {{33, 70}}, .num_heads = 9, .num_kv_heads = 3, .head_dim = 64}},
        {"head of 128", {.sequences = {{2, 70}}, .num_heads = 8, .num_kv_heads = 1, .head_dim = 128, .format = "f16"}},
        {"f16", {.sequences = {{1, 70}, {20, 50}}, .head_dim = 32, .format = "f16"}},
        {"q8_0", {.sequences = {{1, 70}, {20, 50}}, .head_dim = 64, .format = "q8_0"}},
        {"q4_1", {.sequences = {{1, 70}, {20, 50}}, .head_dim = 32, .format = "q4_1"}},
        {"one head", {.sequences = {{4, 9}}, .num_heads = 1, .num_kv_heads = 1}},
        {"group of 5", {.sequences = {{4, 9}}, .num_heads = 15, .num_kv_heads = 3}},
        {"group of 64", {.sequences = {{4, 9}}, .num_heads = 64, .num_kv_heads = 1}},
    };
    for (std::size_t i = 0; i < rows().size(); ++i) {
      for (const auto& [name, shape] : shapes) {
        QTest::addRow("%s, %s", rows()[i].id.data(), name) << static_cast<int>(i) << shape;
      }
      for (int group = 1; group <= 8; ++group) {
        QTest::addRow("%s, group of %d", rows()[i].id.data(), group)
            << static_cast<int>(i)
            << AttentionShape{.sequences = {{1, 40}, {11, 35}}, .num_heads = 2 * group, .num_kv_heads = 2};
      }
    }
  }
  void everyRowMatchesTheDefinition() {
    QFETCH(const int, row);
    QFETCH(const AttentionShape, shape);
    AttentionCase c(shape);
    const Kernel<AttentionArgs>& kernel = rows()[row];
    if (const std::string reason = kernel.supports(c.args()); !reason.empty()) QSKIP(reason.c_str());
    QVERIFY(tests::runKernel(kernel, c.args(), 2));
    QCOMPARE_LE(largestError(c.out, tests::attentionReference(c)), 5e-6);
  }

  void everyRowMatchesTheVectors() {
    std::ifstream file(INFEROSCOPE_SOURCE_DIR "/tests/data/vectors/attention.json");
    const nlohmann::json cases = nlohmann::json::parse(file).at("cases");
    QCOMPARE(cases.size(), 4U);
    for (const auto& json : cases) checkVector(json);
  }

  // A broken weight must be seen in the logits: NaN in a query makes its head's output NaN, and no other's.
  void nanIsNotLost_data() {
    QTest::addColumn<int>("row");
    QTest::addColumn<int>("kv_len");
    for (std::size_t i = 0; i < rows().size(); ++i) {
      for (const int kv_len : {1, 8, 20, 40, 600}) {
        QTest::addRow("%s, %d tokens", rows()[i].id.data(), kv_len) << static_cast<int>(i) << kv_len;
      }
    }
  }
  void nanIsNotLost() {
    QFETCH(const int, row);
    QFETCH(const int, kv_len);
    const int head_dim = 8;
    AttentionCase c({.sequences = {{1, kv_len}}, .num_heads = 4, .num_kv_heads = 2, .head_dim = head_dim});
    if (const std::string reason = rows()[row].supports(c.args()); !reason.empty()) QSKIP(reason.c_str());
    c.q[head_dim + 3] = NAN;  // of head 1
    QVERIFY(tests::runKernel(rows()[row], c.args(), 2));
    for (std::size_t i = 0; i < c.out.size(); ++i) QCOMPARE(std::isnan(c.out[i]), i / head_dim == 1);
  }

  // A query's result is the same bits whatever it is computed beside: alone or in a chunk, whatever the blocks,
  // the threads and the other sequences.
  void bitsDependOnNothingButTheQuery_data() {
    QTest::addColumn<int>("row");
    for (std::size_t i = 0; i < rows().size(); ++i) QTest::addRow("%s", rows()[i].id.data()) << static_cast<int>(i);
  }
  void bitsDependOnNothingButTheQuery() {
    QFETCH(const int, row);
    const Kernel<AttentionArgs>& kernel = rows()[row];
    AttentionShape shape = {.sequences = {{150, 1100}}, .num_heads = 6, .num_kv_heads = 2, .format = "f16"};
    {
      AttentionCase c(shape);
      if (const std::string reason = kernel.supports(c.args()); !reason.empty()) QSKIP(reason.c_str());
    }
    const std::vector<float> whole = run(kernel, shape, 2);
    const std::size_t token = std::size_t{1} * shape.num_heads * shape.head_dim;

    for (const int num_threads : {1, 3, 64}) QVERIFY(sameBits(run(kernel, shape, num_threads), whole));
    for (const int block_size : {1, 8, 64, 1100}) {
      AttentionShape cut = shape;
      cut.block_size = block_size;
      QVERIFY(sameBits(run(kernel, cut, 2), whole));
    }
    for (const int q_len : {1, 2, 17, 149}) {  // a chunk that ends at the same token
      AttentionShape chunk = shape;
      chunk.sequences[0].q_len = q_len;
      QVERIFY(sameBits(run(kernel, chunk, 2), std::span(whole).last(token * q_len)));
    }
    for (const int behind : {1, 40, 149}) {  // a query that is the last one, when here others follow it
      AttentionShape alone = shape;
      alone.sequences[0] = {.q_len = 1, .kv_len = 1100 - behind};
      QVERIFY(sameBits(run(kernel, alone, 2), std::span(whole).subspan(token * (149 - behind), token)));
    }
    AttentionShape company = shape;
    company.sequences.push_back({.q_len = 1, .kv_len = 77});
    company.sequences.push_back({.q_len = 60, .kv_len = 60});
    QVERIFY(sameBits(std::span<const float>(run(kernel, company, 2)).first(whole.size()), whole));
  }

  void naiveCountsItsScores() {
    AttentionCase c({.sequences = {{3, 10}, {1, 5}}, .num_heads = 4, .num_kv_heads = 2, .head_dim = 16});
    const kernels::OpCost flash = tests::findKernel<AttentionArgs>("attention.flash")->cost(c.args());
    const kernels::OpCost naive = tests::findKernel<AttentionArgs>("attention.naive")->cost(c.args());
    const int num_visible = (8 + 9 + 10) + 5;
    QCOMPARE(flash.flops, 4U * 4 * 16 * num_visible);
    QCOMPARE(flash.kv_read, 2U * 2 * 16 * 4 * (10 + 5));
    QCOMPARE(flash.activations, 2U * 4 * 4 * 16 * 4);
    QCOMPARE(flash.scores, 0U);
    QCOMPARE(naive.scores, 4U * 4 * (3 * 10 + 1 * 5) * 4);
    QCOMPARE(naive.flops, flash.flops);
  }

  void refusesWhatItCannotDo() {
    AttentionCase uneven({.sequences = {{1, 4}}, .num_heads = 5, .num_kv_heads = 2});
    AttentionArgs odd = AttentionCase({.sequences = {{1, 4}}, .head_dim = 20}).args();
    odd.kv.format = kernels::findFormat("q8_0")->id;
    for (const auto& kernel : rows()) {
      QVERIFY(!kernel.supports(uneven.args()).empty());
      QVERIFY(!kernel.supports(odd).empty());
    }
  }

 private:
  // Fills a cache of block size 2 from the vector's keys and values. Its masks are causal, or hide all but the last
  // key, which is a cache of that key alone.
  static void checkVector(const nlohmann::json& json) {
    const int num_queries = static_cast<int>(json.at("q").size());
    const int num_visible_last =
        json.at("visible").back().get<std::vector<int>>().front() == 1 ? static_cast<int>(json.at("k").size()) : 1;
    const auto first = json.at("k").size() - static_cast<std::size_t>(num_visible_last);
    AttentionCase c({.sequences = {{num_queries, num_visible_last}},
                     .num_heads = json.at("n_head"),
                     .num_kv_heads = json.at("n_head_kv"),
                     .head_dim = json.at("head_dim"),
                     .block_size = 2});
    const kernels::PagedKvView kv = c.kv();
    for (int p = 0; p < num_visible_last; ++p) {
      for (int head = 0; head < kv.num_kv_heads; ++head) {
        const auto key = json.at("k")[first + p].get<std::vector<float>>();
        const auto value = json.at("v")[first + p].get<std::vector<float>>();
        const std::int64_t offset = kernels::kvOffsetOf(kv, 0, p, head);
        c.format.encode(key.data() + head * kv.head_dim, kv.keys + offset, kv.head_dim);
        c.format.encode(value.data() + head * kv.head_dim, kv.values + offset, kv.head_dim);
      }
    }
    c.q.clear();
    std::vector<double> expected;
    for (int i = 0; i < num_queries; ++i) {
      for (const float x : json.at("q")[i].get<std::vector<float>>()) c.q.push_back(x);
      for (const double x : json.at("out")[i].get<std::vector<double>>()) expected.push_back(x);
    }
    for (const auto& kernel : rows()) {
      if (!kernel.supports(c.args()).empty()) continue;
      QVERIFY(tests::runKernel(kernel, c.args(), 1));
      QVERIFY2(largestError(c.out, expected) <= 1e-5, json.at("what").get<std::string>().c_str());
    }
  }
};

QTEST_GUILESS_MAIN(TestAttention)
#include "tst_attention.moc"
