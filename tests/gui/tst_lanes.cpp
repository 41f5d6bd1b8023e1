// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/followed.h"
#include "gui/views/lane_panes.h"
#include "gui/views/lanes.h"
#include "tests/support/palettes.h"

#include <QTest>

#include <algorithm>
#include <initializer_list>

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

  // Both lanes follow the newest request that runs in both, until it doesn't; a chosen one comes first.
  void bothLanesFollowTheSame() {
    const auto lane = [](std::initializer_list<int> running) {
      core::Snapshot snapshot;
      for (const int seq : {1, 2, 3, 4}) {
        const bool runs = std::ranges::find(running, seq) != running.end();
        core::RequestInfo request;
        request.seq = core::SeqId{seq};
        request.state = runs ? core::SeqState::kRunning : core::SeqState::kWaiting;
        snapshot.requests.push_back(request);
      }
      return snapshot;
    };
    const core::Snapshot a = lane({1, 2, 4});
    const core::Snapshot b = lane({1, 2, 3});
    QCOMPARE(followed(a, {}, {}, &b), core::SeqId{2});
    QCOMPARE(followed(b, {}, {}, &a), core::SeqId{2});
    QCOMPARE(followed(a, {}, core::SeqId{1}, &b), core::SeqId{1});  // it stays
    QCOMPARE(followed(a, {}, core::SeqId{4}, &b), core::SeqId{2});
    QCOMPARE(followed(a, core::SeqId{3}, {}, &b), core::SeqId{3});
    const core::Snapshot other = lane({3});
    QCOMPARE(followed(a, {}, {}, &other), core::SeqId{4});  // none runs in both
    QCOMPARE(followed(a, {}, core::SeqId{4}), core::SeqId{4});
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
