// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/weight_variants.h"

#include "core/error.h"
#include "kernels/interleave.h"
#include "tests/support/host_backend.h"
#include "tests/support/kernel_cases.h"

#include <QTest>

using namespace inferoscope;
using namespace inferoscope::core;

namespace {

std::vector<std::byte> rowOf(const kernels::WeightMatrix& w, int row) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(kernels::storedBytes(kernels::formatOf(w.format), w.num_cols)));
  kernels::copyRow(w, row, bytes.data());
  return bytes;
}

}  // namespace

class TestWeightVariants : public QObject {
  Q_OBJECT

 private slots:
  // On a device that lays rows out as stored and on one that interleaves them.
  void rowsAreEncodedFromWhatIsStored_data() {
    QTest::addColumn<QString>("weights");
    for (const char* weights : {"f32", "f16", "q8_0", "q4_0", "q4_k"}) QTest::newRow(weights) << weights;
  }
  void rowsAreEncodedFromWhatIsStored() {
    QFETCH(const QString, weights);
    tests::HostBackend host;
    const auto cpu = makeCpuBackend(2);
    for (Backend* backend : {static_cast<Backend*>(&host), cpu.get()}) {
      const auto source = loadModel("synthetic:tiny-qwen2:q4_1", *backend, {}, {});
      const kernels::Format& format = *kernels::findFormat(weights.toStdString());
      const auto variant = makeVariant(*source, format, *backend, {}, {});
      for (int layer = 0; layer < 2; ++layer) {
        const kernels::WeightMatrix& from = source->layers[layer].ffn_down;
        const kernels::WeightMatrix& to = variant->layers[layer].ffn_down;
        for (int row = 0; row < from.num_rows; ++row) {
          const std::vector<float> values = tests::decoded(kernels::formatOf(from.format), rowOf(from, row));
          QVERIFY(rowOf(to, row) == tests::encoded(kernels::formatOf(to.format), values));
        }
      }
      QVERIFY(std::equal(source->output_norm, source->output_norm + 64, variant->output_norm));
      QVERIFY(variant->output_norm != source->output_norm);
      QVERIFY(variant->output.data == variant->token_embedding.data);
      QVERIFY(variant->memory.at(0) != source->memory.at(0));
      QCOMPARE(variant->format_bytes.contains("q4_k"), false);  // its rows of 64 and 192 hold none
      QVERIFY(std::ranges::any_of(variant->notices, [](const auto& n) { return n.starts_with("weights as "); }));
    }
  }

  void eachIsMadeOnce() {
    tests::HostBackend backend;
    WeightVariants variants(loadModel("synthetic:tiny", backend, {}, {}), 1 << 30);
    const auto first = variants.get("q8_0", backend, {}, {});
    QVERIFY(variants.get("q8_0", backend, {}, {}) == first);
    QVERIFY(variants.get("as-stored", backend, {}, {})->format_bytes.contains("f16"));
    QCOMPARE(variants.keptBytes(), first->weight_bytes);
  }

  // Room for two: the one used longest ago goes, unless it is in use.
  void keepsToTheBudget() {
    tests::HostBackend backend;
    const auto source = loadModel("synthetic:tiny:q4_0", backend, {}, {});
    const std::int64_t q8_bytes = makeVariant(*source, *kernels::findFormat("q8_0"), backend, {}, {})->weight_bytes;
    WeightVariants variants(source, 2 * q8_bytes + q8_bytes / 2);
    const std::size_t source_bytes = backend.heldBytes();
    variants.get("q8_0", backend, {}, {});
    variants.get("q4_1", backend, {}, {});
    variants.get("q8_0", backend, {}, {});
    variants.get("q5_0", backend, {}, {});
    QVERIFY(backend.heldBytes() - source_bytes > std::size_t(2 * q8_bytes));  // all three fit
    auto used = variants.get("q4_1", backend, {}, {});
    variants.get("f32", backend, {}, {});  // more than the budget by itself
    QVERIFY(variants.keptBytes() >= used->weight_bytes);
    QVERIFY(variants.get("q4_1", backend, {}, {}) == used);
  }

  void stopsAndLeavesNothing() {
    tests::HostBackend backend;
    const auto source = loadModel("synthetic:tiny", backend, {}, {});
    const std::size_t before = backend.heldBytes();
    WeightVariants variants(source, 1 << 30);
    std::stop_source stop;
    const LoadProgress stopHalfway = [&](std::string_view, double fraction) {
      if (fraction > 0.5) stop.request_stop();
    };
    QVERIFY_EXCEPTION_THROWN(variants.get("q8_0", backend, stopHalfway, stop.get_token()), Cancelled);
    QCOMPARE(backend.heldBytes(), before);
    QCOMPARE(variants.keptBytes(), 0);
    QVERIFY_EXCEPTION_THROWN(variants.get("q9", backend, {}, {}), Error);
  }
};

QTEST_GUILESS_MAIN(TestWeightVariants)
#include "tst_weight_variants.moc"
