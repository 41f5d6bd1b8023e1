// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/roofline_layout.h"
#include "gui/views/roofline_table.h"
#include "tests/support/frames.h"

#include <QTest>

using namespace inferoscope;
using namespace inferoscope::gui;
using core::Phase;
using kernels::OpKind;

namespace {

core::RooflinePoint point(OpKind kind, double flop_per_byte, double gflop_per_s) {
  core::RooflinePoint made;
  made.kind = kind;
  made.phase = Phase::kDecode;
  made.work.num_ops = 1;
  made.work.measured_ns = 1'000'000;
  made.work.cost.flops = static_cast<std::uint64_t>(gflop_per_s * 1e6);
  made.work.cost.weights = static_cast<std::uint64_t>(gflop_per_s * 1e6 / flop_per_byte);
  return made;
}

LanePoint laneA(OpKind kind, double flop_per_byte, double gflop_per_s) {
  return {core::LaneId::kA, point(kind, flop_per_byte, gflop_per_s)};
}

core::MachineLimits machine() {
  core::MachineLimits limits;
  limits.read_bytes_per_s = 10e9;
  limits.fp32_flop_per_s = 100e9;
  limits.int8_op_per_s = 400e9;
  return limits;
}

}  // namespace

class TestRooflineLayout : public QObject {
  Q_OBJECT

 private slots:
  void axesAreWholeDecades() {
    const std::vector points = {laneA(OpKind::kLinear, 2, 18), laneA(OpKind::kAdd, 0.08, 0.3)};
    const RooflineAxes axes = axesFor(points, machine());
    QCOMPARE(axes.intensity.lower, 0.01);
    QCOMPARE(axes.intensity.upper, 100.0);  // the ridge of int8 is at 40
    QCOMPARE(axes.flop_per_s.lower, 0.1e9);
    QCOMPARE(axes.flop_per_s.upper, 1000e9);
    QCOMPARE(axesFor(points, {}).flop_per_s.upper, 100e9);  // no ceiling to hold
  }

  void axesOfNothingAreThere() {
    const RooflineAxes axes = axesFor({}, {});
    QVERIFY(axes.intensity.lower > 0 && axes.intensity.lower < axes.intensity.upper);
    QVERIFY(axes.flop_per_s.lower > 0 && axes.flop_per_s.lower < axes.flop_per_s.upper);
  }

  void theRoofHasACornerAtItsRidge() {
    const std::vector<QPointF> roof = roofCorners(10e9, 100e9, {0.1, 1000});
    QCOMPARE(roof, (std::vector<QPointF>{{0.1, 1e9}, {10, 100e9}, {1000, 100e9}}));
    QCOMPARE(roofCorners(10e9, 100e9, {0.1, 1}).size(), std::size_t{2});
    QCOMPARE(roofCorners(10e9, 100e9, {20, 40}), (std::vector<QPointF>{{20, 100e9}, {40, 100e9}}));
  }

  // From A to B for each op and phase that both have on the chart: a copy without arithmetic has no place there.
  void arrowsLeadFromLaneToLane() {
    LanePoint b = laneA(OpKind::kLinear, 4, 30);
    b.lane = core::LaneId::kB;
    LanePoint only_b = laneA(OpKind::kAttention, 1, 5);
    only_b.lane = core::LaneId::kB;
    LanePoint other_phase = b;
    other_phase.point.phase = Phase::kPrefill;
    LanePoint copy = laneA(OpKind::kAdd, 1, 0);
    LanePoint copy_b = copy;
    copy_b.lane = core::LaneId::kB;
    LanePoint a = laneA(OpKind::kLinear, 2, 18);
    a.point.phase = b.point.phase = Phase::kDecode;
    const std::vector<RooflineArrow> arrows = arrowsOf({other_phase, a, b, only_b, copy, copy_b});
    QCOMPARE(arrows.size(), std::size_t{1});
    QCOMPARE(arrows[0].kind, OpKind::kLinear);
    QCOMPARE(arrows[0].phase, Phase::kDecode);
    QCOMPARE(arrows[0].from, QPointF(2, 18e9));
    QCOMPARE(arrows[0].to, QPointF(4, 30e9));
    QVERIFY(arrowsOf({a, other_phase}).empty());
  }

  void arrowsEndAtTheDiscs() {
    QCOMPARE(betweenDiscs({0, 0}, 10, {100, 0}, 20), std::optional(QLineF(5, 0, 90, 0)));
    QCOMPARE(betweenDiscs({0, 0}, 10, {14, 0}, 20), std::nullopt);
    QCOMPARE(betweenDiscs({3, 3}, 0, {3, 3}, 0), std::nullopt);
  }

  // Four times the time is four times the area.
  void areasAreShares() {
    QCOMPARE(discDiameter(0.8), 2 * discDiameter(0.2));
    QCOMPARE(discDiameter(0), discDiameter(0.001));
    QVERIFY(discDiameter(0) > 4);
    QCOMPARE(discDiameter(2), discDiameter(1));
  }

  void labelsStandFree() {
    std::vector<PlotMark> marks;
    for (int i = 0; i < 6; ++i) marks.push_back({QPointF(100 + 12 * i, 100 + 9 * (i % 3)), 14.0 - i, QSizeF(48, 12)});
    const QRectF area(0, 0, 300, 200);
    const std::vector<QRectF> places = placeLabels(marks, area);
    QCOMPARE(places.size(), marks.size());
    int num_placed = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i].isNull()) continue;
      ++num_placed;
      QVERIFY(area.contains(places[i]));
      for (std::size_t k = 0; k < places.size(); ++k) {
        if (k != i) QVERIFY(!places[i].intersects(places[k]));
        const QPointF away = marks[k].centre - places[i].center();
        QVERIFY(std::abs(away.x()) > 24 || std::abs(away.y()) > 6);  // no disc's centre under a label
      }
    }
    QVERIFY(num_placed >= 4);
  }

  void labelsStayInside() {
    const QRectF area(0, 0, 100, 60);
    const PlotMark right_edge{{95, 30}, 10, {40, 12}};
    const std::vector<QRectF> places = placeLabels({right_edge}, area);
    QVERIFY(places[0].right() < 95);
    QVERIFY(placeLabels({{{50, 30}, 10, {200, 12}}}, area)[0].isNull());
    const PlotMark middle{{50, 30}, 10, {30, 12}};
    const QRectF right = placeLabels({middle}, area)[0];
    QVERIFY(right.left() > 50);
    QVERIFY(placeLabels({middle}, area, {right})[0].right() < 50);
  }

  void theTrailIsOfTheLastSteps() {
    RooflineTrail trail;
    const Frame frame = tests::fullFrame();
    for (const auto& step : frame.steps) trail.add(*step);
    QCOMPARE(trail.of(Phase::kPrefill, OpKind::kLinear).size(), RooflineTrail::kLength);
    QVERIFY(trail.of(Phase::kDecode, OpKind::kEmbed).empty());  // no arithmetic
    const auto last = std::ranges::find_if(frame.steps.rbegin(), frame.steps.rend(),
                                           [](const auto& step) { return step->num_prefill_tokens > 0; });
    double flops = 0, bytes = 0;
    for (const core::OpRecord& op : (*last)->ops) {
      if (op.kind != OpKind::kLinear) continue;
      flops += static_cast<double>(op.cost.flops);
      bytes += static_cast<double>(op.cost.bytes());
    }
    QCOMPARE(trail.of(Phase::kPrefill, OpKind::kLinear).back().x(), flops / bytes);
    trail.clear();
    QVERIFY(trail.of(Phase::kPrefill, OpKind::kLinear).empty());
  }

  void theTableHasTheSameNumbers() {
    RooflineTable table;
    core::RooflinePoint linear = point(OpKind::kLinear, 2, 18);
    linear.work.roof = {.memory_ns = 900'000, .compute_ns = 180'000};
    linear.work.floor_ns = 900'000;
    linear.time_share = 0.75;
    linear.bound = core::Bound::kBandwidth;
    table.setPoints({{core::LaneId::kB, linear}}, machine());
    QStringList cells;
    for (int i = 0; i < table.columnCount(); ++i) cells << table.data(table.index(0, i), Qt::DisplayRole).toString();
    QCOMPARE(
        cells.join(QStringLiteral(" | ")),
        QStringLiteral("B | linear | decode | bandwidth-bound | 75% | 2.00 | 18.0 GFLOP/s | 9.00 GB/s | 90% | 1.11×"));
    const QString tip = table.data(table.index(0, 0), Qt::ToolTipRole).toString();
    for (const char* part : {"18.0 MFLOP ÷ 9.00 MB = 2.00", "= 9.00 GB/s, 18.0 GFLOP/s", "÷ 10.0 GB/s = 900 µs",
                             "Share of the roof = floor ÷ measured = 90%", "1.11×", "Measured", "Counted"}) {
      QVERIFY2(tip.contains(QString::fromUtf8(part)), part);
    }
    for (int i = 0; i < table.columnCount(); ++i) {
      QVERIFY(table.headerData(i, Qt::Horizontal, Qt::ToolTipRole).toString().size() > 20);
    }
  }

  void withoutCeilingsThereAreNoShares() {
    RooflineTable table;
    table.setPoints({laneA(OpKind::kLinear, 2, 18)}, {});
    QCOMPARE(table.data(table.index(0, RooflineTable::kShareOfRoof), Qt::DisplayRole).toString(), QStringLiteral("–"));
    QCOMPARE(table.data(table.index(0, RooflineTable::kBound), Qt::DisplayRole).toString(), QStringLiteral("–"));
    QVERIFY(table.data(table.index(0, 0), Qt::ToolTipRole).toString().contains(QStringLiteral("not measured yet")));
  }
};

QTEST_GUILESS_MAIN(TestRooflineLayout)
#include "tst_roofline_layout.moc"
