// SPDX-License-Identifier: GPL-3.0-or-later
// Steps, their records, how answers end, and what goes wrong. Changes of options: tst_engine_options.cpp.
#include "core/engine/engine.h"
#include "core/engine/reply.h"
#include "core/error.h"
#include "tests/support/data.h"
#include "tests/support/engine_bench.h"
#include "tests/support/errors.h"

#include <QTest>

using namespace inferoscope;
using namespace inferoscope::core;
using namespace inferoscope::tests;

namespace {

QString str(std::string_view text) {
  return QString::fromUtf8(text.data(), qsizetype(text.size()));
}

constexpr std::size_t kVocab = 512;  // of synthetic:tiny

Request askFor(TokenId forced, int max_new_tokens) {
  Request request = ask(someIds(5, 1), max_new_tokens);
  request.ignore_end_of_turn = false;
  request.sampling.logit_bias = {{forced, 1000.0F}};
  return request;
}

}  // namespace

class TestEngine : public QObject {
  Q_OBJECT

 private slots:
  // ---- Steps and their records

  void anAnswerIsGivenTokenByToken() {
    EngineBench bench;
    QVERIFY(bench.engine.idle());
    QVERIFY(!bench.engine.step({}));
    const Submitted submitted = bench.engine.submit(ask(someIds(40, 1), 5));
    QCOMPARE(submitted.refusal, std::string());
    QVERIFY(!bench.engine.idle() && bench.engine.active(submitted.seq));

    Answers answers = runAll(bench.engine);
    const Answer& answer = answers[submitted.seq];
    QCOMPARE(answer.tokens.size(), std::size_t(5));
    QVERIFY(answer.finished);
    QVERIFY(answer.logits.empty());
    QVERIFY(bench.engine.idle() && !bench.engine.active(submitted.seq));
    const RequestInfo info = bench.info(submitted.seq);
    QCOMPARE(int(info.state), int(SeqState::kFinished));
    QCOMPARE(int(info.finish), int(FinishReason::kLength));
    QCOMPARE(info.num_output_tokens, 5);
  }

  void aRecordIsComplete() {
    EngineBench bench("synthetic:tiny", with({{"threads", "2"}, {"prefill-chunk", "16"}}));
    const SeqId seq = bench.engine.submit(ask(someIds(20, 1), 2)).seq;
    const auto first = bench.engine.step({});
    const auto second = bench.engine.step({});
    const auto third = bench.engine.step({});
    QVERIFY(first && second && third && bench.engine.idle());

    QCOMPARE(first->step_index, std::int64_t(0));
    QCOMPARE(first->num_prefill_tokens, 16);
    QCOMPARE(first->num_sampled, 0);
    QCOMPARE(first->entries.size(), std::size_t(1));
    QVERIFY(first->entries[0].seq == seq && first->entries[0].sampled == -1 && first->entries[0].kv_len == 16);
    QCOMPARE(first->admitted, std::vector<SeqId>{seq});
    QCOMPARE(second->num_prefill_tokens, 4);
    QCOMPARE(second->entries[0].kv_len, 20);
    QVERIFY(second->entries[0].sampled >= 0 && !second->entries[0].finished);
    QCOMPARE(third->num_decode_tokens, 1);
    QVERIFY(third->entries[0].finished && third->entries[0].phase == Phase::kDecode);

    for (const auto& record : {first, second, third}) {
      QCOMPARE(record->num_threads, 2);
      QCOMPARE(record->num_blocks_used, record == first ? 1 : 2);
      QVERIFY(record->num_blocks > 1000);
      QVERIFY(record->duration_ns >= record->kernel_ns && record->kernel_ns > 0);
      QVERIFY(record->process_cpu_s > 0);
      std::int64_t kernel_ns = 0;
      kernels::OpCost cost;
      for (const OpRecord& op : record->ops) {
        kernel_ns += op.duration_ns;
        cost += op.cost;
      }
      QCOMPARE(kernel_ns, record->kernel_ns);
      QVERIFY(cost == record->cost && cost.weights > 0 && cost.flops > 0);
    }
    QCOMPARE(second->start_ns, first->start_ns + first->duration_ns);
    QCOMPARE(int(bench.engine.progress()->ops_total), int(third->ops.size()));
    QCOMPARE(int(bench.engine.progress()->ops_done), int(third->ops.size()));
  }

  void totalsAreTheSumsOfTheRecords() {
    EngineBench bench;
    for (int i = 0; i < 5; ++i) bench.engine.submit(ask(someIds(10 + i, i), 4));
    Totals sums;
    while (!bench.engine.idle()) {
      const auto record = bench.engine.step({});
      ++sums.num_steps;
      sums.busy_ns += record->duration_ns;
      sums.kernel_ns += record->kernel_ns;
      sums.num_prefill_tokens += record->num_prefill_tokens;
      sums.num_output_tokens += record->num_sampled;
      sums.cost += record->cost;
    }
    const Snapshot snapshot = bench.engine.snapshot();
    QCOMPARE(snapshot.step_index, sums.num_steps);
    QCOMPARE(snapshot.lane_ns, sums.busy_ns);
    QCOMPARE(snapshot.totals.busy_ns, sums.busy_ns);
    QCOMPARE(snapshot.totals.kernel_ns, sums.kernel_ns);
    QCOMPARE(snapshot.totals.num_prefill_tokens, std::int64_t(10 + 11 + 12 + 13 + 14));
    QCOMPARE(snapshot.totals.num_output_tokens, std::int64_t(20));
    QCOMPARE(snapshot.totals.num_requests, std::int64_t(5));
    QCOMPARE(snapshot.totals.num_finished, std::int64_t(5));
    QVERIFY(snapshot.totals.cost == sums.cost);

    bench.engine.reset();
    QCOMPARE(bench.engine.snapshot().totals.num_steps, std::int64_t(0));
    QCOMPARE(bench.engine.snapshot().totals.prefix_tokens_asked, std::int64_t(0));
    QCOMPARE(bench.engine.laneNow(), sums.busy_ns);
  }

  // The clock is read from a source that moves 1 us a call: what passes between steps does not count.
  void theLaneClockCountsStepsAlone() {
    std::int64_t now = 0;
    EngineBench bench("synthetic:tiny", {}, [&] { return now += 1000; });
    const SeqId seq = bench.engine.submit(ask(someIds(3, 1), 3)).seq;
    std::int64_t sum = 0;
    while (!bench.engine.idle()) {
      now += 1'000'000'000;  // a pause
      const auto record = bench.engine.step({});
      QCOMPARE(record->start_ns, sum);
      sum += record->duration_ns;
      QCOMPARE(bench.engine.laneNow(), sum);
    }
    QVERIFY(sum < 100'000);
    const RequestInfo info = bench.info(seq);
    QCOMPARE(info.arrival_ns, std::int64_t(0));
    QVERIFY(info.ttft_ms.value() > 0 && info.ttft_ms.value() < 0.1);
    QVERIFY(info.tpot_ms.value() > 0 && info.tpot_ms.value() < 0.1);

    bench.engine.jumpTo(sum + 500);
    QCOMPARE(bench.engine.laneNow(), sum + 500);
    bench.engine.jumpTo(7);  // never backwards
    QCOMPARE(bench.engine.laneNow(), sum + 500);
    QCOMPARE(bench.info(bench.engine.submit(ask({1}, 1)).seq).arrival_ns, sum + 500);
  }

  void theSnapshotShowsTheBlocks() {
    EngineBench bench;
    const SeqId seq = bench.engine.submit(ask(someIds(20, 1), 8)).seq;
    bench.engine.step({});
    const Snapshot snapshot = bench.engine.snapshot();
    QCOMPARE(snapshot.block_size, 16);
    QCOMPARE(snapshot.kv_block_bytes, 16 * kvBytesPerToken(bench.model->config, "f16"));
    QCOMPARE(snapshot.numUsedBlocks(), 2);
    int tokens = 0;
    for (const BlockInfo& block : snapshot.blocks) {
      if (block.ref_count == 0) continue;
      QVERIFY(block.owner == seq);
      tokens += block.num_tokens;
    }
    QCOMPARE(tokens, 20);
    QCOMPARE(snapshot.tables.size(), std::size_t(1));
    const BlockTableInfo& table = snapshot.tables.front();
    QVERIFY(table.seq == seq);
    QCOMPARE(table.blocks.size(), std::size_t(2));
    for (const BlockId block : table.blocks) {
      QVERIFY(snapshot.blocks[static_cast<std::size_t>(block.value)].owner == seq);
    }
    QCOMPARE(table.prefixes.size(), std::size_t(1));  // of the full block
  }

  void logitsAreKeptWhileAskedFor() {
    EngineBench bench;
    bench.engine.keepLogits(true);
    const SeqId seq = bench.engine.submit(ask(someIds(4, 1), 1)).seq;
    bench.engine.step({});
    QCOMPARE(bench.engine.lastLogits(seq).size(), kVocab);
    QVERIFY(bench.engine.lastLogits(SeqId{99}).empty());
    bench.engine.keepLogits(false);
    QVERIFY(bench.engine.lastLogits(seq).empty());
  }

  // ---- How an answer ends, and its text

  void textIsThatOfTheTokens() {
    EngineBench bench;
    Request request = ask(someIds(6, 3), 60);
    request.sampling.temperature = 2.0F;
    const SeqId seq = bench.engine.submit(request).seq;
    Answers answers = runAll(bench.engine);
    Utf8Stream characters;
    std::string text;
    for (const TokenId id : answers[seq].tokens) text += characters.push(bench.model->tokenizer->bytes(id));
    QCOMPARE(str(answers[seq].text), str(text + characters.finish()));
  }

  // The bytes of U+1F600, forced one after the other: shown as one character, or not at all.
  void halfACharacterIsNeverShown() {
    EngineBench bench;
    const std::string emoji = "\xF0\x9F\x98\x80";
    std::string shown;
    Reply reply(Request{});
    for (const char byte : emoji) {
      reply.push(static_cast<unsigned char>(byte), *bench.model->tokenizer);
      const std::string text = reply.take(SeqId{0}, false).text;
      QVERIFY(text.empty() || text == emoji);
      shown += text;
    }
    QCOMPARE(shown, emoji);
    reply.push(0xF0, *bench.model->tokenizer);
    const TextDelta last = reply.take(SeqId{0}, true);
    QCOMPARE(last.text, std::string("\xEF\xBF\xBD"));
    QVERIFY(last.finished);
    QCOMPARE(last.num_tokens, 1);
  }

  void endOfTurnEndsAnAnswer() {
    EngineBench bench;
    const TokenId end = bench.model->tokenizer->eos();
    const SeqId seq = bench.engine.submit(askFor(end, 20)).seq;
    Request ignoring = askFor(end, 20);
    ignoring.ignore_end_of_turn = true;
    const SeqId other = bench.engine.submit(ignoring).seq;
    Answers answers = runAll(bench.engine);
    QCOMPARE(answers[seq].tokens, std::vector<TokenId>{end});
    QVERIFY(answers[seq].text.empty() && answers[seq].finished);
    QCOMPARE(int(bench.info(seq).finish), int(FinishReason::kEndOfTurn));
    QCOMPARE(answers[other].tokens.size(), std::size_t(20));
    QCOMPARE(int(bench.info(other).finish), int(FinishReason::kLength));
  }

  // Any token that ends a turn, not only the file's eos (279 is <|im_end|> of the file's template).
  void everyEndOfTurnTokenOfAFileEndsAnAnswer() {
    EngineBench bench(dataPath("valid/valid_tiny.gguf"));
    const SeqId seq = bench.engine.submit(askFor(279, 20)).seq;
    runAll(bench.engine);
    QCOMPARE(int(bench.info(seq).finish), int(FinishReason::kEndOfTurn));
  }

  void aStopStringEndsAnAnswerAndIsNotShown() {
    EngineBench bench;
    Request request = askFor('x', 20);
    request.stop = {"xxx"};
    const SeqId seq = bench.engine.submit(request).seq;
    request.stop = {"xxxy", "xy"};
    const SeqId other = bench.engine.submit(request).seq;
    Answers answers = runAll(bench.engine);
    QCOMPARE(answers[seq].tokens.size(), std::size_t(3));
    QCOMPARE(str(answers[seq].text), QString());
    QCOMPARE(int(bench.info(seq).finish), int(FinishReason::kStopString));
    QCOMPARE(str(answers[other].text), QString(20, 'x'));  // what was held back comes at the end
  }

  void nonFiniteLogitsEndTheRequestAlone() {
    EngineBench bench(dataPath("cases/f01_weight_nan.gguf"));
    const SeqId seq = bench.engine.submit(ask({10, 11, 12}, 20)).seq;
    Answers answers = runAll(bench.engine);
    const RequestInfo info = bench.info(seq);
    QCOMPARE(int(info.finish), int(FinishReason::kError));
    QVERIFY2(str(info.error).contains("non-finite"), info.error.c_str());
    QVERIFY(answers[seq].tokens.empty() && answers[seq].finished);
    QVERIFY(bench.engine.idle());
  }

  // ---- What is refused

  void whatCanNeverBeServedIsRefused_data() {
    QTest::addColumn<std::vector<TokenId>>("prompt");
    QTest::addColumn<int>("max_new_tokens");
    QTest::addColumn<QStringList>("says");
    QTest::newRow("empty prompt") << std::vector<TokenId>{} << 5 << QStringList{"empty prompt"};
    QTest::newRow("no tokens") << std::vector<TokenId>{1} << 0 << QStringList{"0 new tokens"};
    QTest::newRow("beyond the context") << someIds(2000, 1) << 100 << QStringList{"2000", "100", "2048"};
    QTest::newRow("id too large") << std::vector<TokenId>{1, 512} << 5 << QStringList{"512", "vocabulary"};
    QTest::newRow("id negative") << std::vector<TokenId>{-1} << 5 << QStringList{"-1", "vocabulary"};
  }
  void whatCanNeverBeServedIsRefused() {
    QFETCH(std::vector<TokenId>, prompt);
    QFETCH(int, max_new_tokens);
    QFETCH(QStringList, says);
    EngineBench bench;
    const Submitted submitted = bench.engine.submit(ask(prompt, max_new_tokens));
    QVERIFY(!submitted.seq.valid());
    for (const QString& part : says) QVERIFY2(str(submitted.refusal).contains(part), submitted.refusal.c_str());
    QVERIFY(bench.engine.idle());
  }

  // ---- Cancelling and faults

  void cancelledRequestsEnd() {
    EngineBench bench("synthetic:tiny", with({{"max-sequences", "1"}}));
    const SeqId running = bench.engine.submit(ask(someIds(20, 1), 50)).seq;
    const SeqId waiting = bench.engine.submit(ask(someIds(20, 2), 50)).seq;
    bench.engine.step({});
    bench.engine.cancel(waiting);
    bench.engine.cancel(running);
    bench.engine.cancel(running);  // again, and somebody unknown: nothing
    bench.engine.cancel(SeqId{77});
    QVERIFY(bench.engine.idle());
    QCOMPARE(bench.engine.snapshot().numUsedBlocks(), 0);
    const std::vector<TextDelta> texts = bench.engine.takeText();
    QCOMPARE(std::ranges::count_if(texts, &TextDelta::finished), std::ptrdiff_t(2));
    QCOMPARE(int(bench.info(running).finish), int(FinishReason::kCancelled));
    QCOMPARE(bench.engine.snapshot().totals.num_finished, std::int64_t(2));
  }

  // A long prefill can be left within a layer, nothing of the step counts, and the engine goes on.
  void aStepCanBeStopped() {
    EngineBench bench;
    const SeqId seq = bench.engine.submit(ask(someIds(120, 1), 5)).seq;
    std::stop_source stop;
    int num_ops = 0;
    bench.backend->before_op = [&] {
      if (++num_ops == 10) stop.request_stop();
    };
    QVERIFY(!bench.engine.step(stop.get_token()));
    QCOMPARE(num_ops, 10);
    QCOMPARE(int(bench.engine.progress()->ops_done), 9);
    QCOMPARE(bench.engine.laneNow(), std::int64_t(0));
    QCOMPARE(bench.engine.snapshot().totals.num_steps, std::int64_t(0));

    bench.backend->before_op = {};
    const std::vector<TokenId> after_stop = runAll(bench.engine)[seq].tokens;
    EngineBench calm;
    const SeqId undisturbed = calm.engine.submit(ask(someIds(120, 1), 5)).seq;
    QCOMPARE(after_stop, runAll(calm.engine)[undisturbed].tokens);
  }

  void aDeviceFaultEndsTheBatchAlone() {
    EngineBench bench("synthetic:tiny", with({{"max-sequences", "2"}}));
    std::vector<SeqId> seqs;
    for (int i = 0; i < 3; ++i) seqs.push_back(bench.engine.submit(ask(someIds(9, i), 5)).seq);
    bench.engine.step({});
    int ops_left = 7;
    bench.backend->before_op = [&] {
      if (--ops_left == 0) throw Error("illegal access");
    };
    QCOMPARE(str(errorOf([&] { bench.engine.step({}); })), QString("illegal access"));
    bench.backend->before_op = {};

    for (const SeqId seq : {seqs[0], seqs[1]}) {
      QCOMPARE(int(bench.info(seq).finish), int(FinishReason::kError));
      QCOMPARE(str(bench.info(seq).error), QString("illegal access"));
    }
    Answers answers = runAll(bench.engine);
    QVERIFY(answers[seqs[0]].finished);
    QCOMPARE(answers[seqs[2]].tokens.size(), std::size_t(5));
    QCOMPARE(bench.engine.snapshot().numUsedBlocks(), 0);
  }
};

QTEST_GUILESS_MAIN(TestEngine)
#include "tst_engine.moc"
