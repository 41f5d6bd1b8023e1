// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/weight_variants.h"

#include "core/error.h"
#include "core/model/variant_job.h"
#include "kernels/interleave.h"
#include "tests/support/errors.h"
#include "tests/support/host_backend.h"
#include "tests/support/kernel_cases.h"

#include <QTest>

#include <atomic>
#include <chrono>
#include <semaphore>
#include <thread>

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
    const std::int64_t kept_bytes = variants.keptBytes();
    const std::string refusal = tests::errorOf([&] { variants.get("f32", backend, {}, {}); });
    QVERIFY2(refusal.starts_with("weights: f32 takes ") && refusal.ends_with("choose fewer bits"), refusal.c_str());
    QCOMPARE(variants.keptBytes(), kept_bytes);  // what can't be kept drives nothing out
    variants.get("f16", backend, {}, {});
    QVERIFY(variants.find("q4_1") == used);
    QVERIFY(!variants.find("q8_0") && !variants.find("q5_0"));
    QVERIFY(variants.keptBytes() <= 2 * q8_bytes + q8_bytes / 2);
  }

  // A matrix is copied where it is in the format already; where all are, so is the model, and nothing is made.
  void whatIsInTheFormatIsNotMadeAgain() {
    tests::HostBackend backend;
    const auto source = loadModel("synthetic:tiny:q8_0", backend, {}, {});
    WeightVariants variants(source, 0);
    const std::size_t before = backend.heldBytes();
    const auto same = variants.get("q8_0", backend, {}, {});
    QCOMPARE(backend.heldBytes(), before);
    QCOMPARE(same->weights, std::string("q8_0"));
    QVERIFY(same->layers[0].attn_q.data == source->layers[0].attn_q.data);
    QCOMPARE(same->notices, source->notices);
    QCOMPARE(variantBytes(*source, "q8_0"), 0);

    const auto again = makeVariant(*source, *kernels::findFormat("q8_0"), backend, {}, {});
    QVERIFY(rowOf(again->layers[1].ffn_up, 3) == rowOf(source->layers[1].ffn_up, 3));
  }

  void isDescribedWithoutBeingMade() {
    tests::HostBackend backend;
    const auto made = loadModelAs("synthetic:tiny", "q4_0", backend, {}, {});
    const auto described = describeAs(describeModel("synthetic:tiny"), "q4_0");
    QCOMPARE(described->weight_bytes, made->weight_bytes);
    QCOMPARE(described->format_bytes, made->format_bytes);
    QCOMPARE(described->notices, made->notices);
    QVERIFY(described->layers[0].ffn_up.data == nullptr);
    QCOMPARE(described->layers[0].ffn_up.format, made->layers[0].ffn_up.format);
    QCOMPARE(variantBytes(*describeModel("synthetic:tiny"), "q4_0"), made->weight_bytes);
    QCOMPARE(made->notices.back(), std::string("weights as q4_0 are made of the stored f16: no more exact than that"));
  }

  // On a thread of its own; to let go of it is to cancel it.
  void areMadeInTheBackground() {
    const auto cpu = makeCpuBackend(1);
    const auto source = loadModel("synthetic:tiny", *cpu, {}, {});
    std::atomic<int> num_told = 0;
    std::binary_semaphore end{0};
    VariantJob job(
        source, "q8_0", "cpu", [&](std::string_view, double) { ++num_told; }, [&] { end.release(); });
    end.acquire();
    QVERIFY(job.ended() && num_told > 0);
    const auto made = job.take();
    const auto expected = makeVariant(*source, *kernels::findFormat("q8_0"), *cpu, {}, {});
    QVERIFY(rowOf(made->layers[0].ffn_down, 5) == rowOf(expected->layers[0].ffn_down, 5));
  }

  void aJobThatIsLetGoEnds() {
    const auto cpu = makeCpuBackend(1);
    const auto source = loadModel("synthetic:tiny", *cpu, {}, {});
    std::binary_semaphore begun{0};
    std::atomic<int> num_told = 0;
    int num_ends = 0;
    {
      VariantJob job(
          source, "q8_0", "cpu",
          [&](std::string_view, double) {
            if (++num_told == 1) begun.release();
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
          },
          [&] { ++num_ends; });
      begun.acquire();
    }
    QCOMPARE(num_ends, 1);
    const int all = 2 * 9 + 2 + 1;  // weights of two layers, norms and embedding
    QVERIFY2(num_told < all, qPrintable(QString::number(num_told)));
  }

  void aFailedJobSaysWhy() {
    const auto cpu = makeCpuBackend(1);
    std::binary_semaphore end{0};
    VariantJob job(loadModel("synthetic:tiny", *cpu, {}, {}), "q8_0", "cuda:banana", {}, [&] { end.release(); });
    end.acquire();
    QVERIFY_EXCEPTION_THROWN(job.take(), Error);
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
