// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/print.h"
#include "tests/support/scheduler_lab.h"

#include <QTest>
#include <algorithm>
#include <random>

using namespace inferoscope::core;
using namespace inferoscope::tests;

namespace {

// Thousands of things that can happen to a scheduler, in an order that a seed decides.
class Walk {
 public:
  Walk(const SchedulerConfig& config, unsigned seed) : m_lab(config), m_random(seed) {}

  SchedulerLab& lab() { return m_lab; }
  int numPreemptions() const { return m_num_preemptions; }

  void go(int num_turns) {
    for (int i = 0; i < num_turns && m_lab.fault().empty(); ++i) turn();
  }

  // One of n.
  int pick(int n) { return static_cast<int>(m_random() % static_cast<unsigned>(n)); }

 private:
  void turn() {
    const int chance = pick(100);
    if (chance < 25) {
      add();
    } else if (chance < 29) {
      cancel();
    } else if (chance < 34) {
      m_lab.abandonedStep(pick(30));
    } else if (chance < 36) {
      reconfigure();
    } else if (chance < 39) {
      m_lab.step([this] { cancel(); });
    } else {
      const std::string drawn = m_lab.step();
      if (const auto mark = drawn.find('<'); mark != std::string::npos) ++m_num_preemptions;
    }
  }

  // Prompts of few tokens and a common beginning, so that many of them share blocks.
  void add() {
    std::vector<TokenId> prompt(static_cast<std::size_t>(pick(40)));
    const auto num_common = std::min<std::ptrdiff_t>(pick(30), std::ssize(prompt));
    std::fill(prompt.begin(), prompt.begin() + num_common, pick(2));
    std::generate(prompt.begin() + num_common, prompt.end(), [this] { return pick(5); });
    m_lab.add(std::to_string(m_num_added++), prompt, pick(25));
  }

  // Of any state, also long gone.
  void cancel() {
    if (m_num_added > 0) m_lab.scheduler().finish(SeqId{pick(m_num_added)}, FinishReason::kCancelled);
  }

  void reconfigure() {
    SchedulerConfig config = m_lab.scheduler().config();
    switch (pick(7)) {
      case 0:
        config.block_size = 1 + pick(9);
        config.num_blocks = 1 + pick(200) / config.block_size;
        break;
      case 1:
        config.max_sequences = 1 + pick(8);
        break;
      case 2:
        config.step_tokens = 1 + pick(40);
        break;
      case 3:
        config.prefill_chunk = pick(20);
        break;
      case 4:
        config.prefix_cache = !config.prefix_cache;
        break;
      case 5:
        config.policy = pick(2) == 0 ? Policy::kFcfs : Policy::kPrefillFirst;
        break;
      default:
        config.batching = pick(2) == 0 ? Batching::kContinuous : Batching::kStatic;
    }
    m_lab.reconfigure(config, pick(4) == 0);
  }

  SchedulerLab m_lab;
  std::mt19937 m_random;
  int m_num_added = 0;
  int m_num_preemptions = 0;
};

}  // namespace

// Whatever happens, in whatever order: after every step all invariants hold, and every request that comes to its end
// gave the tokens that it gives alone. The lab looks at both.
class TestSchedulerWalk : public QObject {
  Q_OBJECT

 private slots:
  void everyInvariantHolds_data() {
    QTest::addColumn<int>("seed");
    for (int seed = 1; seed <= 10; ++seed) QTest::addRow("seed %d", seed) << seed;
  }
  void everyInvariantHolds() {
    QFETCH(int, seed);
    SchedulerConfig config = smallConfig(4, 24);
    config.max_len = 200;
    config.max_sequences = 6;
    config.step_tokens = 24;
    config.prefill_chunk = 10;
    Walk walk(config, static_cast<unsigned>(seed));
    walk.go(3000);
    walk.lab().runUntilIdle();
    QCOMPARE(walk.lab().fault(), "");
    QVERIFY(walk.numPreemptions() > 0);
    const BlockPool& pool = walk.lab().scheduler().pool();
    QCOMPARE(pool.numFree(), pool.numBlocks());
  }

  // The same requests in every mode: the lab compares each answer with the one of the request alone.
  void answersDoNotDependOnTheMode_data() {
    QTest::addColumn<int>("block_size");
    QTest::addColumn<int>("num_blocks");
    QTest::addColumn<int>("max_sequences");
    QTest::addColumn<int>("chunk");
    QTest::addColumn<bool>("prefix_cache");
    QTest::addColumn<bool>("prefill_first");
    QTest::addColumn<bool>("is_static");
    const auto add = [](const char* name, int block_size, int num_blocks, int max_sequences, int chunk, bool cache,
                        bool prefill_first, bool is_static) {
      QTest::newRow(name) << block_size << num_blocks << max_sequences << chunk << cache << prefill_first << is_static;
    };
    add("batch of one", 16, 40, 1, 256, false, false, false);
    add("continuous", 16, 40, 8, 256, false, false, false);
    add("prefix cache", 4, 160, 8, 256, true, false, false);
    add("chunks of one", 4, 160, 8, 1, true, false, false);
    add("whole prompts", 4, 160, 8, 0, true, false, false);
    add("preempted", 4, 18, 8, 7, true, false, false);
    add("preempted, no cache", 4, 18, 8, 7, false, false, false);
    add("blocks of one", 1, 70, 8, 7, true, false, false);
    add("prefill first", 4, 18, 8, 7, true, true, false);
    add("prefill first, whole prompts", 4, 18, 8, 0, true, true, false);
    add("static", 4, 40, 4, 7, true, false, true);
    add("static, preempted", 4, 18, 8, 0, true, true, true);
    add("contiguous", 70, 4, 8, 7, true, false, false);
  }
  void answersDoNotDependOnTheMode() {
    QFETCH(int, block_size);
    QFETCH(int, num_blocks);
    QFETCH(int, max_sequences);
    QFETCH(int, chunk);
    QFETCH(bool, prefix_cache);
    QFETCH(bool, prefill_first);
    QFETCH(bool, is_static);
    SchedulerConfig config = smallConfig(block_size, num_blocks);
    config.max_len = 70;
    config.max_sequences = max_sequences;
    config.step_tokens = 32;
    config.prefill_chunk = chunk;
    config.prefix_cache = prefix_cache;
    config.policy = prefill_first ? Policy::kPrefillFirst : Policy::kFcfs;
    config.batching = is_static ? Batching::kStatic : Batching::kContinuous;

    SchedulerLab lab(config);
    std::mt19937 random(5);
    for (int i = 0; i < 60; ++i) {
      std::vector<TokenId> prompt(1 + random() % 40, TokenId(random() % 2));
      for (std::size_t j = random() % 30; j < prompt.size(); ++j) prompt[j] = TokenId(random() % 5);
      QCOMPARE(lab.add(std::to_string(i), prompt, 1 + int(random() % 28)), "");
      if (i % 3 == 0) lab.step();
    }
    lab.runUntilIdle();
    QCOMPARE(lab.fault(), "");
    int num_preemptions = 0;
    for (const Sequence* seq : lab.scheduler().finished()) {
      QCOMPARE(seq->finish, FinishReason::kLength);
      num_preemptions += seq->num_preemptions;
    }
    QCOMPARE(lab.scheduler().finished().size(), std::size_t(60));
    QCOMPARE(num_preemptions > 0, num_blocks == 18 || num_blocks == 70);
    QCOMPARE(lab.scheduler().prefixTokensHit() > 0, prefix_cache && block_size < 70);
  }
};

QTEST_GUILESS_MAIN(TestSchedulerWalk)
#include "tst_scheduler_walk.moc"
