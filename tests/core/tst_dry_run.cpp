// SPDX-License-Identifier: GPL-3.0-or-later
// A dry run gives the ops and costs that a real one records, without computing.
#include "core/run/dry_run.h"
#include "core/run/forward.h"
#include "tests/support/engines.h"

#include <fmt/format.h>

#include <QTest>

using namespace inferoscope;
using namespace inferoscope::core;
using namespace inferoscope::tests;

namespace {

std::string described(const OpRecord& op) {
  const kernels::OpCost& cost = op.cost;
  return fmt::format("{} {} {} {} tokens: {} flops, {} int8, {} {} {} {} {} bytes, scratch {}", op.layer, op.name,
                     op.kernel, op.num_tokens, cost.flops, cost.int8_ops, cost.weights, cost.kv_read, cost.kv_write,
                     cost.activations, cost.scores, op.scratch_bytes);
}

}  // namespace

class TestDryRun : public QObject {
  Q_OBJECT

 private slots:
  void costsWhatTheEngineRecords_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("attention");
    QTest::addColumn<QString>("linear");
    QTest::addColumn<QString>("kv_format");
    QTest::newRow("defaults") << "synthetic:tiny"
                              << "flash"
                              << "simd"
                              << "f16";
    QTest::newRow("q8_0") << "synthetic:tiny:q8_0"
                          << "flash"
                          << "simd"
                          << "f16";
    QTest::newRow("naive") << "synthetic:tiny:q4_0"
                           << "naive"
                           << "naive"
                           << "f32";
  }

  // Two prompts of 40 tokens, prefilled together, then decoded.
  void costsWhatTheEngineRecords() {
    QFETCH(QString, source);
    QFETCH(QString, attention);
    QFETCH(QString, linear);
    QFETCH(QString, kv_format);
    const EngineOptions options = with({{"attention", attention.toStdString()},
                                        {"linear", linear.toStdString()},
                                        {"kv-format", kv_format.toStdString()},
                                        {"threads", "1"},
                                        {"prefix-cache", "off"}});
    const std::shared_ptr<Backend> backend = makeCpuBackend(1);
    Engine engine(loadOn(*backend, source.toStdString()), backend, options);
    engine.submit(ask(someIds(40, 1), 8));
    engine.submit(ask(someIds(40, 2), 8));
    const auto model = describeModel(source.toStdString());
    int kv_len = 0;
    for (const int num_tokens : {40, 1, 1}) {
      const auto step = engine.step({});
      const std::vector<OpRecord> dry = dryRun(*model, uniformBatch(2, num_tokens, kv_len), options);
      QCOMPARE(dry.size(), step->ops.size());
      for (std::size_t i = 0; i < dry.size(); ++i) QCOMPARE(described(dry[i]), described(step->ops[i]));
      kv_len += num_tokens;
    }
  }

  // 8 billion parameters and a cache of a million tokens, on any machine.
  void needsNoMemory() {
    const auto model = describeModel("synthetic:llama-3.1-8b:q8_0");
    const std::vector<OpRecord> ops = dryRun(*model, uniformBatch(8, 1, 131'000), {});
    QCOMPARE(ops.size(), static_cast<std::size_t>(numOps(model->config)));
    kernels::OpCost sum;
    for (const OpRecord& op : ops) sum += op.cost;
    const auto embedding = static_cast<std::uint64_t>(kernels::matrixBytes(model->token_embedding));
    QCOMPARE(sum.weights, static_cast<std::uint64_t>(model->weight_bytes) - embedding + 8 * (embedding / 128256));
    QCOMPARE(sum.kv_read, std::uint64_t{8} * 131'001 * 32 * 2 * 8 * 128 * 2);
  }

  void batchesWithoutLogitsHaveNoOutput() {
    const auto model = describeModel("synthetic:tiny");
    QCOMPARE(dryRun(*model, uniformBatch(1, 16, 0, false), {}).back().name, std::string_view("ffn_add"));
  }
};

QTEST_GUILESS_MAIN(TestDryRun)
#include "tst_dry_run.moc"
