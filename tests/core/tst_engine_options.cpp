// SPDX-License-Identifier: GPL-3.0-or-later
// Options that change between steps, under load: in force at once, or refused with nothing changed.
#include "core/engine/engine.h"
#include "core/engine/knobs.h"
#include "core/engine/kv_plan.h"
#include "core/engine/memory_estimate.h"
#include "core/error.h"
#include "core/model/weight_variants.h"
#include "tests/support/engine_bench.h"
#include "tests/support/errors.h"

#include <QTest>

#include <random>

using namespace inferoscope;
using namespace inferoscope::core;
using namespace inferoscope::tests;

namespace {

QString str(std::string_view text) {
  return QString::fromUtf8(text.data(), qsizetype(text.size()));
}

}  // namespace

class TestEngineOptions : public QObject {
  Q_OBJECT

 private slots:
  void theRecordsNameTheKernelThatRan_data() {
    QTest::addColumn<std::string>("knob");
    QTest::addColumn<std::string>("value");
    QTest::newRow("flash") << std::string("attention") << std::string("flash");
    QTest::newRow("naive attention") << std::string("attention") << std::string("naive");
    QTest::newRow("naive linear") << std::string("linear") << std::string("naive");
  }
  void theRecordsNameTheKernelThatRan() {
    QFETCH(std::string, knob);
    QFETCH(std::string, value);
    EngineBench bench;
    bench.engine.submit(ask(someIds(5, 1), 50));
    EngineOptions options = bench.engine.options();
    QCOMPARE(setKnob(options, knob, value), std::string());
    QCOMPARE(bench.engine.apply(options), std::string());
    const auto record = bench.engine.step({});
    int found = 0;
    for (const OpRecord& op : record->ops) {
      if (kernels::opKindName(op.kind) != knob) continue;
      QVERIFY2(op.kernel.starts_with(knob + "." + value), std::string(op.kernel).c_str());
      ++found;
    }
    QVERIFY(found > 0);
  }

  void threadsReallyRun() {
    EngineBench bench;
    bench.engine.submit(ask(someIds(5, 1), 50));
    for (const char* threads : {"1", "3", "2"}) {
      QCOMPARE(bench.engine.apply(with({{"threads", threads}})), std::string());
      QCOMPARE(bench.engine.step({})->num_threads, std::atoi(threads));
    }
  }

  void aRebuiltCacheKeepsTheTokens() {
    EngineBench bench;
    const SeqId seq = bench.engine.submit(ask(someIds(40, 1), 20)).seq;
    Answers answers;
    for (int i = 0; i < 8; ++i) collect(bench.engine, bench.engine.step({}), answers);
    QCOMPARE(bench.engine.apply(with({{"block-size", "4"}}, bench.engine.options())), std::string());
    QCOMPARE(bench.info(seq).num_preemptions, 1);
    QCOMPARE(bench.engine.snapshot().totals.num_preemptions, std::int64_t(1));
    QCOMPARE(bench.engine.snapshot().block_size, 4);
    QCOMPARE(bench.engine.snapshot().numUsedBlocks(), 0);
    while (!bench.engine.idle()) collect(bench.engine, bench.engine.step({}), answers);

    EngineBench calm;
    const SeqId undisturbed = calm.engine.submit(ask(someIds(40, 1), 20)).seq;
    QCOMPARE(answers[seq].tokens, runAll(calm.engine)[undisturbed].tokens);
  }

  // The records name the format that every matrix was read in, and count its bytes.
  void otherWeightsAreTheOnesThatAreRead() {
    EngineBench bench;
    WeightVariants variants(bench.model, 1 << 30);
    bench.engine.submit(ask(someIds(5, 1), 50));
    bench.engine.step({});
    std::uint64_t last_bytes = 0;
    for (const char* weights : {"q4_0", "q8_0", "as-stored", "f32"}) {
      const EngineOptions wanted = with({{"weights", weights}}, bench.engine.options());
      QCOMPARE(bench.engine.apply(wanted, variants.get(weights, *bench.backend, {}, {})), std::string());
      QCOMPARE(bench.engine.step({})->num_prefill_tokens > 0, true);  // computed again
      const auto record = bench.engine.step({});
      QCOMPARE(record->num_prefill_tokens, 0);
      for (const OpRecord& op : record->ops) {
        const bool has_matrix = op.kind == kernels::OpKind::kLinear || op.kind == kernels::OpKind::kEmbed;
        const std::string_view expected = weights == kAsStored ? "f16" : std::string_view(weights);
        QCOMPARE(str(op.format), has_matrix ? str(expected) : QString());
      }
      QVERIFY(record->cost.weights > last_bytes);
      last_bytes = record->cost.weights;
    }
  }

  void q8_0HalvesTheBytesOfF16() {
    EngineBench bench;
    WeightVariants variants(bench.model, 1 << 30);
    const auto bytes = [&](const char* weights) {
      const EngineOptions wanted = with({{"weights", weights}}, bench.engine.options());
      bench.engine.apply(wanted, variants.get(weights, *bench.backend, {}, {}));
      bench.engine.cancelAll();
      bench.engine.submit(ask(someIds(5, 1), 50));
      bench.engine.step({});
      return static_cast<double>(bench.engine.step({})->cost.weights);
    };
    QVERIFY(bytes("q8_0") / bytes("f16") <= 0.55);
  }

  // Tokens stay, all that was computed goes: what the old weights made is no prefix of what the new ones make.
  void otherWeightsComputeAgainAndHitNothingOld() {
    EngineBench bench;
    WeightVariants variants(bench.model, 1 << 30);
    runAll((bench.engine.submit(ask(someIds(40, 1), 2)), bench.engine));  // its prefix stays
    const SeqId seq = bench.engine.submit(ask(someIds(40, 2), 20)).seq;
    Answers answers;
    for (int i = 0; i < 8; ++i) collect(bench.engine, bench.engine.step({}), answers);
    const std::vector<TokenId> before = answers[seq].tokens;
    const EngineOptions wanted = with({{"weights", "q4_0"}}, bench.engine.options());
    QCOMPARE(bench.engine.apply(wanted, variants.get("q4_0", *bench.backend, {}, {})), std::string());
    QCOMPARE(bench.info(seq).num_preemptions, 1);
    QCOMPARE(bench.engine.snapshot().totals.num_preemptions, std::int64_t(1));
    bench.engine.submit(ask(someIds(40, 1), 2));  // known to the old weights
    for (bool first = true; !bench.engine.idle(); first = false) {
      const auto record = bench.engine.step({});
      for (const StepEntry& entry : record->entries) {
        if (first) QCOMPARE(entry.num_hit_tokens, 0);
      }
      collect(bench.engine, record, answers);
    }
    QCOMPARE(answers[seq].tokens.size(), std::size_t(20));
    QVERIFY(std::equal(before.begin(), before.end(), answers[seq].tokens.begin()));
    QCOMPARE(bench.engine.check(), std::string());
  }

  // After the change it is the engine that would have been made with those weights.
  void otherWeightsGiveWhatAFreshEngineGives() {
    EngineBench bench;
    const auto q8_0 = makeWeights(bench.model, "q8_0", *bench.backend, {}, {});
    const EngineOptions wanted = with({{"weights", "q8_0"}}, bench.engine.options());
    runAll((bench.engine.submit(ask(someIds(40, 1), 8)), bench.engine));
    QCOMPARE(bench.engine.apply(wanted, q8_0), std::string());
    bench.engine.keepLogits(true);
    const SeqId seq = bench.engine.submit(ask(someIds(40, 1), 8)).seq;
    const Answer changed = runAll(bench.engine)[seq];

    Engine fresh(q8_0, bench.backend, wanted);
    fresh.keepLogits(true);
    const SeqId other = fresh.submit(ask(someIds(40, 1), 8)).seq;
    QVERIFY(runAll(fresh)[other].logits == changed.logits);
  }

  void otherWeightsWithoutTheModelAreRefused() {
    EngineBench bench;
    const EngineOptions before = bench.engine.options();
    const std::string refusal = bench.engine.apply(with({{"weights", "q8_0"}}, before));
    QCOMPARE(str(refusal), QString("weights: the model's are as-stored, not q8_0"));
    QVERIFY(bench.engine.options() == before);
    QVERIFY(!errorOf([&] { Engine(bench.model, bench.backend, with({{"weights", "q8_0"}})); }).empty());
  }

  void fewerSequencesCountAsPreemptions() {
    EngineBench bench;
    for (int i = 0; i < 3; ++i) bench.engine.submit(ask(someIds(5, i), 20));
    bench.engine.step({});
    QCOMPARE(bench.engine.apply(with({{"max-sequences", "1"}}, bench.engine.options())), std::string());
    QCOMPARE(bench.engine.snapshot().totals.num_preemptions, std::int64_t(2));
    QCOMPARE(bench.engine.apply(with({{"max-sequences", "3"}}, bench.engine.options())), std::string());
    QCOMPARE(bench.engine.snapshot().totals.num_preemptions, std::int64_t(2));
  }

  void aBudgetThatNoLongerFitsIsRefused() {
    // 1 MiB holds 2,048 f32 tokens of this model, that is 10 blocks of 200.
    EngineBench bench("synthetic:tiny", with({{"kv-format", "f32"}, {"block-size", "200"}, {"threads", "1"}}));
    const SeqId seq = bench.engine.submit(ask(someIds(100, 1), 1940)).seq;
    bench.engine.step({});
    const EngineOptions before = bench.engine.options();
    const std::string refusal = bench.engine.apply(with({{"kv-budget", "1"}}, before));
    QVERIFY2(str(refusal).contains("2040") && str(refusal).contains("2000"), refusal.c_str());
    QVERIFY(bench.engine.options() == before);
    QCOMPARE(bench.info(seq).num_preemptions, 0);
    QCOMPARE(bench.engine.step({})->num_decode_tokens, 1);

    bench.engine.cancel(seq);
    QCOMPARE(bench.engine.apply(with({{"kv-budget", "1"}}, before)), std::string());
    QCOMPARE(bench.engine.snapshot().blocks.size(), std::size_t(10));
  }

  // What is told before a load is what a load and the largest step then take.
  void memoryIsEstimatedBeforeTheLoad() {
    const EngineOptions options = with({{"threads", "1"}, {"step-tokens", "64"}, {"max-sequences", "4"}});
    const MemoryEstimate estimate = estimateMemory(*describeModel("synthetic:tiny"), options);
    EngineBench bench("synthetic:tiny", options);
    std::int64_t in_memory = 0;
    for (const auto& buffer : bench.model->memory) in_memory += static_cast<std::int64_t>(buffer->bytes());
    QVERIFY(estimate.weight_bytes <= in_memory && in_memory < estimate.weight_bytes * 11 / 10);
    const Snapshot snapshot = bench.engine.snapshot();
    QCOMPARE(estimate.kv_bytes, snapshot.kv_block_bytes * std::ssize(snapshot.blocks));
    const ModelConfig& config = bench.model->config;
    QVERIFY(estimate.activation_bytes >= 4 * (64 * 2 * (config.model_dim + config.hidden_dim) + 4 * config.vocab_size));
    QCOMPARE(estimate.bytes(), estimate.weight_bytes + estimate.kv_bytes + estimate.activation_bytes);
  }

  void otherWeightsAreEstimatedBesideTheStoredOnes() {
    const auto model = describeModel("synthetic:tiny");
    const MemoryEstimate other = estimateMemory(*model, with({{"weights", "q8_0"}}));
    QCOMPARE(other.weight_bytes, model->weight_bytes + describeAs(model, "q8_0")->weight_bytes);
    QCOMPARE(estimateMemory(*model, with({{"weights", "f16"}})).weight_bytes, model->weight_bytes);  // it is f16
  }

  void whatDoesNotFitIsToldSo() {
    MemoryEstimate estimate{.weight_bytes = 60, .kv_bytes = 30, .activation_bytes = 11, .available_bytes = 100};
    QVERIFY(!estimate.fits());
    estimate.available_bytes = 101;
    QVERIFY(estimate.fits());
    estimate.available_bytes = 0;  // the system does not say
    QVERIFY(estimate.fits());
  }

  void aBudgetBelowOneBlockIsRefused() {
    const auto model = describeModel("synthetic:llama-3.2-1b");  // 32 KiB a token
    const std::string message = errorOf([&] {
      planKv(model->config, with({{"kv-budget", "1"}, {"block-size", "64"}}));
    });
    QVERIFY2(str(message).contains("kv-budget: 1 MiB hold 32 tokens"), message.c_str());
  }

  void contiguousReservesTheLongestText() {
    EngineBench bench("synthetic:tiny", with({{"kv-layout", "contiguous"}}));
    QCOMPARE(bench.engine.snapshot().block_size, 2048);
    QCOMPARE(bench.engine.snapshot().blocks.size(), std::size_t(8));
    for (int i = 0; i < 10; ++i) bench.engine.submit(ask(someIds(5, i), 3));
    QCOMPARE(bench.engine.step({})->entries.size(), std::size_t(8));
    QCOMPARE(bench.engine.snapshot().numUsedBlocks(), 8);
  }

  // Half the longest text: twice the sequences of the same budget, and what is longer is refused, in pages as well.
  void theLongestTextIsAsLongAsAsked() {
    EngineBench contiguous("synthetic:tiny", with({{"kv-layout", "contiguous"}, {"max-len", "1024"}}));
    QCOMPARE(contiguous.engine.snapshot().block_size, 1024);
    QCOMPARE(contiguous.engine.snapshot().blocks.size(), std::size_t(16));
    for (const char* layout : {"paged", "contiguous"}) {
      EngineBench bench("synthetic:tiny", with({{"kv-layout", layout}, {"max-len", "50"}}));
      QCOMPARE(str(bench.engine.submit(ask(someIds(20, 1), 30)).refusal), QString());
      const std::string refusal = bench.engine.submit(ask(someIds(20, 1), 31)).refusal;
      QVERIFY2(str(refusal).contains("51 tokens, but a sequence can have at most 50"), refusal.c_str());
      // A request that is under way is not cut off.
      const EngineOptions before = bench.engine.options();
      QVERIFY(!bench.engine.apply(with({{"max-len", "40"}}, before)).empty());
      QVERIFY(bench.engine.options() == before);
    }
  }

  void aFormatThatDoesNotFitTheHeadsIsRefused() {
    EngineBench bench;  // head_dim 16, q8_0 wants whole blocks of 32
    const EngineOptions before = bench.engine.options();
    const std::string refusal = bench.engine.apply(with({{"kv-format", "q8_0"}}, before));
    QVERIFY2(str(refusal).contains("q8_0"), refusal.c_str());
    QVERIFY(bench.engine.options() == before);
  }

  // Knobs turned at random under load, numerics untouched: no block is lost and no token changes.
  void randomKnobChangesUnderLoad() {
    const std::vector<std::pair<const char*, std::vector<std::string>>> turns = {
        {"kv-layout", {"paged", "paged", "contiguous"}},
        {"block-size", {"1", "8", "16", "64"}},
        {"kv-budget", {"0", "1", "2"}},
        {"max-len", {"0", "150", "600"}},
        {"batching", {"continuous", "static"}},
        {"max-sequences", {"1", "4", "16"}},
        {"step-tokens", {"8", "64", "512"}},
        {"prefill-chunk", {"0", "7", "256"}},
        {"policy", {"fcfs", "prefill-first"}},
        {"prefix-cache", {"on", "off"}},
        {"threads", {"1", "2", "3"}},
    };
    std::mt19937 random(7);
    const auto below = [&](std::size_t n) { return std::size_t(random() % n); };
    std::map<SeqId, Request> asked;
    Answers answers;
    EngineBench bench;
    int changes = 0;
    for (int i = 0; i < 400; ++i) {
      if (asked.size() < 60 && i % 5 == 0) {
        Request request = ask(someIds(1 + int(below(90)), i % 13), 1 + int(below(40)));
        const Submitted submitted = bench.engine.submit(request);
        QCOMPARE(str(submitted.refusal), QString());
        asked[submitted.seq] = request;
      }
      if (i % 3 == 0) {
        const auto& [knob, values] = turns[below(turns.size())];
        const EngineOptions wanted = with({{knob, values[below(values.size())]}}, bench.engine.options());
        changes += wanted == bench.engine.options() ? 0 : 1;
        QCOMPARE(str(bench.engine.apply(wanted)), QString());
        QVERIFY(bench.engine.options() == wanted);
      }
      collect(bench.engine, bench.engine.step({}), answers);
      QCOMPARE(str(bench.engine.check()), QString());
    }
    QVERIFY(changes > 50);
    for (int i = 0; i < 100000 && !bench.engine.idle(); ++i) collect(bench.engine, bench.engine.step({}), answers);
    QVERIFY(bench.engine.idle());
    QCOMPARE(bench.engine.snapshot().numUsedBlocks(), 0);

    EngineBench calm;
    for (const auto& [seq, request] : asked) {
      const SeqId alone = calm.engine.submit(request).seq;
      QCOMPARE(answers[seq].tokens, runAll(calm.engine)[alone].tokens);
    }
  }

  // The allocator fails at its n-th call: an error for people, and what was there before still works.
  void failedAllocationsChangeNothing() {
    EngineBench bench;
    const SeqId seq = bench.engine.submit(ask(someIds(30, 1), 40)).seq;
    for (int i = 0; i < 5; ++i) bench.engine.step({});
    const EngineOptions before = bench.engine.options();
    const EngineOptions wanted = with({{"kv-format", "f32"}, {"block-size", "8"}}, before);

    int refusals = 0;
    for (int n = 1; n <= 30; ++n) {
      int calls_left = n;
      bench.backend->before_allocate = [&] {
        if (--calls_left == 0) throw Error("not enough memory: needs 5 GiB, 1 GiB is available");
      };
      const std::string refusal = bench.engine.apply(wanted);
      bench.backend->before_allocate = {};
      if (refusal.empty()) break;
      ++refusals;
      QVERIFY(str(refusal).contains("not enough memory"));
      QVERIFY(bench.engine.options() == before);
      QVERIFY(bench.engine.active(seq));
    }
    QVERIFY(refusals > 0 && refusals < 30);
    QVERIFY(bench.engine.options() == wanted);
    QVERIFY(runAll(bench.engine)[seq].finished);

    bench.backend->before_allocate = [] { throw Error("not enough memory"); };
    QVERIFY(!errorOf([&] { Engine(bench.model, bench.backend, {}); }).empty());
    bench.backend->before_allocate = {};
    QVERIFY(errorOf([&] { Engine(bench.model, bench.backend, {}); }).empty());
  }

  void aBudgetBeyondMemoryIsAnError() {
    EngineBench bench;
    const std::string refusal = bench.engine.apply(with({{"kv-budget", "1000000"}, {"block-size", "256"}}));
    QVERIFY2(str(refusal).contains("KV cache"), refusal.c_str());
    QVERIFY(bench.engine.options() == with({{"threads", "1"}}));
  }
};

QTEST_GUILESS_MAIN(TestEngineOptions)
#include "tst_engine_options.moc"
