// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/data.h"
#include "tests/support/print.h"
#include "tests/support/scheduler_lab.h"

#include <QTest>
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace inferoscope::core;
using namespace inferoscope::tests;
using nlohmann::json;

namespace {

SchedulerConfig configOf(const json& config) {
  SchedulerConfig result = smallConfig(config.at("block"), config.at("blocks"));
  result.prefix_cache = config.value("prefix_cache", result.prefix_cache);
  result.prefill_chunk = config.value("chunk", result.prefill_chunk);
  result.step_tokens = config.value("token_budget", result.step_tokens);
  return result;
}

}  // namespace

// The scripts of vectors/kv_scheduler.json: known faults of other systems. The lab compares every answer with the one
// of the request alone, and looks at all invariants after every step.
class TestSchedulerCases : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    std::ifstream file(dataPath("vectors/kv_scheduler.json"));
    const json all = json::parse(file);
    for (const json& script : all.at("cases")) m_scripts[script.at("bug")] = script;
    QCOMPARE(m_scripts.size(), std::size_t(5));
  }

  // The prompt is exactly one block, and cached when it comes again: its last token is computed all the same.
  void aWholePromptInTheCache() {
    SchedulerLab lab = play("D-01");
    QCOMPARE(lab.output("b"), lab.output("a"));
    QCOMPARE(lab.output("b").size(), std::size_t(2));
    QCOMPARE(m_steps, (std::vector<std::string>{"a:p0..3*", "a:d4*", "b:p0..3*", "b:d4*"}));
    const BlockPool& pool = lab.scheduler().pool();
    QCOMPARE(pool.numFree(), pool.numBlocks());
    QCOMPARE(lab.fault(), "");
  }

  // The same with two blocks: the first is hit, and the last token's block is computed again.
  void twoWholeBlocksInTheCache() {
    SchedulerLab lab(smallConfig(4, 8));
    lab.add("a", {0, 1, 2, 3, 4, 5, 6, 7}, 2);
    lab.runUntilIdle();
    lab.add("b", {0, 1, 2, 3, 4, 5, 6, 7}, 2);
    QCOMPARE(lab.step(), "b:p4..7h4*");
    lab.runUntilIdle();
    QCOMPARE(lab.fault(), "");
  }

  void onePrefixInOneBatch() {
    SchedulerLab lab = play("D-03");
    QCOMPARE(m_steps.front(), "a:p0..8* b:p0..8*");
    QCOMPARE(lab.scheduler().prefixTokensHit(), 0);
    QCOMPARE(lab.fault(), "");
  }

  // Six shared tokens in blocks of four: the second block has two writers, so there are two of it.
  void aHalfSharedBlockIsNotShared() {
    SchedulerLab lab(smallConfig(4, 8));
    lab.add("a", {0, 1, 2, 3, 4, 5}, 6);
    lab.step();
    lab.add("b", {0, 1, 2, 3, 4, 5, 9}, 6);
    QCOMPARE(lab.step(), "a:d6* b:p4..6h4*");
    QCOMPARE(lab.drawTable("a"), "0 1");
    QCOMPARE(lab.drawTable("b"), "0 2");
    lab.runUntilIdle();
    QCOMPARE(lab.fault(), "");
  }

  // A block that gets new content is no longer found by its old.
  void aReusedBlockLosesItsKey() {
    SchedulerLab lab(smallConfig(4, 3));
    lab.add("a", {0, 1, 2, 3, 4}, 1);
    lab.runUntilIdle();
    lab.add("b", {5, 5, 5, 5, 5, 5, 5, 5, 5}, 1);
    lab.runUntilIdle();
    lab.add("c", {0, 1, 2, 3, 4}, 1);
    QCOMPARE(lab.step(), "c:p0..4*");
    QCOMPARE(lab.fault(), "");
  }

  void aRequestLargerThanTheCache() {
    SchedulerLab lab = play("D-07");
    QCOMPARE(m_refusals["a"],
             "prompt 17 + new 1 = 18 tokens, but a sequence can have at most 16; shorten the prompt or ask for fewer");
    QCOMPARE(lab.output("b").size(), std::size_t(2));
    QCOMPARE(lab.fault(), "");
  }

  void anEmptyPrompt() {
    SchedulerLab lab = play("D-09");
    QCOMPARE(m_refusals["a"], "empty prompt");
    QVERIFY(lab.scheduler().idle());
    lab.add("b", {1}, 1);
    QCOMPARE(lab.step(), "b:p0*");
    QCOMPARE(lab.fault(), "");
  }

  void aShortRequestBehindALongPrompt() {
    SchedulerLab lab = play("D-12");
    const Sequence& brief = lab.sequence("short");
    QVERIFY(*brief.first_token_ns - brief.arrival_ns <= 4);
    QCOMPARE(lab.output("long").size(), std::size_t(4));
    QCOMPARE(lab.fault(), "");
  }

  // While a prompt of any length comes in, those who decode get a token in every step.
  void aRunningRequestGetsATokenEveryStep() {
    SchedulerConfig config = smallConfig(4, 64);
    config.step_tokens = 8;
    config.prefill_chunk = 4;
    SchedulerLab lab(config);
    lab.add("short", {0, 1, 2}, 30);
    lab.step();
    lab.add("long", std::vector<TokenId>(160, 3), 4);
    for (int i = 0; i < 29; ++i) {
      const std::string step = lab.step();
      QVERIFY2(step.starts_with("short:d"), step.c_str());
    }
    QCOMPARE(lab.sequence("short").state, SeqState::kFinished);
    QCOMPARE(lab.fault(), "");
  }

 private:
  SchedulerLab play(const std::string& bug) {
    const json& script = m_scripts.at(bug);
    SchedulerLab lab(configOf(script.at("config")));
    m_steps.clear();
    m_refusals.clear();
    for (const json& line : script.at("steps")) {
      if (line.at("op") == "add") {
        m_refusals[line.at("id")] = lab.add(line.at("id"), line.at("prompt"), line.at("max_new"));
        continue;
      }
      int num_left = line.at("steps").is_number() ? line.at("steps").get<int>() : 1000;
      for (; num_left > 0 && !lab.scheduler().idle(); --num_left) m_steps.push_back(lab.step());
    }
    return lab;
  }

  std::map<std::string, json> m_scripts;
  std::map<std::string, std::string> m_refusals;
  std::vector<std::string> m_steps;
};

QTEST_GUILESS_MAIN(TestSchedulerCases)
#include "tst_scheduler_cases.moc"
