// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/random.h"
#include "core/engine/workload.h"
#include "core/error.h"
#include "core/model/model_store.h"
#include "tests/support/errors.h"

#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <fstream>
#include <map>
#include <set>

using namespace inferoscope;
using namespace inferoscope::core;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::shared_ptr<const Model> tiny() {
  return describeModel("synthetic:tiny");
}

// Prompts of random ids, `rate` of them a second.
Scenario open(ArrivalKind kind, double rate) {
  Scenario scenario;
  scenario.id = "test";
  scenario.arrivals.kind = kind;
  scenario.arrivals.requests_per_s = rate;
  scenario.prompt_tokens = {.kind = LengthKind::kUniform, .min = 3, .max = 9};
  scenario.output_tokens = {.kind = LengthKind::kLognormal, .mean = 20, .sigma = 0.5, .min = 10, .max = 40};
  return scenario;
}

Scenario closed(int users) {
  Scenario scenario = open(ArrivalKind::kClosedLoop, 1);
  scenario.arrivals.concurrency = users;
  return scenario;
}

// Times of the first `count` arrivals, in seconds.
std::vector<double> arrivalTimes(Workload workload, int count) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const std::int64_t due = workload.nextArrival().value();
    times.push_back(double(due) / kSecond);
    if (!workload.take(due)) return times;
  }
  return times;
}

// Deviation over mean of the gaps between arrivals.
double variation(const std::vector<double>& times) {
  const double mean = (times.back() - times.front()) / double(times.size() - 1);
  double squares = 0;
  for (std::size_t i = 1; i < times.size(); ++i) squares += std::pow(times[i] - times[i - 1] - mean, 2);
  return std::sqrt(squares / double(times.size() - 1)) / mean;
}

std::vector<std::string> promptTexts(const Scenario& scenario, int count) {
  const auto model = tiny();
  Workload workload(scenario, model);
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) {
    texts.push_back(model->tokenizer->decode(workload.take(0)->prompt));
    workload.answered(0);
  }
  return texts;
}

QString refusalOf(const std::string& json) {
  const QTemporaryDir folder;
  const std::string file = folder.filePath("s.json").toStdString();
  std::ofstream(file) << json;
  return QString::fromStdString(tests::errorOf([&] { loadScenario(file); })).remove(folder.path() + "/");
}

}  // namespace

class TestWorkload : public QObject {
  Q_OBJECT

 private slots:
  void theSameSeedGivesTheSameRequests() {
    Workload a(open(ArrivalKind::kPoisson, 5), tiny());
    Workload b(open(ArrivalKind::kPoisson, 5), tiny());
    Scenario other = open(ArrivalKind::kPoisson, 5);
    other.seed = 2;
    Workload c(other, tiny());
    bool differs = false;
    for (int i = 0; i < 20; ++i) {
      const std::int64_t due = a.nextArrival().value();
      QCOMPARE(b.nextArrival().value(), due);
      const Request x = a.take(due).value();
      const Request y = b.take(due).value();
      QCOMPARE(x.prompt, y.prompt);
      QCOMPARE(x.max_new_tokens, y.max_new_tokens);
      QCOMPARE(x.sampling.seed, y.sampling.seed);
      QCOMPARE(x.label, y.label);
      differs |= c.take(c.nextArrival().value())->prompt != x.prompt;
    }
    QVERIFY(differs);
  }

  // Request 7 is the same whoever was answered first.
  void theOrderOfAnswersChangesNothingButTimes() {
    Workload quick(closed(3), tiny());
    Workload slow(closed(3), tiny());
    std::vector<Request> a, b;
    for (int i = 0; i < 9; ++i) {
      a.push_back(quick.take(0).value());
      quick.answered(0);
    }
    for (int i = 0; i < 3; ++i) b.push_back(slow.take(0).value());
    for (int i = 0; i < 6; ++i) {
      slow.answered((6 - i) * kSecond);
      b.push_back(slow.take(100 * kSecond).value());
    }
    for (std::size_t i = 0; i < a.size(); ++i) QCOMPARE(a[i].prompt, b[i].prompt);
  }

  void aClosedLoopWaitsForAnswers() {
    Scenario scenario = closed(2);
    scenario.arrivals.think_time_s = 3;
    Workload workload(scenario, tiny(), 10 * kSecond);
    QCOMPARE(workload.nextArrival().value(), 10 * kSecond);
    QVERIFY(!workload.take(10 * kSecond - 1));
    QVERIFY(workload.take(10 * kSecond));
    QVERIFY(workload.take(10 * kSecond));
    QVERIFY(!workload.nextArrival());
    QVERIFY(!workload.take(99 * kSecond));
    workload.answered(20 * kSecond);
    QCOMPARE(workload.nextArrival().value(), 23 * kSecond);
    QVERIFY(!workload.take(23 * kSecond - 1));
    QVERIFY(workload.take(23 * kSecond));
  }

  void aLimitedWorkloadEnds_data() {
    QTest::addColumn<int>("kind");
    QTest::newRow("closed loop") << int(ArrivalKind::kClosedLoop);
    QTest::newRow("poisson") << int(ArrivalKind::kPoisson);
  }
  void aLimitedWorkloadEnds() {
    QFETCH(int, kind);
    Scenario scenario = open(ArrivalKind(kind), 5);
    scenario.arrivals.num_requests = 7;
    Workload workload(scenario, tiny());
    int taken = 0;
    while (const auto due = workload.nextArrival()) {
      QVERIFY(!workload.finished());
      QVERIFY(workload.take(*due));
      workload.answered(*due);
      ++taken;
    }
    QCOMPARE(taken, 7);
    QVERIFY(workload.finished());
    QVERIFY(!workload.take(1000 * kSecond));
  }

  // Gap CV: 0 if constant, 1 for Poisson, 1 / sqrt(shape) for gamma.
  void arrivalsHaveTheirRateAndBurstiness_data() {
    QTest::addColumn<int>("kind");
    QTest::addColumn<double>("burstiness");
    QTest::addColumn<double>("expected_cv");
    QTest::newRow("constant") << int(ArrivalKind::kConstant) << 1.0 << 0.0;
    QTest::newRow("poisson") << int(ArrivalKind::kPoisson) << 1.0 << 1.0;
    QTest::newRow("gamma 1") << int(ArrivalKind::kGamma) << 1.0 << 1.0;
    QTest::newRow("gamma 4") << int(ArrivalKind::kGamma) << 4.0 << 0.5;
    QTest::newRow("gamma 1/4") << int(ArrivalKind::kGamma) << 0.25 << 2.0;
  }
  void arrivalsHaveTheirRateAndBurstiness() {
    QFETCH(int, kind);
    QFETCH(double, burstiness);
    QFETCH(double, expected_cv);
    Scenario scenario = open(ArrivalKind(kind), 8);
    scenario.arrivals.burstiness = burstiness;
    scenario.prompt_tokens = {};
    const std::vector<double> times = arrivalTimes(Workload(scenario, tiny()), 4000);
    QCOMPARE(times.front(), 0.0);
    QVERIFY(std::ranges::is_sorted(times));
    const double rate = double(times.size() - 1) / times.back();
    QVERIFY2(std::abs(rate / 8 - 1) < 0.1, qPrintable(QString::number(rate)));
    const double cv = variation(times);
    QVERIFY2(std::abs(cv - expected_cv) < 0.1 * (1 + expected_cv), qPrintable(QString::number(cv)));
  }

  void lengthsKeepTheirBounds() {
    Workload workload(open(ArrivalKind::kConstant, 1000), tiny());
    std::set<std::size_t> prompt_lengths;
    double sum_ln = 0;
    for (int i = 0; i < 1000; ++i) {
      const Request request = workload.take(kSecond * 10).value();
      prompt_lengths.insert(request.prompt.size());
      QVERIFY(request.max_new_tokens >= 10 && request.max_new_tokens <= 40);
      sum_ln += std::log(request.max_new_tokens);
      for (const TokenId id : request.prompt) QVERIFY(id >= 0 && id < 512 && !tiny()->tokenizer->isEndOfTurn(id));
    }
    QCOMPARE(prompt_lengths, (std::set<std::size_t>{3, 4, 5, 6, 7, 8, 9}));
    QVERIFY(std::abs(std::exp(sum_ln / 1000) / 20 - 1) < 0.1);
  }

  void promptsComeRoundWithVariations() {
    Scenario scenario = closed(1);
    scenario.chat = false;
    scenario.prompts = {"a", "b", "c"};
    scenario.variations = {"!", "?"};
    const std::vector<std::string> texts = promptTexts(scenario, 9);
    const std::set<std::string> first(texts.begin(), texts.begin() + 3);
    QCOMPARE(first, (std::set<std::string>{"a", "b", "c"}));
    for (std::size_t i = 3; i < texts.size(); ++i) {
      QCOMPARE(texts[i].size(), std::size_t(2));
      QVERIFY(first.contains(texts[i].substr(0, 1)));
    }
    const std::set<std::string> all(texts.begin(), texts.end());
    QCOMPARE(all.size(), texts.size());  // nobody asks the same thing twice until the variations are used up
  }

  void chatPromptsGoThroughTheTemplate() {
    Scenario scenario = closed(1);
    scenario.prompts = {"hello"};
    scenario.system_prompt = "be brief";
    const auto model = tiny();
    const std::vector<ChatMessage> messages = {{"system", "be brief"}, {"user", "hello"}};
    QCOMPARE(Workload(scenario, model).take(0)->prompt, model->tokenizer->encode(model->chat.render(messages)));
    scenario.chat = false;
    QCOMPARE(promptTexts(scenario, 1).front(), std::string("be brief\n\nhello"));
  }

  void builtinScenariosLoad() {
    const std::vector<Scenario> scenarios = builtinScenarios();
    std::set<std::string> ids;
    for (const Scenario& scenario : scenarios) {
      ids.insert(scenario.id);
      QVERIFY(!scenario.title.empty() && !scenario.explanation.empty());
      QVERIFY(!Workload(scenario, tiny()).take(0)->prompt.empty());
    }
    QCOMPARE(scenarios.front().id, std::string("chat"));
    QCOMPARE(ids,
             (std::set<std::string>{"agent-loop", "burst", "chat", "code-completion", "long-prompt", "mixed-outputs",
                                    "shared-prompt", "stall", "summarisation", "trace", "varied-lengths"}));
  }

  void aTraceIsReplayed() {
    const QTemporaryDir folder;
    std::ofstream(folder.filePath("t.csv").toStdString())
        << "arrival_s,prompt_tokens,output_tokens\n4,7,8\n0.5,3,2\n10,1,9\n";
    const std::string file = folder.filePath("s.json").toStdString();
    std::ofstream(file) << R"({"id": "x", "arrivals": {"kind": "trace", "file": "t.csv", "time_scale": 2}})";
    Workload workload(loadScenario(file), tiny());
    QCOMPARE(workload.nextArrival().value(), kSecond);
    QVERIFY(!workload.take(kSecond - 1));
    const std::vector<std::pair<std::int64_t, std::pair<int, int>>> expected = {
        {kSecond, {3, 2}}, {8 * kSecond, {7, 8}}, {20 * kSecond, {1, 9}}};
    for (const auto& [due, lengths] : expected) {
      QCOMPARE(workload.nextArrival().value(), due);
      const Request request = workload.take(due).value();
      QCOMPARE(int(request.prompt.size()), lengths.first);
      QCOMPARE(request.max_new_tokens, lengths.second);
    }
    QVERIFY(workload.finished() && !workload.nextArrival());
  }

  void brokenTracesAreRefused_data() {
    QTest::addColumn<QByteArray>("trace");
    QTest::addColumn<QString>("says");
    QTest::newRow("empty") << QByteArray() << "cannot be read";
    QTest::newRow("two columns") << QByteArray("a,b,c\n1,2\n") << "line 2";
    QTest::newRow("four columns") << QByteArray("a,b,c\n1,2,3\n1,2,3,4\n") << "line 3";
    QTest::newRow("no tokens") << QByteArray("a,b,c\n1,0,3\n") << "line 2";
    QTest::newRow("before the start") << QByteArray("a,b,c\n-1,2,3\n") << "line 2";
    QTest::newRow("words") << QByteArray("a,b,c\nsoon,2,3\n") << "line 2";
  }
  void brokenTracesAreRefused() {
    QFETCH(QByteArray, trace);
    QFETCH(QString, says);
    const QTemporaryDir folder;
    std::ofstream(folder.filePath("t.csv").toStdString()) << trace.toStdString();
    const std::string file = folder.filePath("s.json").toStdString();
    std::ofstream(file) << R"({"id": "x", "arrivals": {"kind": "trace", "file": "t.csv"}})";
    const QString refusal = QString::fromStdString(tests::errorOf([&] { loadScenario(file); }));
    QVERIFY2(refusal.contains("t.csv") && refusal.contains(says), qPrintable(refusal));
  }

  // Two users, three turns: a prompt begins with the user's last one; the fourth turn is a new conversation.
  void turnsGoOnFromEachOther() {
    Scenario scenario = closed(2);
    scenario.turns = 3;
    Workload workload(scenario, tiny());
    std::vector<std::vector<TokenId>> prompts;
    for (int i = 0; i < 8; ++i) {
      prompts.push_back(workload.take(0)->prompt);
      workload.answered(0);
    }
    for (const int later : {2, 3, 4, 5}) {
      const auto& before = prompts[std::size_t(later - 2)];
      const auto& after = prompts[std::size_t(later)];
      QVERIFY(before.size() < after.size() && std::equal(before.begin(), before.end(), after.begin()));
    }
    QVERIFY(prompts[6].size() < prompts[4].size());
    QVERIFY(prompts[0] != prompts[1] && prompts[0] != prompts[6]);
  }

  void eitherLengthIsDrawn() {
    Scenario scenario = closed(1);
    scenario.output_tokens = {.kind = LengthKind::kEither, .min = 16, .max = 512, .share = 0.1};
    Workload workload(scenario, tiny());
    std::map<int, int> counts;
    for (int i = 0; i < 1000; ++i) {
      ++counts[workload.take(0)->max_new_tokens];
      workload.answered(0);
    }
    QCOMPARE(counts.size(), std::size_t(2));
    QVERIFY(counts[512] > 60 && counts[512] < 140);
  }

  void aFileIsReadWhole() {
    const QTemporaryDir folder;
    const std::string file = folder.filePath("s.json").toStdString();
    std::ofstream(file) << R"({"id": "x", "title": "X", "explanation": ["two", "lines"], "model": "default", "seed": 9,
      "arrivals": {"kind": "gamma", "requests_per_s": 2.5, "burstiness": 0.5, "num_requests": 3},
      "prompts": ["p", ["q", "r"]], "variations": ["v"], "chat": false, "system_prompt": "s",
      "prompt_tokens": 5, "output_tokens": {"kind": "uniform", "min": 2, "max": 4}, "ignore_end_of_turn": true,
      "sampling": {"temperature": 0.5, "top_k": 4, "top_p": 0.9, "min_p": 0.1, "repeat_penalty": 1.5},
      "knobs": {"block-size": 8, "prefix-cache": "off"}})";
    const Scenario s = loadScenario(file);
    QCOMPARE(s.explanation, std::string("two\nlines"));
    QCOMPARE(s.model, std::string("default"));
    QCOMPARE(s.seed, std::uint64_t(9));
    QVERIFY((s.arrivals == Arrivals{.kind = ArrivalKind::kGamma,
                                    .concurrency = 4,
                                    .think_time_s = 0,
                                    .requests_per_s = 2.5,
                                    .burstiness = 0.5,
                                    .num_requests = 3}));
    QCOMPARE(s.prompts, (std::vector<std::string>{"p", "q\nr"}));
    QVERIFY(!s.chat && s.ignore_end_of_turn);
    QCOMPARE(int(s.prompt_tokens.mean), 5);
    QVERIFY(s.output_tokens.kind == LengthKind::kUniform && s.output_tokens.min == 2 && s.output_tokens.max == 4);
    QCOMPARE(s.sampling.top_k, 4);
    QCOMPARE(s.sampling.repeat_penalty, 1.5F);
    QCOMPARE(s.knobs, (std::map<std::string, std::string>{{"block-size", "8"}, {"prefix-cache", "off"}}));
  }

  void itsKnobsAreSetOnTopOfTheOthers() {
    Scenario scenario = closed(1);
    scenario.knobs = {{"block-size", "8"}, {"prefix-cache", "off"}};
    EngineOptions base;
    base.threads = 3;
    const EngineOptions options = optionsOf(scenario, base);
    QVERIFY(options.block_size == 8 && !options.prefix_cache && options.threads == 3);
    scenario.knobs = {{"block-size", "0"}};
    QCOMPARE(tests::errorOf([&] { optionsOf(scenario, base); }),
             std::string("scenario test: block-size: \"0\" is not a whole number from 1 to 256"));
  }

  void aBrokenFileNamesTheField_data() {
    QTest::addColumn<std::string>("json");
    QTest::addColumn<QString>("message");
    const auto row = [](const char* name, const char* json, const char* message) {
      QTest::newRow(name) << std::string(json) << QString(message);
    };
    row("not JSON", R"({"id": )", "s.json: not valid JSON at byte 8");
    row("no object", "[]", "s.json: top level: expected an object");
    row("no id", "{}", "s.json: id: expected a text, and not an empty one");
    row("wrong type", R"({"id": 3})", "s.json: id: expected a text");
    row("unknown field", R"({"id": "a", "promts": []})", "s.json: promts: no such field");
    row("unknown inner field", R"({"id": "a", "arrivals": {"rate": 1}})", "s.json: arrivals.rate: no such field");
    row("unknown kind", R"({"id": "a", "arrivals": {"kind": "often"}})",
        "s.json: arrivals.kind: \"often\" is not one of closed-loop, constant, poisson, gamma, trace");
    row("zero rate", R"({"id": "a", "arrivals": {"requests_per_s": 0}})",
        "s.json: arrivals.requests_per_s: expected a number from 1e-06 to 1000000");
    row("no users", R"({"id": "a", "arrivals": {"concurrency": 0}})",
        "s.json: arrivals.concurrency: expected a whole number from 1 to 10000");
    row("fraction", R"({"id": "a", "arrivals": {"concurrency": 1.5}})",
        "s.json: arrivals.concurrency: expected a whole number from 1 to 10000");
    row("max below min", R"({"id": "a", "output_tokens": {"min": 9, "max": 3}})",
        "s.json: output_tokens.max: expected a whole number from 9 to 1048576");
    row("prompt no text", R"({"id": "a", "prompts": [3]})", "s.json: prompts: expected a text");
    row("negative seed", R"({"id": "a", "seed": -1})", "s.json: seed: expected a whole number, 0 or more");
    row("unknown knob", R"({"id": "a", "knobs": {"blok": 1}})", "s.json: knobs: \"blok\" is not a knob");
    row("wrong knob value", R"({"id": "a", "knobs": {"block-size": 999}})",
        "s.json: knobs: block-size: \"999\" is not a whole number from 1 to 256");
  }
  void aBrokenFileNamesTheField() {
    QFETCH(std::string, json);
    QFETCH(QString, message);
    QCOMPARE(refusalOf(json), message);
  }

  void aMissingFileIsNamed() {
    QVERIFY_EXCEPTION_THROWN(loadScenario("/no/such.json"), Error);
    QVERIFY_EXCEPTION_THROWN(loadScenario("/"), Error);
  }
};

QTEST_GUILESS_MAIN(TestWorkload)
#include "tst_workload.moc"
