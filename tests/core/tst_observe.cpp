// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/observe/request_metrics.h"
#include "core/observe/snapshot.h"
#include "core/observe/verdict.h"

#include <nlohmann/json.hpp>

#include <QTest>

#include <cmath>
#include <fstream>
#include <map>

using namespace inferoscope::core;
using nlohmann::json;

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

MachineLimits machine() {
  MachineLimits limits;
  limits.read_bytes_per_s = 10e9;
  limits.fp32_flop_per_s = 100e9;
  limits.int8_op_per_s = 400e9;
  limits.num_threads = 2;
  return limits;
}

// A step of one op: megabytes of weights, million FLOPs, milliseconds.
std::shared_ptr<const StepRecord> step(Phase phase, double mb, double mflop, double ms, double int8_mop = 0) {
  StepRecord record;
  record.duration_ns = static_cast<std::int64_t>(ms * kMillisecond);
  record.process_cpu_s = 2 * ms * 1e-3;
  record.num_threads = 2;
  (phase == Phase::kPrefill ? record.num_prefill_tokens : record.num_decode_tokens) = 1;
  record.cost.weights = static_cast<std::uint64_t>(mb * 1e6);
  record.cost.flops = static_cast<std::uint64_t>(mflop * 1e6);
  record.cost.int8_ops = static_cast<std::uint64_t>(int8_mop * 1e6);
  OpRecord op;
  op.cost = record.cost;
  record.ops.push_back(op);
  return std::make_shared<const StepRecord>(record);
}

Verdict verdictOf(const std::shared_ptr<const StepRecord>& one, Phase phase, const MachineLimits& limits) {
  return judge(std::vector{one}, phase, limits).value();
}

void compare(const json& expected, std::optional<double> value) {
  QCOMPARE(value.has_value(), !expected.is_null());
  if (value) QVERIFY(std::abs(*value - expected.get<double>()) < 1e-9);
}

}  // namespace

class TestObserve : public QObject {
  Q_OBJECT

 private slots:
  void metricVectors() {
    std::ifstream file(INFEROSCOPE_SOURCE_DIR "/tests/data/vectors/metrics.json");
    const json vectors = json::parse(file);
    QCOMPARE(vectors.at("cases").size(), std::size_t{3});
    for (const json& one : vectors.at("cases")) {
      const json& expect = one.at("expect");
      std::optional<std::int64_t> submit, prefill_done, first, last;
      int prompt = 0, tokens = 0;
      for (const json& event : one.at("events")) {
        const auto kind = event.at(0).get<std::string>();
        if (kind == "kv") {
          Snapshot snapshot;
          snapshot.block_size = event.at(1).at("block").get<int>();
          snapshot.blocks.resize(event.at(1).at("blocks").get<std::size_t>());
          std::size_t next = 0;
          for (int left : event.at(1).at("lengths")) {
            for (; left > 0; left -= snapshot.block_size) {
              const int held = std::min(left, snapshot.block_size);
              snapshot.blocks[next++] = {SeqId{0}, held, 1, BlockState::kUsed};
            }
          }
          compare(expect.at("block_use"), snapshot.blockUse());
          compare(expect.at("slot_use"), snapshot.slotUse());
          continue;
        }
        const std::int64_t time = event.at(1).get<std::int64_t>() * kMillisecond;
        if (kind == "submit") {
          submit = time;
          prompt = event.at(2).at("prompt").get<int>();
        }
        if (kind == "prefill_done") prefill_done = time;
        if (kind == "token") {
          if (!first) first = time;
          last = time;
          ++tokens;
        }
      }
      if (expect.contains("ttft_ms")) {
        compare(expect.at("ttft_ms"), ttftMs(submit.value_or(0), first));
        compare(expect.at("prefill_tps"), submit ? perSecond(prompt, *prefill_done - *submit) : std::nullopt);
        compare(expect.at("decode_tps"), first ? perSecond(tokens - 1, *last - *first) : std::nullopt);
      }
    }
  }

  void percentilesOfNothingAndOfOne() {
    QVERIFY(!percentile({}, 50));
    QCOMPARE(percentile({7}, 99).value(), 7.0);
    QCOMPARE(percentile({4, 1, 3, 2}, 50).value(), 2.5);
    QCOMPARE(percentiles({1, 2, 3}).p99.value(), 2.98);
  }

  void oneTokenHasNoTpot() {
    QVERIFY(!tpotMs(5, 5, 1));
    QCOMPARE(tpotMs(0, 30 * kMillisecond, 4).value(), 10.0);
  }

  void sharedBlocksCountOnce() {
    Snapshot snapshot;
    snapshot.block_size = 4;
    snapshot.blocks = {{SeqId{0}, 4, 3, BlockState::kShared},
                       {SeqId{1}, 1, 1, BlockState::kUsed},
                       {SeqId{}, 4, 0, BlockState::kCached},
                       {SeqId{}, 0, 0, BlockState::kFree}};
    QCOMPARE(snapshot.numUsedBlocks(), 2);
    QCOMPARE(snapshot.blockUse(), 0.5);
    QCOMPARE(snapshot.slotUse(), 5.0 / 16);
  }

  void bound_data() {
    QTest::addColumn<double>("mb");
    QTest::addColumn<double>("mflop");
    QTest::addColumn<double>("ms");
    QTest::addColumn<QString>("bound");
    QTest::newRow("80 MB in 10 ms at 10 GB/s") << 80.0 << 50.0 << 10.0 << "bandwidth-bound";
    QTest::newRow("900 MFLOP in 10 ms at 100 GFLOP/s") << 10.0 << 900.0 << 10.0 << "compute-bound";
    QTest::newRow("less than half of either") << 40.0 << 400.0 << 10.0 << "overhead-bound";
  }

  void bound() {
    QFETCH(double, mb);
    QFETCH(double, mflop);
    QFETCH(double, ms);
    QFETCH(QString, bound);
    const Verdict verdict = verdictOf(step(Phase::kDecode, mb, mflop, ms), Phase::kDecode, machine());
    QCOMPARE(QString::fromUtf8(boundName(verdict.bound).data()), bound);
  }

  // Within the probed reach of the cache, a step that would be bound by memory is not: its bytes never get there.
  void cacheIsNamedOnlyInsteadOfBandwidth() {
    MachineLimits limits = machine();
    limits.last_level_cache_bytes = 1'000'000'000;  // what is reported decides nothing
    limits.cache_reach_bytes = 100'000'000;
    const auto bound = [&](double mb, double mflop, double ms) {
      return verdictOf(step(Phase::kDecode, mb, mflop, ms), Phase::kDecode, limits).bound;
    };
    QCOMPARE(bound(80, 1, 6), Bound::kCache);
    QCOMPARE(bound(80, 1, 10), Bound::kCache);
    QCOMPARE(bound(101, 1, 12), Bound::kBandwidth);
    QCOMPARE(bound(80, 1, 17), Bound::kOverhead);
    QCOMPARE(bound(80, 900, 10), Bound::kCompute);
  }

  // Two ops, one bound by each: the floor is the sum of their own floors, not the floor of the sums.
  void theFloorIsASumOverOps() {
    StepRecord record = *step(Phase::kDecode, 50, 0, 12);
    OpRecord compute;
    compute.cost.flops = 500'000'000;
    record.ops.push_back(compute);
    const Verdict verdict = verdictOf(std::make_shared<const StepRecord>(record), Phase::kDecode, machine());
    QCOMPARE(verdict.floor_ns, 10e6);
  }

  void integerArithmeticHasItsOwnCeiling() {
    const Verdict verdict = verdictOf(step(Phase::kPrefill, 1, 4000, 10, 4000), Phase::kPrefill, machine());
    QCOMPARE(verdict.computeUse().value(), 1.0);
    QVERIFY(headline(verdict, machine()).find("100% of 400 GOP/s int8") != std::string::npos);
  }

  void headlines() {
    const Verdict verdict = verdictOf(step(Phase::kDecode, 81, 140, 10), Phase::kDecode, machine());
    QCOMPARE(headline(verdict, machine()),
             std::string("DECODE: bandwidth-bound, 81% of 10.0 GB/s, 14% of 100 GFLOP/s (process: 100% busy)"));
    const MachineLimits unknown;
    const std::string without =
        headline(verdictOf(step(Phase::kDecode, 81, 140, 10), Phase::kDecode, unknown), unknown);
    QCOMPARE(without, std::string("DECODE: 8.1 GB/s, 14 GFLOP/s (process: 100% busy)"));
  }

  void phasesAreKeptApart() {
    const std::vector steps = {step(Phase::kPrefill, 1, 900, 10), step(Phase::kDecode, 80, 1, 10)};
    QCOMPARE(judge(steps, Phase::kPrefill, machine())->num_steps, 1);
    QCOMPARE(judge(steps, Phase::kDecode, machine())->bound, Bound::kBandwidth);
    QVERIFY(!judge({}, Phase::kDecode, machine()));
  }
};

QTEST_GUILESS_MAIN(TestObserve)
#include "tst_observe.moc"
