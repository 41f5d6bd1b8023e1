// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/scheduler.h"
#include "tests/support/print.h"
#include "tests/support/scheduler_lab.h"

#include <QTest>
#include <climits>
#include <numeric>

using namespace inferoscope::core;
using namespace inferoscope::tests;

namespace {

// n different tokens from `first` on: prompts with different first tokens share nothing.
std::vector<TokenId> prompt(int n, TokenId first = 0) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(n));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

// The first n tokens of `head`, then others.
std::vector<TokenId> promptLike(const std::vector<TokenId>& head, int n_shared, int n, TokenId first) {
  std::vector<TokenId> tokens = prompt(n, first);
  std::copy_n(head.begin(), n_shared, tokens.begin());
  return tokens;
}

SchedulerConfig changed(SchedulerConfig config, auto&& change) {
  change(config);
  return config;
}

}  // namespace

// The steps of the scheduler, as drawn by SchedulerLab::step().
class TestScheduler : public QObject {
  Q_OBJECT

 private slots:
  void oneRequestFromPromptToEnd() {
    SchedulerLab lab(smallConfig(4, 8));
    lab.add("a", prompt(5), 3);
    QCOMPARE(lab.step(), "a:p0..4*");
    QCOMPARE(lab.drawTable("a"), "0 1");
    QCOMPARE(lab.step(), "a:d5*");
    QCOMPARE(lab.step(), "a:d6*");
    QCOMPARE(lab.sequence("a").state, SeqState::kFinished);
    QCOMPARE(lab.sequence("a").finish, FinishReason::kLength);
    QCOMPARE(lab.output("a").size(), std::size_t(3));
    QVERIFY(lab.scheduler().idle());
    QCOMPARE(lab.step(), "");
    QCOMPARE(lab.fault(), "");
  }

  void aSlotIsTakenWhenATokenNeedsIt() {
    SchedulerLab lab(smallConfig(4, 8));
    lab.add("a", prompt(4), 9);
    lab.step();
    QCOMPARE(lab.drawTable("a"), "0");
    lab.step();
    QCOMPARE(lab.drawTable("a"), "0 1");
    for (int i = 0; i < 3; ++i) lab.step();
    QCOMPARE(lab.drawTable("a"), "0 1");
    lab.step();
    QCOMPARE(lab.drawTable("a"), "0 1 2");
    QCOMPARE(lab.fault(), "");
  }

  void promptsAreCutToChunkAndBudget() {
    SchedulerConfig config = smallConfig(4, 32);
    config.step_tokens = 10;
    config.prefill_chunk = 6;
    SchedulerLab lab(config);
    lab.add("a", prompt(14), 9);
    lab.add("b", prompt(9, 100), 9);
    lab.add("c", prompt(2, 200), 9);
    QCOMPARE(lab.step(), "a:p0..5 b:p0..3 | c:tokens");
    QCOMPARE(lab.drawWaits(), "c:tokens 1/0");
    QCOMPARE(lab.step(), "a:p6..11 b:p4..7 | c:tokens");
    QCOMPARE(lab.step(), "a:p12..13* b:p8* c:p0..1*");
    QCOMPARE(lab.step(), "a:d14* b:d9* c:d2*");
    QCOMPARE(lab.fault(), "");
  }

  void aLongPromptDoesNotHoldUpDecoding() {
    SchedulerConfig config = smallConfig(4, 32);
    config.step_tokens = 8;
    config.prefill_chunk = 8;
    SchedulerLab lab(config);
    lab.add("a", prompt(3), 9);
    QCOMPARE(lab.step(), "a:p0..2*");
    lab.add("b", prompt(20, 100), 9);
    QCOMPARE(lab.step(), "a:d3* b:p0..6");
    QCOMPARE(lab.step(), "a:d4* b:p7..13");
    QCOMPARE(lab.step(), "a:d5* b:p14..19*");
    QCOMPARE(lab.step(), "a:d6* b:d20*");
  }

  void wholePrompts() {
    SchedulerConfig config = smallConfig(4, 32);
    config.step_tokens = 10;
    config.prefill_chunk = 0;
    SchedulerLab lab(config);
    lab.add("a", prompt(7), 2);
    lab.add("b", prompt(5, 100), 2);  // with a it would be 12
    lab.add("c", prompt(2, 200), 2);  // would fit, but nobody passes another
    QCOMPARE(lab.step(), "a:p0..6* | b:tokens c:line");
    QCOMPARE(lab.drawWaits(), "b:tokens 5/3 c:line 1/0");
    QCOMPARE(lab.step(), "a:d7* b:p0..4* c:p0..1*");
    QCOMPARE(lab.fault(), "");
  }

  // It waits until it can have a step for itself, and then has it.
  void aWholePromptLargerThanAStepRunsAlone() {
    SchedulerConfig config = smallConfig(4, 32);
    config.step_tokens = 10;
    config.prefill_chunk = 0;
    SchedulerLab lab(config);
    lab.add("a", prompt(7), 3);
    lab.add("b", prompt(25, 100), 2);
    lab.add("c", prompt(2, 200), 2);
    QCOMPARE(lab.step(), "a:p0..6* | b:tokens c:line");
    QCOMPARE(lab.step(), "a:d7* | b:tokens c:line");
    QCOMPARE(lab.step(), "a:d8* | b:tokens c:line");
    QCOMPARE(lab.step(), "b:p0..24* | c:tokens");
    QCOMPARE(lab.step(), "b:d25* c:p0..1*");
    lab.runUntilIdle();
    QCOMPARE(lab.fault(), "");
  }

  void maxSequencesBoundsTheBatch() {
    SchedulerConfig config = smallConfig(4, 32);
    config.max_sequences = 2;
    SchedulerLab lab(config);
    lab.add("a", prompt(3), 2);
    lab.add("b", prompt(3, 100), 5);
    lab.add("c", prompt(3, 200), 2);
    lab.add("d", prompt(3, 300), 2);
    QCOMPARE(lab.step(), "a:p0..2* b:p0..2* | c:sequences d:sequences");
    QCOMPARE(lab.drawWaits(), "c:sequences 3/2 d:sequences 3/2");
    QCOMPARE(lab.step(), "a:d3* b:d3* | c:sequences d:sequences");
    QCOMPARE(lab.step(), "b:d4* c:p0..2* | d:sequences");
    QCOMPARE(lab.sequence("d").wait_reason, WaitReason::kMaxSequences);
  }

  // The whole prompt must fit, not the first chunk alone; a smaller request behind it does not pass.
  void admissionAsksForTheWholePrompt() {
    SchedulerConfig config = smallConfig(4, 8);
    config.prefill_chunk = 4;
    SchedulerLab lab(config);
    lab.add("a", prompt(12), 12);
    for (int i = 0; i < 3; ++i) lab.step();
    QCOMPARE(lab.drawTable("a"), "0 1 2");
    lab.add("b", prompt(20, 100), 2);  // 5 blocks; 4 are free beside the one a takes now
    lab.add("c", prompt(2, 200), 2);
    QCOMPARE(lab.step(), "a:d12* | b:blocks c:line");
    QCOMPARE(lab.drawWaits(), "b:blocks 5/4 c:line 1/0");
    lab.cancel("b");
    QCOMPARE(lab.step(), "a:d13* c:p0..1*");
    QCOMPARE(lab.fault(), "");
  }

  // What a running prompt has still to compute is spoken for.
  void admissionLeavesRunningPromptsTheirBlocks() {
    SchedulerConfig config = smallConfig(4, 8);
    config.prefill_chunk = 4;
    SchedulerLab lab(config);
    lab.add("a", prompt(24), 2);       // 6 blocks in the end
    lab.add("b", prompt(12, 100), 2);  // 3 blocks: 7 are free, 2 will be
    QCOMPARE(lab.step(), "a:p0..3 | b:blocks");
    QCOMPARE(lab.drawWaits(), "b:blocks 3/2");
    lab.runUntilIdle();
    QCOMPARE(lab.sequence("b").num_preemptions, 0);
    QCOMPARE(lab.fault(), "");
  }

  // A hit block that nobody holds leaves the free list too: it is no gain for the room.
  void freeHitBlocksCountAsNeeded() {
    SchedulerLab lab(smallConfig(4, 6));
    lab.add("a", prompt(9), 1);
    lab.step();  // 0 and 1 are cached
    lab.add("b", prompt(8, 100), 8);
    lab.step();
    lab.step();
    QCOMPARE(lab.drawTable("b"), "3 4 5");
    QCOMPARE(lab.drawFree(), "2 1 0");
    lab.add("c", promptLike(prompt(9), 8, 13, 200), 3);  // 4 blocks: 2 hits and 2 more, of which 1 is there
    QCOMPARE(lab.step(), "b:d9* | c:blocks");
    QCOMPARE(lab.drawWaits(), "c:blocks 4/3");
    QCOMPARE(lab.drawFree(), "2 1 0");
    lab.runUntilIdle();
    QCOMPARE(lab.sequence("c").num_hit_tokens, 8);
    QCOMPARE(lab.fault(), "");
  }

  void theLastIsPreemptedAndComesBackFirst() {
    SchedulerLab lab(smallConfig(4, 5));
    lab.add("a", prompt(7), 8);
    lab.add("b", prompt(8, 100), 8);
    QCOMPARE(lab.step(), "a:p0..6* b:p0..7*");
    QCOMPARE(lab.step(), "a:d7* b:d8*");
    QCOMPARE(lab.drawFree(), "");
    lab.add("c", prompt(3, 200), 2);
    QCOMPARE(lab.step(), "a:d8* | b:preemption c:preemption < b");
    QCOMPARE(lab.drawWaits(), "b:preemption 1/0 c:preemption 1/0");
    QCOMPARE(lab.sequence("b").state, SeqState::kPreempted);
    QCOMPARE(lab.sequence("b").num_computed, 0);
    QCOMPARE(lab.output("b").size(), std::size_t(2));
    QCOMPARE(lab.step(), "a:d9* | b:blocks c:line");
    for (int i = 0; i < 4; ++i) lab.step();
    // a has ended. b computes again what it knew, but for its first block, which nobody took meanwhile.
    QCOMPARE(lab.step(), "b:p4..9h4* c:p0..2*");
    lab.runUntilIdle();
    QCOMPARE(lab.sequence("b").num_preemptions, 1);
    QCOMPARE(lab.sequence("b").first_scheduled_ns, 0);
    QCOMPARE(lab.fault(), "");
  }

  void preemptsAsManyAsItTakes() {
    SchedulerConfig config = smallConfig(4, 10);
    config.prefill_chunk = 8;
    SchedulerLab lab(config);
    lab.add("a", prompt(24), 4);
    lab.add("b", prompt(4, 100), 9);
    lab.add("c", prompt(4, 200), 9);
    lab.add("d", prompt(2, 300), 9);
    lab.add("e", prompt(2, 400), 9);
    QCOMPARE(lab.step(), "a:p0..7 b:p0..3* c:p0..3* d:p0..1* e:p0..1*");
    QCOMPARE(lab.step(), "a:p8..15 b:d4* c:d4* d:d2* e:d2*");
    QCOMPARE(lab.drawFree(), "");
    QCOMPARE(lab.step(), "a:p16..23* b:d5* c:d5* | d:preemption e:preemption < e d");
    lab.runUntilIdle();
    QCOMPARE(lab.fault(), "");
  }

  void prefillFirstStopsDecoding() {
    SchedulerConfig config = smallConfig(4, 32);
    config.policy = Policy::kPrefillFirst;
    config.prefill_chunk = 4;
    SchedulerLab lab(config);
    lab.add("a", prompt(3), 5);
    QCOMPARE(lab.step(), "a:p0..2*");
    QCOMPARE(lab.step(), "a:d3*");
    lab.add("b", prompt(6, 100), 5);
    QCOMPARE(lab.step(), "b:p0..3");
    QCOMPARE(lab.step(), "b:p4..5*");
    QCOMPARE(lab.step(), "a:d4* b:d6*");
    QCOMPARE(lab.fault(), "");
  }

  void prefillFirstPreemptsToo() {
    SchedulerConfig config = smallConfig(4, 5);
    config.policy = Policy::kPrefillFirst;
    SchedulerLab lab(config);
    lab.add("a", prompt(7), 8);
    lab.add("b", prompt(8, 100), 8);
    lab.add("c", prompt(8, 200), 8);
    QCOMPARE(lab.step(), "a:p0..6* b:p0..7* | c:blocks");
    QCOMPARE(lab.step(), "a:d7* b:d8* | c:blocks");
    QCOMPARE(lab.step(), "a:d8* | b:preemption c:blocks < b");
    lab.runUntilIdle();
    QCOMPARE(lab.fault(), "");
  }

  // Filled once, in spite of the step's budget; then closed until all of it have ended.
  void aStaticBatchIsClosedUntilItEnds() {
    SchedulerConfig config = smallConfig(4, 32);
    config.batching = Batching::kStatic;
    config.max_sequences = 3;
    config.step_tokens = 8;
    SchedulerLab lab(config);
    lab.add("a", prompt(5), 1);
    lab.add("b", prompt(5, 100), 3);
    lab.add("c", prompt(5, 200), 1);
    lab.add("d", prompt(5, 300), 1);
    QCOMPARE(lab.step(), "a:p0..4* b:p0..2 | d:sequences");
    QCOMPARE(lab.sequence("c").state, SeqState::kRunning);
    QCOMPARE(lab.step(), "b:p3..4* c:p0..4* | d:static");
    QCOMPARE(lab.drawWaits(), "d:static 2/0");
    QCOMPARE(lab.step(), "b:d5* | d:static");  // no dead rows beside it
    QCOMPARE(lab.step(), "b:d6* | d:static");
    QCOMPARE(lab.step(), "d:p0..4*");
    QCOMPARE(lab.fault(), "");
  }

  void contiguousIsABlockOfTheWholeContext() {
    SchedulerConfig config = smallConfig(32, 2);
    config.max_len = 32;
    SchedulerLab lab(config);
    for (const char* label : {"a", "b", "c"}) lab.add(label, prompt(9), 4);
    QCOMPARE(lab.step(), "a:p0..8* b:p0..8* | c:blocks");
    lab.runUntilIdle();
    QCOMPARE(lab.scheduler().prefixTokensHit(), 0);
    QCOMPARE(lab.fault(), "");
  }

  // The published example of automatic prefix caching, without its null block.
  void prefixCacheFollowsThePublishedExample() {
    SchedulerLab lab(smallConfig(4, 10));
    const std::vector<TokenId> first = prompt(15);
    lab.add("r0", first, 20);
    for (int i = 0; i < 3; ++i) lab.step();
    QCOMPARE(lab.drawTable("r0"), "0 1 2 3 4");

    lab.add("r1", promptLike(first, 10, 14, 100), 20);
    QCOMPARE(lab.step(), "r0:d17* r1:p8..13h8*");
    QCOMPARE(lab.drawTable("r1"), "0 1 5 6");

    lab.cancel("r0");
    lab.cancel("r1");
    QCOMPARE(lab.drawFree(), "7 8 9 4 3 2 6 5 1 0");

    lab.add("r2", promptLike(first, 12, 29, 200), 1);
    const Batch batch = lab.scheduler().schedule(9);
    QCOMPARE(lab.drawTable("r2"), "0 1 2 7 8 9 4 3");
    QCOMPARE(batch.entries.at(0).num_hit_tokens, 12);
    QCOMPARE(lab.fault(), "");
  }

  void onlyFullComputedBlocksAreShared() {
    SchedulerConfig config = smallConfig(4, 16);
    config.prefill_chunk = 4;
    SchedulerLab lab(config);
    lab.add("a", prompt(11), 4);
    QCOMPARE(lab.step(), "a:p0..3");
    lab.add("b", promptLike(prompt(11), 6, 9, 100), 4);  // 6 shared tokens are one full block
    lab.add("c", prompt(11), 4);                         // at this time only one block of a is computed
    QCOMPARE(lab.step(), "a:p4..7 b:p4..7h4 c:p4..7h4");
    lab.add("d", prompt(11), 4);
    QCOMPARE(lab.step(), "a:p8..10* b:p8* c:p8..10* d:p8..10h8*");
    QCOMPARE(lab.drawTable("a"), "0 1 4");
    QCOMPARE(lab.drawTable("d"), "0 1 7");
    lab.runUntilIdle();
    QCOMPARE(lab.fault(), "");
  }

  void blocksOfTheOutputAreHitToo() {
    SchedulerLab lab(smallConfig(4, 16));
    lab.add("a", prompt(6), 8);
    lab.runUntilIdle();  // 13 tokens are computed: 3 full blocks
    std::vector<TokenId> next = lab.sequence("a").tokens;
    next.push_back(300);
    lab.add("b", next, 2);
    QCOMPARE(lab.step(), "b:p12..14h12*");
  }

  void withoutPrefixCacheNothingIsHit() {
    SchedulerConfig config = smallConfig(4, 16);
    config.prefix_cache = false;
    SchedulerLab lab(config);
    for (const char* label : {"a", "b"}) {
      lab.add(label, prompt(9), 2);
      QCOMPARE(lab.step(), std::string(label) + ":p0..8*");
      lab.runUntilIdle();
    }
    QCOMPARE(lab.scheduler().pool().numCached(), 0);
    QCOMPARE(lab.scheduler().prefixTokensAsked(), 0);
    QCOMPARE(lab.output("a"), lab.output("b"));
  }

  void hitsAreCountedOnceForEachRequest() {
    SchedulerLab lab(smallConfig(4, 6));
    lab.add("a", prompt(9), 12);
    lab.step();
    lab.add("b", prompt(9), 12);
    lab.step();
    QCOMPARE(lab.scheduler().prefixTokensAsked(), 18);
    QCOMPARE(lab.scheduler().prefixTokensHit(), 8);
    QCOMPARE(lab.sequence("b").num_hit_tokens, 8);
    lab.runUntilIdle();
    QVERIFY(lab.sequence("b").num_preemptions > 0);  // it came back with hits
    QCOMPARE(lab.scheduler().prefixTokensAsked(), 18);
    QCOMPARE(lab.scheduler().prefixTokensHit(), 8);
    QCOMPARE(lab.sequence("b").num_hit_tokens, 8);
    QCOMPARE(lab.fault(), "");
  }

  void whatCanNeverFitIsRefusedWithTheNumbers_data() {
    QTest::addColumn<int>("num_prompt");
    QTest::addColumn<int>("num_new");
    QTest::addColumn<QString>("refusal");
    QTest::newRow("fits") << 12 << 4 << "";
    QTest::newRow("no prompt") << 0 << 3 << "empty prompt";
    QTest::newRow("no output") << 3 << 0 << "0 new tokens asked for; ask for at least 1";
    QTest::newRow("negative") << 3 << -2 << "-2 new tokens asked for; ask for at least 1";
    QTest::newRow("blocks") << 13 << 4
                            << "prompt 13 + new 4 = 17 tokens need 5 KV blocks, but there are 4 of 4 tokens; "
                               "ask for fewer or raise kv-budget";
    QTest::newRow("length") << 13 << 6
                            << "prompt 13 + new 6 = 19 tokens, but a sequence can have at most 18; shorten the prompt "
                               "or ask for fewer";
    QTest::newRow("beyond int") << 3 << INT_MAX
                                << "prompt 3 + new 2147483647 = 2147483650 tokens, but a sequence can have at most 18; "
                                   "shorten the prompt or ask for fewer";
  }
  void whatCanNeverFitIsRefusedWithTheNumbers() {
    QFETCH(int, num_prompt);
    QFETCH(int, num_new);
    QFETCH(QString, refusal);
    SchedulerConfig config = smallConfig(4, 4);
    config.max_len = 18;
    SchedulerLab lab(config);
    QCOMPARE(QString::fromStdString(lab.add("a", prompt(num_prompt), num_new)), refusal);
    QCOMPARE(lab.scheduler().idle(), !refusal.isEmpty());
    lab.runUntilIdle();
    QCOMPARE(lab.fault(), "");
  }

  void aStoppedStepCountsForNothing() {
    SchedulerConfig config = smallConfig(4, 16);
    config.prefill_chunk = 8;
    SchedulerLab lab(config);
    lab.add("a", prompt(3), 9);
    lab.add("b", prompt(20, 100), 4);
    QCOMPARE(lab.step(), "a:p0..2* b:p0..7");
    const std::string free = lab.drawFree();
    QCOMPARE(lab.abandonedStep(5), "a:d3* b:p8..15");
    QCOMPARE(lab.sequence("b").num_computed, 8);
    QCOMPARE(lab.scheduler().pool().numFree(), 13);
    QCOMPARE(lab.step(), "a:d3* b:p8..15");
    QVERIFY(lab.drawFree() != free);
    lab.runUntilIdle();
    QCOMPARE(lab.fault(), "");
  }

  void aStoppedFirstStepLeavesNoKeys() {
    SchedulerLab lab(smallConfig(4, 16));
    lab.add("a", prompt(9), 4);
    QCOMPARE(lab.abandonedStep(6), "a:p0..8*");
    QCOMPARE(lab.scheduler().pool().numFree(), 16);
    lab.cancel("a");
    lab.add("b", prompt(9), 4);
    QCOMPARE(lab.step(), "b:p0..8*");
    lab.runUntilIdle();
    QCOMPARE(lab.scheduler().prefixTokensHit(), 0);
    QCOMPARE(lab.fault(), "");
  }

  void cancelAtAnyTime() {
    SchedulerConfig config = smallConfig(4, 8);
    config.max_sequences = 1;
    SchedulerLab lab(config);
    lab.add("a", prompt(9), 4);
    lab.add("b", prompt(9, 100), 4);
    lab.add("c", prompt(9, 200), 4);
    lab.step();
    lab.cancel("b");  // waiting
    lab.cancel("a");  // running
    lab.cancel("a");  // has ended
    lab.scheduler().finish(SeqId{77}, FinishReason::kCancelled);
    QCOMPARE(lab.sequence("a").finish, FinishReason::kCancelled);
    QCOMPARE(lab.scheduler().pool().numFree(), 8);
    QCOMPARE(lab.step(), "c:p0..8*");
    lab.scheduler().finishAll(FinishReason::kError, "device lost");
    QVERIFY(lab.scheduler().idle());
    QCOMPARE(lab.sequence("c").error, "device lost");
    QCOMPARE(lab.fault(), "");
  }

  // Between schedule() and commit() too: the others of the batch count.
  void cancelWithinAStep() {
    Scheduler scheduler(smallConfig(4, 8));
    Request request;
    request.prompt = prompt(5);
    request.max_new_tokens = 9;
    const SeqId a = scheduler.submit(request, 0);
    const SeqId b = scheduler.submit(request, 0);
    const Batch batch = scheduler.schedule(0);
    scheduler.finish(a, FinishReason::kCancelled);
    const std::vector<SampledToken> sampled{{.token = 1, .finish = {}, .error = {}},
                                            {.token = 2, .finish = {}, .error = {}}};
    QCOMPARE(scheduler.commit(batch, sampled, 0), std::vector<SeqId>{});
    QCOMPARE(scheduler.find(a)->numOutputTokens(), 0);
    QCOMPARE(scheduler.find(b)->numOutputTokens(), 1);
    QCOMPARE(scheduler.check(), "");
    scheduler.finish(b, FinishReason::kCancelled);
    scheduler.abandon(batch);
    QCOMPARE(scheduler.check(), "");
  }

  void theSampleCanEndASequence() {
    Scheduler scheduler(smallConfig(4, 8));
    Request request;
    request.prompt = prompt(5);
    request.max_new_tokens = 9;
    const SeqId a = scheduler.submit(request, 0);
    const SeqId b = scheduler.submit(request, 0);
    const Batch batch = scheduler.schedule(0);
    const std::vector<SampledToken> sampled{{.token = 9, .finish = FinishReason::kEndOfTurn, .error = {}},
                                            {.token = -1, .finish = FinishReason::kError, .error = "not a number"}};
    QCOMPARE(scheduler.commit(batch, sampled, 5), (std::vector<SeqId>{a, b}));
    QCOMPARE(scheduler.find(a)->finish, FinishReason::kEndOfTurn);
    QCOMPARE(scheduler.find(a)->numOutputTokens(), 1);
    QCOMPARE(scheduler.find(b)->error, "not a number");
    QCOMPARE(scheduler.find(b)->numOutputTokens(), 0);
    QCOMPARE(scheduler.finished(), (std::vector<const Sequence*>{scheduler.find(b), scheduler.find(a)}));
    QCOMPARE(scheduler.check(), "");
  }

  void aChangeOfBlocksComputesAllAnew() {
    SchedulerLab lab(smallConfig(4, 16));
    lab.add("a", prompt(9), 6);
    lab.add("b", prompt(9, 100), 6);
    for (int i = 0; i < 3; ++i) lab.step();
    SchedulerConfig config = lab.scheduler().config();
    config.block_size = 2;
    config.num_blocks = 20;
    QCOMPARE(lab.reconfigure(config), "");
    QCOMPARE(lab.scheduler().pool().numFree(), 20);
    QCOMPARE(lab.scheduler().waiting().size(), std::size_t(2));
    QCOMPARE(lab.step(), "a:p0..11* b:p0..11*");
    lab.runUntilIdle();
    QCOMPARE(lab.fault(), "");
  }

  void aResetOfTheCacheComputesAllAnew() {
    SchedulerLab lab(smallConfig(4, 16));
    lab.add("a", prompt(9), 6);
    lab.step();
    QCOMPARE(lab.reconfigure(lab.scheduler().config(), true), "");
    QCOMPARE(lab.step(), "a:p0..9*");
    QCOMPARE(lab.fault(), "");
  }

  void aBudgetThatNoLongerFitsIsRefused() {
    SchedulerLab lab(smallConfig(4, 16));
    lab.add("done", prompt(60), 4);
    lab.runUntilIdle();
    lab.add("a", prompt(9), 6);
    lab.step();
    const auto with = [&lab](auto&& change) { return changed(lab.scheduler().config(), change); };
    QCOMPARE(lab.reconfigure(with([](SchedulerConfig& c) { c.num_blocks = 3; })),
             "request 1 (a) would not fit: prompt 9 + new 6 = 15 tokens need 4 KV blocks, but there are 3 of 4 tokens; "
             "ask for fewer or raise kv-budget");
    QCOMPARE(lab.reconfigure(with([](SchedulerConfig& c) { c.max_len = 14; })),
             "request 1 (a) would not fit: prompt 9 + new 6 = 15 tokens, but a sequence can have at most 14; shorten "
             "the prompt or ask for fewer");
    QCOMPARE(lab.scheduler().config().num_blocks, 16);
    QCOMPARE(lab.step(), "a:d9*");
    QCOMPARE(lab.reconfigure(with([](SchedulerConfig& c) { c.num_blocks = 4; })), "");
    lab.runUntilIdle();
    QCOMPARE(lab.fault(), "");
  }

  void fewerSequencesPreemptThoseInExcess() {
    SchedulerLab lab(smallConfig(4, 16));
    for (const char* label : {"a", "b", "c"}) lab.add(label, prompt(3, label[0]), 4);
    lab.step();
    QCOMPARE(lab.reconfigure(changed(lab.scheduler().config(), [](SchedulerConfig& c) { c.max_sequences = 1; })), "");
    QCOMPARE(lab.step(), "a:d3* | b:sequences c:sequences");
    lab.runUntilIdle();
    QCOMPARE(lab.fault(), "");
  }

  // The blocks of running sequences, shared ones too, can be hit again at once.
  void thePrefixCacheCanBeSwitchedWhileRunning() {
    SchedulerLab lab(smallConfig(4, 16));
    const auto cache = [&lab](bool on) {
      lab.reconfigure(changed(lab.scheduler().config(), [on](SchedulerConfig& c) { c.prefix_cache = on; }));
    };
    lab.add("a", prompt(9), 30);
    lab.step();
    lab.add("b", prompt(9), 30);
    QCOMPARE(lab.step(), "a:d9* b:p8h8*");
    cache(false);
    lab.add("c", prompt(9), 1);
    QCOMPARE(lab.step(), "a:d10* b:d9* c:p0..8*");
    cache(true);
    lab.add("d", prompt(9), 1);
    QCOMPARE(lab.step(), "a:d11* b:d10* d:p8h8*");
    QCOMPARE(lab.fault(), "");
  }

  void oldFinishedSequencesAreForgotten() {
    SchedulerLab lab(smallConfig(4, 8));
    for (int i = 0; i < 300; ++i) lab.add(std::to_string(i), prompt(2), 1);
    lab.runUntilIdle();
    const std::vector<const Sequence*> finished = lab.scheduler().finished();
    QCOMPARE(finished.size(), std::size_t(256));
    QCOMPARE(finished.front()->request.label, "299");
    QCOMPARE(lab.scheduler().find(lab.id("43")), nullptr);
    QVERIFY(lab.scheduler().find(lab.id("44")));
    QCOMPARE(lab.fault(), "");
  }

  void blocksShowOwnersAndFill() {
    SchedulerLab lab(smallConfig(4, 8));
    lab.add("old", prompt(5, 300), 1);
    lab.runUntilIdle();
    lab.add("a", prompt(9), 9);
    lab.step();
    lab.add("b", prompt(9), 9);
    lab.step();
    QStringList drawn;
    for (const BlockInfo& block : lab.scheduler().blocks()) {
      const char state = ".cus"[int(block.state)];
      drawn += QString("%1%2:%3x%4").arg(state).arg(block.owner.value).arg(block.num_tokens).arg(block.ref_count);
    }
    // Block 0 of the one that has ended is cached, at the end of the free list.
    QCOMPARE(drawn.join(' '), "c-1:4x0 .-1:0x0 s1:4x2 s1:4x2 u1:2x1 u2:1x1 .-1:0x0 .-1:0x0");
  }

  void timesOfARequest() {
    Scheduler scheduler(smallConfig(4, 8));
    Request request;
    request.label = "chat";
    request.prompt = prompt(5);
    request.max_new_tokens = 3;
    const SeqId id = scheduler.submit(request, 1'000'000);
    RequestInfo info = describe(*scheduler.find(id));
    QCOMPARE(info.state, SeqState::kWaiting);
    QVERIFY(!info.first_scheduled_ns && !info.ttft_ms && !info.tpot_ms);
    for (const std::int64_t now : {3'000'000, 5'000'000, 6'000'000}) {
      const Batch batch = scheduler.schedule(now);
      scheduler.commit(batch, {{{.token = 1, .finish = {}, .error = {}}}}, now + 1'000'000);
      if (now == 3'000'000) QVERIFY(!describe(*scheduler.find(id)).tpot_ms);
    }
    info = describe(*scheduler.find(id));
    QCOMPARE(info.label, "chat");
    QCOMPARE(info.first_scheduled_ns, 3'000'000);
    QCOMPARE(info.ttft_ms, 3.0);
    QCOMPARE(info.tpot_ms, 1.5);
    QCOMPARE(info.num_output_tokens, 3);
    QCOMPARE(info.num_computed_tokens, 7);
    QCOMPARE(info.num_blocks, 0);
  }
};

QTEST_GUILESS_MAIN(TestScheduler)
#include "tst_scheduler.moc"
