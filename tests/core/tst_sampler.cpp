// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/sampler.h"

#include <nlohmann/json.hpp>

#include <QTest>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <set>

using namespace inferoscope::core;
using nlohmann::json;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

SamplingParams paramsOf(const json& given) {
  SamplingParams params;
  params.temperature = given.value("temperature", 0.0F);
  params.top_p = given.value("top_p", 1.0F);
  params.repeat_penalty = given.value("repeat_penalty", 1.0F);
  params.repeat_last_n = given.value("repeat_last_n", 64);
  params.seed = given.value("seed", std::uint64_t{0});
  return params;
}

SamplingParams warm(float temperature, std::uint64_t seed = 1) {
  SamplingParams params;
  params.temperature = temperature;
  params.seed = seed;
  return params;
}

}  // namespace

class TestSampler : public QObject {
  Q_OBJECT

 private slots:
  void vectors_data() {
    QTest::addColumn<QString>("text");
    std::ifstream file(INFEROSCOPE_SOURCE_DIR "/tests/data/vectors/sampler.json");
    const json vectors = json::parse(file);
    QVERIFY(vectors.at("cases").size() >= 7);
    for (const json& one : vectors.at("cases")) {
      QTest::newRow(one.at("what").get<std::string>().c_str()) << QString::fromStdString(one.dump());
    }
  }

  void vectors() {
    QFETCH(QString, text);
    const json one = json::parse(text.toStdString());
    std::vector<float> logits = one.at("logits").get<std::vector<float>>();
    const SamplingParams params = paramsOf(one.at("params"));
    const auto history = one.at("params").value("history", std::vector<TokenId>{});
    const json& expect = one.at("expect");
    if (expect.contains("token")) {
      Sampler sampler;
      const auto result = sampler.sample(logits, static_cast<int>(logits.size()), params, history, 0);
      QCOMPARE(result.error, std::string());
      QCOMPARE(result.token, expect.at("token").get<TokenId>());
    }
    if (expect.contains("kept")) {
      Candidates candidates = Sampler::filter(logits, params);
      if (expect.contains("probs")) {
        const auto probs = expect.at("probs").get<std::vector<double>>();
        for (std::size_t i = 0; i < probs.size(); ++i) QVERIFY(std::abs(candidates.probs[i] - probs[i]) < 1e-6);
      }
      std::ranges::sort(candidates.ids);
      QCOMPARE(candidates.ids, expect.at("kept").get<std::vector<TokenId>>());
    }
    if (expect.contains("adjusted")) {
      Sampler::adjust(logits, params, history);
      QCOMPARE(logits, expect.at("adjusted").get<std::vector<float>>());
    }
  }

  void greedyTakesTheLowestIdOnATie() {
    const std::vector<float> logits = {1, 5, 5, 2};
    QCOMPARE(Sampler().sample(logits, 4, {}, {}, 0).token, 1);
  }

  void nonFiniteLogitsAreAnError_data() {
    QTest::addColumn<float>("bad");
    QTest::addColumn<float>("temperature");
    QTest::newRow("NaN, greedy") << kNan << 0.0F;
    QTest::newRow("NaN, random") << kNan << 1.0F;
    QTest::newRow("infinity, greedy") << kInf << 0.0F;
    QTest::newRow("infinity, random") << kInf << 1.0F;
  }

  void nonFiniteLogitsAreAnError() {
    QFETCH(float, bad);
    QFETCH(float, temperature);
    const std::vector<float> logits = {1, bad, 2};
    const auto result = Sampler().sample(logits, 3, warm(temperature), {}, 0);
    QCOMPARE(result.token, -1);
    QVERIFY(result.error.find("non-finite") != std::string::npos);
  }

  void bannedIdsAreNeverDrawn() {
    const std::vector<float> logits = {-kInf, 1, -kInf, 1};
    for (int position = 0; position < 200; ++position) {
      const TokenId token = Sampler().sample(logits, 4, warm(2), {}, position).token;
      QVERIFY(token == 1 || token == 3);
    }
    const std::vector<float> all_banned = {-kInf, -kInf};
    QVERIFY(!Sampler().sample(all_banned, 2, warm(1), {}, 0).error.empty());
  }

  void idsBeyondTheTokenizerAreNeverSampled() {
    const std::vector<float> logits = {0, 1, 9, 9};
    QCOMPARE(Sampler().sample(logits, 2, {}, {}, 0).token, 1);
    for (int position = 0; position < 100; ++position)
      QVERIFY(Sampler().sample(logits, 2, warm(5), {}, position).token < 2);
  }

  void biasForcesAToken() {
    SamplingParams params;
    params.logit_bias = {{2, 100.0F}, {99, 100.0F}};
    const std::vector<float> logits = {5, 4, -3};
    QCOMPARE(Sampler().sample(logits, 3, params, {}, 0).token, 2);
  }

  void topKAndMinPCut() {
    SamplingParams params = warm(1);
    params.top_k = 2;
    const std::vector<float> logits = {0, 3, 2, 1};
    QCOMPARE(Sampler::filter(logits, params).ids, (std::vector<TokenId>{1, 2}));
    params.top_k = 0;
    params.min_p = 0.5F;  // exp(-1) = 0.37 of the best is below
    QCOMPARE(Sampler::filter(logits, params).ids, (std::vector<TokenId>{1}));
  }

  // Only as much of a large vocabulary is ranked as is looked at: the result is that of ranking all of it.
  void aLargeVocabularyIsRankedRight_data() {
    QTest::addColumn<float>("temperature");
    QTest::addColumn<float>("top_p");
    QTest::newRow("a few ids") << 0.5F << 0.9F;
    QTest::newRow("some hundreds") << 2.0F << 0.9F;
    QTest::newRow("nearly all") << 50.0F << 0.95F;
    QTest::newRow("all") << 50.0F << 1.0F;
  }
  void aLargeVocabularyIsRankedRight() {
    QFETCH(float, temperature);
    QFETCH(float, top_p);
    std::vector<float> logits(5000);
    for (std::size_t i = 0; i < logits.size(); ++i)
      logits[i] = static_cast<float>(i * 7919 % 4000) * 0.01F;  // with ties
    SamplingParams params = warm(temperature);
    params.top_p = top_p;

    std::vector<TokenId> ids(logits.size());
    std::iota(ids.begin(), ids.end(), 0);
    std::ranges::stable_sort(ids,
                             [&](TokenId a, TokenId b) { return logits[std::size_t(a)] > logits[std::size_t(b)]; });
    double total = 0, sum = 0;
    for (const float logit : logits) total += std::exp(double(logit) / temperature);
    std::size_t kept = 0;
    while (kept < ids.size() && sum < double(top_p))
      sum += std::exp(double(logits[std::size_t(ids[kept++])]) / temperature) / total;

    const Candidates candidates = Sampler::filter(logits, params);
    QVERIFY(std::abs(int(candidates.ids.size()) - int(kept)) <= 1);  // sums in another order
    ids.resize(candidates.ids.size());
    QCOMPARE(candidates.ids, ids);
    QVERIFY(std::abs(std::accumulate(candidates.probs.begin(), candidates.probs.end(), 0.0) - 1) < 1e-5);
    const std::set<TokenId> allowed(ids.begin(), ids.end());
    for (int position = 0; position < 50; ++position) {
      QVERIFY(allowed.contains(Sampler().sample(logits, 5000, params, {}, position).token));
    }
  }

  // The same draw whatever happens around it; another one at another position or seed.
  void drawsDependOnSeedAndPositionAlone() {
    const std::vector<float> logits(64, 0.0F);
    Sampler used;
    for (int position = 0; position < 50; ++position) (void)used.sample(logits, 64, warm(1, 99), {}, position);
    int repeats = 0;
    for (int position = 0; position < 50; ++position) {
      const TokenId token = Sampler().sample(logits, 64, warm(1, 7), {}, position).token;
      QCOMPARE(used.sample(logits, 64, warm(1, 7), {}, position).token, token);
      repeats += token == Sampler().sample(logits, 64, warm(1, 8), {}, position).token;
    }
    QVERIFY(repeats < 10);
  }

  void drawsFollowTheProbabilities() {
    const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.2F)};
    std::map<TokenId, int> counts;
    constexpr int kDraws = 20000;
    for (int position = 0; position < kDraws; ++position)
      ++counts[Sampler().sample(logits, 3, warm(1), {}, position).token];
    QVERIFY(std::abs(counts[0] - 0.5 * kDraws) < 0.02 * kDraws);
    QVERIFY(std::abs(counts[1] - 0.3 * kDraws) < 0.02 * kDraws);
    QVERIFY(std::abs(counts[2] - 0.2 * kDraws) < 0.02 * kDraws);
  }
};

QTEST_GUILESS_MAIN(TestSampler)
#include "tst_sampler.moc"
