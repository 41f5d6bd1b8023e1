// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/followed.h"
#include "gui/views/lane_panes.h"
#include "gui/views/lanes.h"
#include "tests/support/palettes.h"

#include <QTest>

using namespace inferoscope;
using namespace inferoscope::gui;
using core::LaneId;

class TestLanes : public QObject {
  Q_OBJECT

 private slots:
  void aSingleLaneHasAllRoom() {
    const PanesLayout layout = layoutPanes({400, 300}, 20, false);
    QCOMPARE(layout.panes[0].view, QRect(0, 0, 400, 300));
    QVERIFY(layout.panes[0].header.isEmpty() && layout.panes[1].view.isEmpty());
  }

  // Whatever the size, both views are equally large, so that one scale fits both, and nothing overlaps or sticks out.
  void twoLanesShareIt_data() {
    QTest::addColumn<QSize>("size");
    QTest::addColumn<bool>("beside");
    QTest::newRow("wide") << QSize(801, 300) << true;
    QTest::newRow("square") << QSize(400, 401) << false;
    QTest::newRow("narrow") << QSize(200, 700) << false;
    QTest::newRow("low") << QSize(500, 30) << true;
    QTest::newRow("tiny") << QSize(3, 3) << false;
  }
  void twoLanesShareIt() {
    QFETCH(QSize, size);
    QFETCH(bool, beside);
    const auto [a, b] = layoutPanes(size, 20, true).panes;
    QCOMPARE(a.view.size(), b.view.size());
    QCOMPARE(a.view.top() == b.view.top(), beside);
    const QRect all(QPoint(), size);
    for (const QRect& part : {a.header, a.view, b.header, b.view}) QVERIFY(part.isEmpty() || all.contains(part));
    QVERIFY(!a.view.intersects(b.view) && !a.view.intersects(b.header) && !a.header.intersects(a.view));
  }

  void settingsAreWhatDiffers() {
    core::EngineOptions a;
    core::EngineOptions b;
    QCOMPARE(laneSettings(a, b), QStringLiteral("the same knobs"));
    b.kv_layout = core::KvLayout::kContiguous;
    b.max_sequences = 4;
    QVERIFY2(laneSettings(a, b).contains(QStringLiteral("paged")), qPrintable(laneSettings(a, b)));
    QVERIFY2(laneSettings(b, a).contains(QStringLiteral("contiguous, ")), qPrintable(laneSettings(b, a)));
    QVERIFY(laneSettings(b, a).contains(QLatin1Char('4')));
  }

  // Whichever side asks: both lanes show the same request, as a picture of their requests from 1 on: "r"unning,
  // "w"aiting, "f"inished.
  void bothLanesFollowTheSame_data() {
    QTest::addColumn<QByteArray>("a");
    QTest::addColumn<QByteArray>("b");
    QTest::addColumn<int>("before");
    QTest::addColumn<int>("expected");
    QTest::newRow("the newest that runs in both") << QByteArray("rrwr") << QByteArray("rrrw") << -1 << 2;
    QTest::newRow("stays") << QByteArray("rrwr") << QByteArray("rrrw") << 1 << 1;
    QTest::newRow("never ran here") << QByteArray("rrwr") << QByteArray("rrrw") << 4 << 2;
    QTest::newRow("A is ahead: it stays") << QByteArray("ffrr") << QByteArray("frww") << 2 << 2;
    QTest::newRow("both have ended it") << QByteArray("ffrr") << QByteArray("ffrw") << 2 << 3;
    QTest::newRow("ended here, runs there") << QByteArray("fffr") << QByteArray("frww") << -1 << 2;
    QTest::newRow("ended in both") << QByteArray("ffrr") << QByteArray("ffww") << 2 << 2;
    QTest::newRow("B has not begun") << QByteArray("rrww") << QByteArray("wwww") << -1 << 2;
  }
  void bothLanesFollowTheSame() {
    QFETCH(QByteArray, a);
    QFETCH(QByteArray, b);
    QFETCH(int, before);
    QFETCH(int, expected);
    const auto lane = [](const QByteArray& states) {
      core::Snapshot snapshot;
      for (int i = 0; i < states.size(); ++i) {
        core::RequestInfo request;
        request.seq = core::SeqId{i + 1};
        request.state = states[i] == 'r'   ? core::SeqState::kRunning
                        : states[i] == 'f' ? core::SeqState::kFinished
                                           : core::SeqState::kWaiting;
        snapshot.requests.push_back(request);
      }
      return snapshot;
    };
    const core::Snapshot of_a = lane(a);
    const core::Snapshot of_b = lane(b);
    QCOMPARE(followed(of_a, {}, core::SeqId{before}, &of_b), core::SeqId{expected});
    QCOMPARE(followed(of_b, {}, core::SeqId{before}, &of_a), core::SeqId{expected});
    QCOMPARE(followed(of_a, core::SeqId{3}, core::SeqId{before}, &of_b), core::SeqId{3});
  }

  // By colour and by form, in both themes.
  void lanesAreToldApart() {
    for (const QPalette& palette : {tests::lightPalette(), tests::darkPalette()}) {
      const Theme theme = themeOf(palette);
      QVERIFY(laneColor(LaneId::kA, theme) != laneColor(LaneId::kB, theme));
      for (const LaneId lane : kLanes) QVERIFY(contrast(laneColor(lane, theme), theme.surface) >= 2.0);
    }
    QVERIFY(lanePen(LaneId::kA) != lanePen(LaneId::kB));
    QVERIFY(laneName(LaneId::kA) != laneName(LaneId::kB));
  }
};

QTEST_GUILESS_MAIN(TestLanes)
#include "tst_lanes.moc"
