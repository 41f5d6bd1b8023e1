// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/step_time_layout.h"
#include "gui/views/work_tree_model.h"
#include "tests/support/frames.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTest>

#include <cmath>

using namespace inferoscope;
using namespace inferoscope::gui;
using core::StepTime;
using kernels::OpKind;

namespace {

core::OpWork work(double floor_us, std::int64_t us, int num_ops = 1) {
  core::OpWork made;
  made.num_ops = num_ops;
  made.floor_ns = floor_us * 1000;
  made.measured_ns = us * 1000;
  return made;
}

// A step of 1,000 us: floor 600, linear 200 above it, attention 100, adds 30 below theirs, little of others.
StepTime madeTime() {
  StepTime time;
  time.measured_ns = 1'000'000;
  time.kinds = {{OpKind::kLinear, work(450, 650)},
                {OpKind::kAttention, work(100, 200)},
                {OpKind::kEmbed, work(1, 6)},
                {OpKind::kRope, work(4, 4)},
                {OpKind::kAdd, work(45, 15)}};
  for (const StepTime::OfKind& of : time.kinds) time.ops += of.work;
  time.between_ops_ns = 25'000;
  time.around_ops_ns = 100'000;
  return time;
}

QStringList described(const std::vector<WaterfallPart>& parts) {
  QStringList lines;
  for (const WaterfallPart& part : parts) {
    lines << QStringLiteral("%1: %2..%3").arg(int(part.part)).arg(part.from_ns / 1000).arg(part.to_ns / 1000);
  }
  return lines;
}

const core::StepRecord& lastStep(const Frame& frame) {
  return *frame.steps.back();
}

}  // namespace

class TestStepTimeLayout : public QObject {
  Q_OBJECT

 private slots:
  void partsStandOnEachOther() {
    QCOMPARE(described(waterfallOf(madeTime())),
             (QStringList{"0: 0..600", "1: 600..800", "1: 800..900", "1: 900..870", "2: 870..875", "3: 875..900",
                          "4: 900..1000", "5: 0..1000"}));
  }

  void withoutCeilingsAllOpTimeIsAboveTheFloor() {
    StepTime time = madeTime();
    time.ops = {};
    for (StepTime::OfKind& of : time.kinds) {
      of.work.floor_ns = 0;
      time.ops += of.work;
    }
    const std::vector<WaterfallPart> parts = waterfallOf(time);
    QCOMPARE(parts.front().part, TimePart::kExcess);
    QCOMPARE(parts.front().to_ns, 650e3);
    QCOMPARE(parts[parts.size() - 2].to_ns, 1000e3);
  }

  // The last part but one ends where the measured time does, within 2%: here, exactly.
  void theWaterfallEndsAtTheMeasuredTime() {
    for (const auto& step : tests::fullFrame().steps) {
      const std::vector<WaterfallPart> parts = waterfallOf(core::stepTimeOf(*step, tests::toyLimits()));
      QVERIFY(std::abs(parts[parts.size() - 2].to_ns / static_cast<double>(step->duration_ns) - 1) < 1e-9);
      for (std::size_t i = 1; i + 1 < parts.size(); ++i) QCOMPARE(parts[i].from_ns, parts[i - 1].to_ns);
    }
  }

  void barsShareOneScale() {
    const std::vector<WaterfallPart> parts = waterfallOf(madeTime());
    const QRect area(10, 20, 400, 300);
    const std::vector<WaterfallRow> rows = layoutWaterfall(parts, area, 18, 90, 98);
    QCOMPARE(rows.size(), parts.size());
    QCOMPARE(rows[0].bar.left(), 106.0);
    QCOMPARE(rows[0].bar.width(), 120.0);  // 600 of 1,000 on 200 pixels
    QCOMPARE(rows[1].bar.left(), 226.0);
    QCOMPARE(rows[3].bar.left(), 280.0);  // backwards: to 870 from 900
    QCOMPARE(rows[3].bar.right(), 286.0);
    QCOMPARE(rows.back().bar.width(), 200.0);
    for (const WaterfallRow& row : rows) {
      QVERIFY(!row.name.intersects(row.bar.toAlignedRect()) && !row.figure.intersects(row.bar.toAlignedRect()));
      QCOMPARE(row.whole.width(), 400);
    }
    QCOMPARE(rowAt(rows, QPoint(50, 20 + 18 + 3)), 1);
    QCOMPARE(rowAt(rows, QPoint(50, 10)), -1);
    QVERIFY(layoutWaterfall(parts, QRect(0, 0, 10, 10), 18, 90, 98).size() == parts.size());
  }

  // Beside a step of twice the time the bars are half as long; a shorter one changes nothing.
  void barsTakeTheScaleOfALongerStep() {
    const std::vector<WaterfallPart> parts = waterfallOf(madeTime());
    const QRect area(10, 20, 400, 300);
    QCOMPARE(longestNs(parts), 1e6);
    QCOMPARE(layoutWaterfall(parts, area, 18, 90, 98, 2e6).back().bar.width(), 100.0);
    QCOMPARE(layoutWaterfall(parts, area, 18, 90, 98, 0.5e6).back().bar.width(), 200.0);
  }

  // However they are grouped, the nodes of a level add up to the step.
  void treesAddUp_data() {
    QTest::addColumn<int>("grouping");
    QTest::newRow("by layer") << int(WorkGrouping::kByLayer);
    QTest::newRow("by op") << int(WorkGrouping::kByOp);
  }
  void treesAddUp() {
    QFETCH(int, grouping);
    const Frame frame = tests::fullFrame();
    const core::StepRecord& step = lastStep(frame);
    const StepTime time = core::stepTimeOf(step, tests::toyLimits());
    const std::vector<WorkNode> nodes = workTree(time, WorkGrouping(grouping), tests::toyLimits());
    std::int64_t measured_ns = 0;
    core::OpWork ops;
    for (const WorkNode& node : nodes) {
      std::int64_t children_ns = 0;
      for (const WorkNode& child : node.children) children_ns += child.work.measured_ns;
      QCOMPARE(children_ns, node.work.measured_ns);
      measured_ns += node.work.measured_ns;
      if (!node.software) ops += node.work;
    }
    QCOMPARE(measured_ns, step.duration_ns);
    QCOMPARE(ops.cost, step.cost);
    QCOMPARE(ops.num_ops, static_cast<int>(step.ops.size()));
    QVERIFY(nodes.back().software);
  }

  void nodesAreNamed() {
    const Frame frame = tests::fullFrame();
    const StepTime time = core::stepTimeOf(lastStep(frame), tests::toyLimits());
    const auto by_layer = workTree(time, WorkGrouping::kByLayer, tests::toyLimits());
    QCOMPARE(by_layer[0].title, QStringLiteral("before the layers"));
    QCOMPARE(by_layer[1].title, QStringLiteral("layer 0"));
    QCOMPARE(by_layer[1].children[1].title, QStringLiteral("attn_q"));
    QCOMPARE(by_layer[by_layer.size() - 2].title, QStringLiteral("after the layers"));
    const auto by_op = workTree(time, WorkGrouping::kByOp, tests::toyLimits());
    QCOMPARE(by_op[2].title, QStringLiteral("attn_q"));
    QCOMPARE(by_op[2].children[0].title, QStringLiteral("layer 0"));
  }

  // ---- The model

  void theModelIsSound() {
    WorkTreeModel model;
    const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    for (const Frame& frame : {tests::smallFrame(), tests::fullFrame()}) {
      const StepTime time = core::stepTimeOf(lastStep(frame), tests::toyLimits());
      model.setTree(workTree(time, WorkGrouping::kByLayer, tests::toyLimits()), time.measured_ns, tests::toyLimits());
    }
    QVERIFY(model.rowCount() > 10);
    const QModelIndex layer = model.index(1, 0);
    QCOMPARE(model.rowCount(layer), 16);
    QCOMPARE(model.parent(model.index(2, 3, layer)), layer);
    QCOMPARE(model.rowCount(model.index(2, 0, layer)), 0);
  }

  void aStepOfTheSameShapeChangesFiguresOnly() {
    const Frame frame = tests::fullFrame();
    WorkTreeModel model;
    const QSignalSpy resets(&model, &QAbstractItemModel::modelReset);
    for (std::size_t i = frame.steps.size() - 5; i < frame.steps.size(); ++i) {
      const StepTime time = core::stepTimeOf(*frame.steps[i], tests::toyLimits());
      model.setTree(workTree(time, WorkGrouping::kByOp, tests::toyLimits()), time.measured_ns, tests::toyLimits());
    }
    QCOMPARE(resets.count(), 1);
  }

  void everyCellIsExplained() {
    const Frame frame = tests::fullFrame();
    WorkTreeModel model;
    const StepTime time = core::stepTimeOf(lastStep(frame), tests::toyLimits());
    model.setTree(workTree(time, WorkGrouping::kByLayer, tests::toyLimits()), time.measured_ns, tests::toyLimits());
    for (int row = 0; row < model.rowCount(); ++row) {
      QVERIFY(model.data(model.index(row, 1), Qt::ToolTipRole).toString().contains(QStringLiteral("easured")));
    }
    for (int i = 0; i < WorkTreeModel::kNumColumns; ++i) {
      QVERIFY(model.headerData(i, Qt::Horizontal, Qt::ToolTipRole).toString().size() > 20);
    }
  }
};

QTEST_GUILESS_MAIN(TestStepTimeLayout)
#include "tst_step_time_layout.moc"
