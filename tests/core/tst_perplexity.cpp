// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/perplexity.h"
#include "core/model/weight_variants.h"
#include "tests/support/data.h"
#include "tests/support/engines.h"
#include "tests/support/reference_model.h"

#include <QTest>

#include <cmath>

using namespace inferoscope;
using namespace inferoscope::core;
using namespace inferoscope::tests;

namespace {

// "BOS? length first_row", a window a line.
QString shown(const std::vector<TextWindow>& windows) {
  QString text;
  for (const TextWindow& window : windows)
    text += QString("%1 of %2 from %3, ").arg(window.tokens.front()).arg(window.tokens.size()).arg(window.first_row);
  return text;
}

std::vector<TokenId> counting(int count) {
  std::vector<TokenId> ids;
  for (int i = 0; i < count; ++i) ids.push_back(i);
  return ids;
}

LaneSource laneOf(const std::string& source, const EngineOptions& options) {
  LaneSource lane{.model = {}, .backend = makeCpuBackend(1), .options = options};
  lane.model = loadOn(*lane.backend, source);
  return lane;
}

// exp of the mean negative log-likelihood of a window's scored rows, the slow way.
double expectedPerplexity(const ReferenceModel& reference, const std::vector<TextWindow>& windows) {
  double sum = 0;
  int count = 0;
  for (const TextWindow& window : windows) {
    for (std::size_t row = static_cast<std::size_t>(window.first_row); row + 1 < window.tokens.size(); ++row) {
      const Vector logits = reference.logits({window.tokens.begin(), window.tokens.begin() + row + 1});
      double total = 0;
      for (const double logit : logits) total += std::exp(logit);
      sum += std::log(total) - logits[static_cast<std::size_t>(window.tokens[row + 1])];
      ++count;
    }
  }
  return std::exp(sum / count);
}

}  // namespace

class TestPerplexity : public QObject {
  Q_OBJECT

 private slots:
  // First token, length and first scored row of each window.
  void windows_data() {
    QTest::addColumn<int>("num_tokens");
    QTest::addColumn<bool>("with_bos");
    QTest::addColumn<QString>("windows");
    QTest::newRow("nothing") << 0 << false << "";
    QTest::newRow("one token") << 1 << false << "";
    QTest::newRow("one token behind a BOS") << 1 << true << "99 of 2 from 0, ";
    QTest::newRow("fits") << 8 << false << "0 of 8 from 0, ";
    QTest::newRow("a rest too short") << 13 << false << "0 of 8 from 4, ";
    QTest::newRow("a rest") << 14 << false << "0 of 8 from 4, 8 of 6 from 4, ";
    QTest::newRow("two") << 16 << false << "0 of 8 from 4, 8 of 8 from 4, ";
    QTest::newRow("two behind a BOS") << 14 << true << "99 of 8 from 4, 99 of 8 from 4, ";
  }

  void windows() {
    QFETCH(int, num_tokens);
    QFETCH(bool, with_bos);
    const auto windows = windowsOf(counting(num_tokens), with_bos ? std::optional<TokenId>(99) : std::nullopt, 8);
    QTEST(shown(windows), "windows");
  }

  void ofADoublePrecisionReference() {
    const std::string path = dataPath("architectures/qwen3.gguf");
    const auto lane = laneOf(path, with({{"kv-format", "f32"}, {"threads", "1"}}));
    const auto windows = windowsOf(someIds(150, 4, 28), std::nullopt, 100);
    const Perplexity result = measurePerplexity(lane, std::nullopt, windows, {}, {});
    QCOMPARE(result.num_tokens, std::int64_t{49});
    QVERIFY(!result.vs);
    const double expected = expectedPerplexity(ReferenceModel(path), windows);
    QVERIFY2(std::abs(result.perplexity / expected - 1) < 1e-4, qPrintable(QString::number(result.perplexity)));
  }

  // The same setting twice is at no distance at all; fewer bits of the weights are farther.
  void weightsAgainstThemselvesAreNoDistance() {
    const auto windows = windowsOf(someIds(120, 5), std::nullopt, 120);
    const auto lane = laneOf("synthetic:tiny", with({{"threads", "1"}}));
    const auto laneAs = [&](const char* weights) {
      LaneSource other = lane;
      other.options = with({{"weights", weights}}, lane.options);
      other.model = makeWeights(lane.model, weights, *lane.backend, {}, {});
      other.backend = makeCpuBackend(1);
      return other;
    };
    for (const char* weights : {"as-stored", "f32", "f16", "q8_0", "q4_0"}) {
      const LaneSource one = laneAs(weights);
      const Perplexity result = measurePerplexity(one, laneAs(weights), windows, {}, {});
      QCOMPARE(result.vs->kl_mean, 0.0);
      QCOMPARE(result.vs->kl_p99, 0.0);
      QCOMPARE(result.vs->top1_agreement, 1.0);
      QCOMPARE(result.vs->perplexity, result.perplexity);
    }
    const double q8_0 = measurePerplexity(lane, laneAs("q8_0"), windows, {}, {}).vs->kl_mean;
    const double q4_0 = measurePerplexity(lane, laneAs("q4_0"), windows, {}, {}).vs->kl_mean;
    QVERIFY2(0 < q8_0 && 10 * q8_0 < q4_0, qPrintable(QString("%1 %2").arg(q8_0).arg(q4_0)));
  }

  void fartherWithFewerBits() {
    const std::string path = dataPath("valid/valid_hd32_mqa.gguf");
    const auto windows = windowsOf(someIds(120, 5), std::nullopt, 120);
    const auto lane = laneOf(path, with({{"kv-format", "f32"}, {"threads", "1"}}));
    double last = -1;
    for (const char* format : {"f32", "f16", "q8_0"}) {
      for (const char* attention : {"flash", "naive"}) {
        LaneSource vs = lane;
        vs.options = with({{"kv-format", format}, {"attention", attention}}, lane.options);
        const Perplexity result = measurePerplexity(lane, vs, windows, {}, {});
        const bool is_same = vs.options == lane.options;
        QCOMPARE(result.vs->kl_mean == 0, is_same);
        QVERIFY(result.vs->kl_mean < 0.05 && result.vs->kl_p99 >= result.vs->kl_mean);
        QVERIFY(result.vs->top1_agreement > 0.9);
        if (std::string_view(attention) == "flash") {
          QVERIFY(result.vs->kl_mean > last);
          last = result.vs->kl_mean;
        }
      }
    }
  }

  // A model that computes no numbers agrees with nothing, itself included.
  void logitsThatAreNoNumbersGiveNoFigures() {
    LaneSource lane = laneOf(INFEROSCOPE_SOURCE_DIR "/tests/data/cases/f01_weight_nan.gguf", {});
    const std::vector<TextWindow> windows = windowsOf("some words to read", *lane.model);
    const Perplexity result = measurePerplexity(lane, lane, windows, {}, {});
    QVERIFY(std::isnan(result.perplexity) && std::isnan(result.vs->perplexity));
    QVERIFY(std::isnan(result.vs->kl_mean) && std::isnan(result.vs->kl_p99) && std::isnan(result.vs->top1_agreement));
  }
};

QTEST_GUILESS_MAIN(TestPerplexity)
#include "tst_perplexity.moc"
