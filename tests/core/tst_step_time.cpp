// SPDX-License-Identifier: GPL-3.0-or-later
// Where the time and the bytes of a step went: by hand, and on steps that an engine ran.
#include "core/observe/roofline.h"
#include "core/observe/step_time.h"
#include "core/observe/verdict.h"
#include "tests/support/data.h"
#include "tests/support/engines.h"

#include <QTest>

#include <cmath>

using namespace inferoscope;
using namespace inferoscope::core;
using namespace inferoscope::tests;
using kernels::OpKind;

namespace {

// 10 GB/s, 100 GFLOP/s, 400 GOP/s: a MB is 100 us, a MFLOP 10 us, a M int8 op 2.5 us.
MachineLimits machine() {
  MachineLimits limits;
  limits.read_bytes_per_s = 10e9;
  limits.fp32_flop_per_s = 100e9;
  limits.int8_op_per_s = 400e9;
  return limits;
}

OpRecord op(OpKind kind, std::string_view name, int layer, std::int64_t start_us, std::int64_t us, double mb,
            double mflop) {
  OpRecord record;
  record.kind = kind;
  record.name = name;
  record.layer = static_cast<std::int16_t>(layer);
  record.start_ns = start_us * 1000;
  record.duration_ns = us * 1000;
  record.cost.weights = static_cast<std::uint64_t>(mb * 1e6);
  record.cost.flops = static_cast<std::uint64_t>(mflop * 1e6);
  return record;
}

// 1000 us: 20 before the ops, 5 between them, 30 after them.
StepRecord decodeStep() {
  StepRecord step;
  step.step_index = 7;
  step.duration_ns = 1'000'000;
  step.num_decode_tokens = 1;
  step.ops = {op(OpKind::kEmbed, "token_embedding", -1, 20, 10, 0.05, 0),   // floor 5 us
              op(OpKind::kLinear, "attn_q", 0, 32, 300, 2.0, 1.0),          // 200 by memory
              op(OpKind::kAttention, "attention", 0, 333, 100, 0.5, 8.0),   // 80 by compute
              op(OpKind::kLinear, "attn_q", 1, 435, 500, 2.0, 1.0),         // 200 by memory, under half of 500
              op(OpKind::kRmsNorm, "output_norm", -1, 935, 35, 0.4, 0.1)};  // 40: faster than memory
  for (const OpRecord& each : step.ops) step.cost += each.cost;
  return step;
}

std::shared_ptr<const StepRecord> shared(StepRecord step) {
  return std::make_shared<const StepRecord>(std::move(step));
}

// The steps of an engine that answers two prompts.
std::vector<std::shared_ptr<const StepRecord>> engineSteps(const std::string& source) {
  const std::shared_ptr<Backend> backend = makeCpuBackend(1);
  Engine engine(loadOn(*backend, source), backend, with({{"threads", "1"}, {"prefix-cache", "off"}}));
  engine.submit(ask(someIds(40, 1), 6));
  engine.submit(ask(someIds(17, 2), 6));
  std::vector<std::shared_ptr<const StepRecord>> steps;
  while (!engine.idle()) steps.push_back(engine.step({}));
  return steps;
}

void addModels() {
  QTest::addColumn<QString>("source");
  QTest::newRow("tied") << "synthetic:tiny";
  QTest::newRow("tied, q8_0") << "synthetic:tiny:q8_0";
  QTest::newRow("untied file") << QString::fromStdString(dataPath("valid/valid_q8_0_untied.gguf"));
}

}  // namespace

class TestStepTime : public QObject {
  Q_OBJECT

 private slots:
  void softwareIsWhatIsNotOps() {
    const StepTime time = stepTimeOf(decodeStep(), machine());
    QCOMPARE(time.step_index, std::int64_t{7});
    QCOMPARE(time.phase, Phase::kDecode);
    QCOMPARE(time.ops.measured_ns, std::int64_t{945'000});
    QCOMPARE(time.between_ops_ns, std::int64_t{5'000});
    QCOMPARE(time.around_ops_ns, std::int64_t{50'000});
    QCOMPARE(time.share(static_cast<double>(time.softwareNs())), 0.055);
  }

  void floorsAreOfEachOp() {
    const StepTime time = stepTimeOf(decodeStep(), machine());
    QCOMPARE(time.ops.floor_ns, 525e3);
    QCOMPARE(time.ops.excessNs(), 420e3);
    QCOMPARE(time.ops.roof.memory_ns, 495e3);  // the floor of the sums would be less
    QCOMPARE(time.ops.roof.compute_ns, 101e3);
  }

  void kindsByExcess() {
    const StepTime time = stepTimeOf(decodeStep(), machine());
    QStringList kinds;
    for (const StepTime::OfKind& of : time.kinds) {
      kinds << QString::fromUtf8(kernels::opKindName(of.kind).data()) + QStringLiteral(" %1").arg(of.work.num_ops) +
                   QStringLiteral(" %1").arg(of.work.excessNs() / 1e3);
    }
    QCOMPARE(kinds, (QStringList{"linear 2 400", "attention 1 20", "embed 1 5", "rms_norm 1 -5"}));
  }

  void layersInOrder() {
    const StepTime time = stepTimeOf(decodeStep(), machine());
    QStringList layers;
    for (const StepTime::OfLayer& layer : time.layers) {
      layers << QStringLiteral("%1: %2 us").arg(layer.layer).arg(layer.work.measured_ns / 1000);
    }
    QCOMPARE(layers, (QStringList{"-1: 10 us", "0: 400 us", "1: 500 us", "-1: 35 us"}));
    QCOMPARE(time.layers[1].ops.size(), std::size_t{2});
    QCOMPARE(time.layers[1].ops[0].bound, Bound::kBandwidth);
    QCOMPARE(time.layers[1].ops[1].bound, Bound::kCompute);
    QCOMPARE(time.layers[2].ops[0].bound, Bound::kOverhead);
    QCOMPARE(time.layers[3].ops[0].bound, Bound::kCache);
  }

  // Without ceilings there is no floor and no share: all of the time is excess, and nothing is said to be bound.
  void unknownMachine() {
    const StepTime time = stepTimeOf(decodeStep(), {});
    QCOMPARE(time.ops.floor_ns, 0.0);
    QVERIFY(!time.ops.shareOfRoof());
    for (const StepTime::OfLayer& layer : time.layers) QCOMPARE(layer.bound, Bound::kUnknown);
  }

  void aStepThatStaysInTheCacheIsNotBoundByBandwidth() {
    MachineLimits limits = machine();
    limits.cache_reach_bytes = 5'000'000;  // the step reads 4.95 MB
    QCOMPARE(stepTimeOf(decodeStep(), limits).layers[1].ops[0].bound, Bound::kCache);
    limits.cache_reach_bytes = 4'000'000;
    QCOMPARE(stepTimeOf(decodeStep(), limits).layers[1].ops[0].bound, Bound::kBandwidth);
  }

  void figuresOfWork() {
    const OpWork work = workOf(decodeStep().ops[1], machine());
    QCOMPARE(work.bytesPerSecond().value(), 2e6 / 300e-6);
    QCOMPARE(work.flopPerSecond().value(), 1e6 / 300e-6);
    QCOMPARE(work.intensity().value(), 0.5);
    QCOMPARE(work.shareOfRoof().value(), 200.0 / 300.0);
    QVERIFY(!OpWork{}.intensity() && !OpWork{}.bytesPerSecond() && !OpWork{}.shareOfRoof());
  }

  // ---- Roofline

  void onePointAPhaseAndKind() {
    StepRecord prefill = decodeStep();
    prefill.num_prefill_tokens = 40;
    const std::vector steps = {shared(decodeStep()), shared(prefill), shared(decodeStep())};
    const std::vector<RooflinePoint> points = rooflinePoints(steps, machine());
    QCOMPARE(points.size(), std::size_t{8});
    QCOMPARE(points.front().phase, Phase::kPrefill);
    const RooflinePoint& linear = points[6];
    QCOMPARE(linear.phase, Phase::kDecode);
    QCOMPARE(linear.kind, OpKind::kLinear);
    QCOMPARE(linear.work.num_ops, 4);
    QCOMPARE(linear.time_share, 0.8);
    QCOMPARE(linear.work.shareOfRoof().value(), 0.5);
    QCOMPARE(linear.bound, Bound::kBandwidth);
    QVERIFY(linear.onChart() && !points[4].onChart());  // copying has no arithmetic
    QVERIFY(rooflinePoints({}, machine()).empty());
  }

  // Nothing on a chart of one op is above its roof unless it is faster than memory.
  void theRoof() {
    QCOMPARE(ridge(10e9, 100e9), 10.0);
    QCOMPARE(attainable(2, 10e9, 100e9), 20e9);
    QCOMPARE(attainable(1000, 10e9, 100e9), 100e9);
    for (const OpRecord& each : decodeStep().ops) {
      if (each.cost.flops == 0) continue;
      const OpWork work = workOf(each, machine());
      const double roof = attainable(*work.intensity(), 10e9, 100e9);
      QVERIFY(std::abs(*work.flopPerSecond() / roof - *work.shareOfRoof()) < 1e-9);
    }
  }

  // ---- Bytes

  void classesAddUp() {
    const kernels::OpCost cost{.weights = 1, .kv_read = 20, .kv_write = 300, .activations = 4000, .scores = 50000};
    std::uint64_t sum = 0;
    for (int i = 0; i < kNumByteKinds; ++i) sum += bytesOf(cost, static_cast<ByteKind>(i));
    QCOMPARE(sum, cost.bytes());
    QCOMPARE(byteKindName(ByteKind::kKvWrite), std::string_view("kv_write"));
  }

  // A decode step reads every tensor whole, but of the embedding only the rows of its tokens; a tied output matrix is
  // the embedding, read whole as the output.
  void weightBytesAreTheStoredBytes_data() { addModels(); }
  void weightBytesAreTheStoredBytes() {
    QFETCH(QString, source);
    const auto model = describeModel(source.toStdString());
    const std::int64_t embedding = kernels::matrixBytes(model->token_embedding);
    const std::int64_t row = embedding / model->config.vocab_size;
    const std::int64_t others = model->weight_bytes - (model->config.tied_embeddings ? 0 : embedding);
    int num_decode_steps = 0;
    for (const auto& step : engineSteps(source.toStdString())) {
      if (phaseOf(*step) != Phase::kDecode) continue;
      ++num_decode_steps;
      QCOMPARE(step->cost.weights, static_cast<std::uint64_t>(others + row * step->num_decode_tokens));
    }
    QVERIFY(num_decode_steps >= 5);
  }

  // ---- Time, as measured

  void timesAddUp_data() { addModels(); }
  void timesAddUp() {
    QFETCH(QString, source);
    for (const auto& step : engineSteps(source.toStdString())) {
      const StepTime time = stepTimeOf(*step, machine());
      std::int64_t ops_ns = 0;
      for (const OpRecord& each : step->ops) {
        QVERIFY(each.duration_ns >= 0);
        ops_ns += each.duration_ns;
      }
      QCOMPARE(time.ops.measured_ns, ops_ns);
      QVERIFY(time.between_ops_ns >= 0 && time.around_ops_ns >= 0);  // ops don't overlap, nor leave the step
      double sum = time.ops.floor_ns + static_cast<double>(time.softwareNs());
      for (const StepTime::OfKind& of : time.kinds) sum += of.work.excessNs();
      QVERIFY(std::abs(sum / static_cast<double>(step->duration_ns) - 1) < 0.02);
    }
  }
};

QTEST_GUILESS_MAIN(TestStepTime)
#include "tst_step_time.moc"
