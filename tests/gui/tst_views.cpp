// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/paint/theme.h"
#include "gui/views/view_catalog.h"
#include "tests/support/frames.h"
#include "tests/support/palettes.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHelpEvent>
#include <QLabel>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QSet>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <QToolTip>
#include <QTreeView>

#include <qcustomplot.h>

#include <memory>

using namespace inferoscope;
using core::SeqId;

Q_DECLARE_METATYPE(inferoscope::gui::ViewRow)

namespace {

// A view of the catalog with its selection, shown at some size.
struct Shown {
  explicit Shown(const gui::ViewRow& row, QSize size = QSize(640, 400)) : view(row.make(selection, nullptr)) {
    view->resize(size);
    view->show();
  }

  void load() const {
    view->showModel(tests::toyModel());
    view->showLimits(tests::toyLimits());
  }
  QImage picture() const {
    QCoreApplication::processEvents();
    return view->grab().toImage();
  }

  // Where the mouse and the keys go: the view, or the one in its pane of lane A.
  QWidget* canvas() const {
    auto* pane = view->findChild<gui::View*>();
    return pane != nullptr ? pane : view.get();
  }

  gui::Selection selection;
  std::unique_ptr<gui::View> view;
};

const gui::ViewRow& rowOf(const char* id) {
  const auto rows = gui::viewCatalog();
  return *std::ranges::find_if(rows, [id](const gui::ViewRow& row) { return qstrcmp(row.id, id) == 0; });
}

// The highest contrast of any colour against the corner's: that of the text, where there is some.
double strongestContrast(const QImage& image) {
  QSet<QRgb> colors;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) colors.insert(image.pixel(x, y));
  }
  double most = 1;
  for (const QRgb color : colors) most = std::max(most, gui::contrast(QColor(color), image.pixelColor(1, 1)));
  return most;
}

// The titles of bandwidth and compute in the utilisation view.
QString sharesToldOf(const gui::Frame& frame, bool measured) {
  const Shown shown(rowOf("utilisation"));
  shown.view->showModel(tests::toyModel());
  if (measured) shown.view->showLimits(tests::toyLimits());
  shown.view->showFrame(frame);
  QStringList texts;
  for (QCPLayoutElement* element : shown.view->findChild<QCustomPlot*>()->plotLayout()->elements(true)) {
    if (const auto* title = qobject_cast<QCPTextElement*>(element)) texts << title->text();
  }
  return texts.filter(QRegularExpression(QStringLiteral("Bandwidth|Compute"))).join(QLatin1Char('\n'));
}

void addCatalogRows() {
  QTest::addColumn<gui::ViewRow>("row");
  for (const gui::ViewRow& row : gui::viewCatalog()) QTest::newRow(row.id) << row;
}

}  // namespace

class TestViews : public QObject {
  Q_OBJECT

 private slots:
  void cleanup() { QApplication::setPalette(tests::lightPalette()); }
  void catalogIsSound();
  void framesChangeThePicture_data();
  void framesChangeThePicture();
  void followsThePalette_data() { addCatalogRows(); }
  void followsThePalette();
  void plotsFollowThePalette();
  void survivesAnySize_data() { addCatalogRows(); }
  void survivesAnySize();
  void aNewModelForgetsTheOld_data() { addCatalogRows(); }
  void aNewModelForgetsTheOld();
  void paintsNothingWhileHidden();
  void keepsWhatCameWhileHidden_data() { addCatalogRows(); }
  void keepsWhatCameWhileHidden();
  void choosingShowsInAllViews_data();
  void choosingShowsInAllViews();
  void hoverAndClickInTheMap();
  void keysInTheMap();
  void hoverAndClickInTheLanes();
  void draggingGoesBackInTheLanes();
  void choosingInTheTable();
  void figuresAreExplained_data();
  void figuresAreExplained();
  void percentagesNeedAProbe();
  void theGpusDriverIsNamed();
  void rowsAreCopied_data();
  void rowsAreCopied();
  void unfoldedRowsAreCopied();
  void streamFollowsOnlyAtItsEnd();
  void twoLanesAreShown_data() { framesChangeThePicture_data(); }
  void twoLanesAreShown();
  void aComparisonEnds_data() { addCatalogRows(); }
  void aComparisonEnds();
  void lanesChooseTogether();
};

void TestViews::catalogIsSound() {
  QSet<QString> ids;
  QSet<QString> shortcuts;
  for (const gui::ViewRow& row : gui::viewCatalog()) {
    ids.insert(row.id);
    shortcuts.insert(row.shortcut);
    QVERIFY(!QKeySequence(row.shortcut).isEmpty());
    QVERIFY(qstrlen(row.title) > 0 && qstrlen(row.explanation) > qstrlen(row.title));
    gui::Selection selection;
    const std::unique_ptr<gui::View> view(row.make(selection, nullptr));
    QVERIFY(!view->accessibleName().isEmpty() && !view->accessibleDescription().isEmpty());
  }
  QCOMPARE(ids.size(), static_cast<qsizetype>(gui::viewCatalog().size()));
  QCOMPARE(shortcuts.size(), static_cast<qsizetype>(gui::viewCatalog().size()));
}

void TestViews::framesChangeThePicture_data() {
  QTest::addColumn<gui::ViewRow>("row");
  QTest::addColumn<QPalette>("palette");
  for (const gui::ViewRow& row : gui::viewCatalog()) {
    QTest::addRow("%s light", row.id) << row << tests::lightPalette();
    QTest::addRow("%s dark", row.id) << row << tests::darkPalette();
  }
}

void TestViews::framesChangeThePicture() {
  QFETCH(gui::ViewRow, row);
  QFETCH(QPalette, palette);
  QApplication::setPalette(palette);
  const Shown shown(row);
  const QImage none = shown.picture();
  shown.load();
  shown.view->showFrame(tests::emptyFrame());
  const QImage empty = shown.picture();
  QVERIFY(none != empty);
  shown.view->showFrame(tests::smallFrame());
  QTRY_VERIFY(shown.picture() != empty);  // a table takes its time between updates
  const QImage small = shown.picture();
  shown.view->showFrame(tests::fullFrame());
  QTRY_VERIFY(shown.picture() != small);
  const QImage full = shown.picture();
  QCOMPARE(full.pixelColor(1, full.height() - 2).lightness() < 128, gui::themeOf(palette).dark);
  for (const QImage& image : {none, empty, small, full}) QVERIFY(strongestContrast(image) >= 4.5);
}

// A palette that changes while the view is shown gives the same picture as one that was there before.
void TestViews::followsThePalette() {
  QFETCH(gui::ViewRow, row);
  QApplication::setPalette(tests::darkPalette());
  const Shown dark(row);
  dark.load();
  dark.view->showFrame(tests::fullFrame());
  const QImage expected = dark.picture();
  QApplication::setPalette(tests::lightPalette());
  const Shown changed(row);
  changed.load();
  changed.view->showFrame(tests::fullFrame());
  const QImage light = changed.picture();
  QApplication::setPalette(tests::darkPalette());
  QVERIFY(light != expected);
  QCOMPARE(changed.picture(), expected);
}

void TestViews::plotsFollowThePalette() {
  const Shown shown(rowOf("utilisation"));
  shown.load();
  shown.view->showFrame(tests::fullFrame());
  for (const QPalette& palette : {tests::lightPalette(), tests::darkPalette()}) {
    QApplication::setPalette(palette);
    QCoreApplication::processEvents();
    const auto* plot = shown.view->findChild<QCustomPlot*>();
    const QColor ground = gui::themeOf(palette).surface;
    for (const QCPAxisRect* rect : plot->axisRects()) {
      for (const QCPAxis* axis : rect->axes()) QVERIFY(gui::contrast(axis->tickLabelColor(), ground) >= 4.5);
    }
    int num_titles = 0;
    for (QCPLayoutElement* element : plot->plotLayout()->elements(true)) {
      const auto* title = qobject_cast<QCPTextElement*>(element);
      if (title == nullptr) continue;
      ++num_titles;
      QVERIFY(gui::contrast(title->textColor(), ground) >= 4.5);
    }
    QCOMPARE(num_titles, 5);
  }
}

void TestViews::survivesAnySize() {
  QFETCH(gui::ViewRow, row);
  Shown shown(row);
  shown.load();
  shown.view->setMinimumSize(0, 0);
  for (const gui::Frame& frame : {tests::fullFrame(), tests::blocksFrame(100'000), tests::emptyFrame()}) {
    shown.view->showFrame(frame);
    for (const QSize& size : {QSize(1, 1), QSize(17, 17), QSize(1600, 20), QSize(20, 1200), QSize(90, 90)}) {
      shown.view->resize(size);
      shown.selection.setHovered(SeqId{12});
      QVERIFY(!shown.picture().isNull());
      QTest::mouseMove(shown.view.get(), QPoint(size.width() / 2, size.height() / 2));
    }
  }
}

void TestViews::aNewModelForgetsTheOld() {
  QFETCH(gui::ViewRow, row);
  const Shown shown(row);
  shown.load();
  const QImage fresh = shown.picture();
  shown.view->showFrame(tests::fullFrame());
  QVERIFY(shown.picture() != fresh);
  shown.load();
  QCOMPARE(shown.picture(), fresh);
}

void TestViews::paintsNothingWhileHidden() {
  const Shown strips(rowOf("utilisation"));
  strips.load();
  strips.picture();
  strips.view->hide();
  auto* plot = strips.view->findChild<QCustomPlot*>();
  const QSignalSpy replots(plot, &QCustomPlot::afterReplot);
  const Shown table(rowOf("requests"));
  table.load();
  table.view->hide();
  for (int i = 0; i < 10; ++i) {
    strips.view->showFrame(tests::fullFrame());
    table.view->showFrame(tests::fullFrame());
    QCoreApplication::processEvents();
  }
  QCOMPARE(replots.count(), 0);
  QCOMPARE(table.view->findChild<QTableView*>()->model()->rowCount(), 0);
}

void TestViews::keepsWhatCameWhileHidden() {
  QFETCH(gui::ViewRow, row);
  QImage pictures[2];
  for (const bool hidden : {false, true}) {
    const Shown shown(row);
    shown.load();
    if (hidden) shown.view->hide();
    shown.view->showFrame(tests::fullFrame());
    shown.view->show();
    pictures[hidden ? 1 : 0] = shown.picture();
  }
  QCOMPARE(pictures[1], pictures[0]);
}

void TestViews::choosingShowsInAllViews_data() {
  QTest::addColumn<gui::ViewRow>("row");
  for (const char* id : {"kv-map", "batch-lanes", "requests", "token-stream", "block-table", "waiting"}) {
    QTest::newRow(id) << rowOf(id);
  }
}

void TestViews::choosingShowsInAllViews() {
  QFETCH(gui::ViewRow, row);
  const gui::Frame frame = tests::fullFrame();
  Shown shown(row);
  shown.load();
  shown.view->showFrame(frame);
  const QImage before = shown.picture();
  shown.selection.setRequest(frame.snapshot->requests.back().state == core::SeqState::kRunning
                                 ? frame.snapshot->requests.back().seq
                                 : frame.snapshot->requests[3].seq);
  QVERIFY(shown.picture() != before);
}

void TestViews::hoverAndClickInTheMap() {
  const gui::Frame frame = tests::smallFrame();  // request 0 holds the first blocks
  Shown shown(rowOf("kv-map"));
  shown.load();
  shown.view->showFrame(frame);
  QPoint point(14, 0);
  while (!shown.selection.hovered().valid() && point.y() < shown.view->height()) {
    point.ry() += 5;
    QTest::mouseMove(shown.canvas(), point);
  }
  QCOMPARE(shown.selection.hovered(), SeqId{0});
  QTest::mouseClick(shown.canvas(), Qt::LeftButton, {}, point);
  QCOMPARE(shown.selection.request(), SeqId{0});
  QEvent leave(QEvent::Leave);
  QCoreApplication::sendEvent(shown.canvas(), &leave);
  QVERIFY(!shown.selection.hovered().valid());
  QTest::mouseClick(shown.canvas(), Qt::LeftButton, {}, QPoint(600, 300));  // a free block: nothing chosen
  QVERIFY(!shown.selection.request().valid());
}

void TestViews::keysInTheMap() {
  const gui::Frame frame = tests::smallFrame();  // request 0 holds the first blocks
  Shown shown(rowOf("kv-map"));
  shown.load();
  shown.view->showFrame(frame);
  const QImage before = shown.picture();
  QVERIFY(!shown.selection.block().valid());
  QTest::keyClick(shown.canvas(), Qt::Key_Right);
  QCOMPARE(shown.selection.block(), core::BlockId{0});
  QVERIFY(shown.picture() != before);
  QVERIFY(shown.canvas()->accessibleDescription().startsWith(QStringLiteral("Block 0")));
  QTest::keyClick(shown.canvas(), Qt::Key_Right);
  QCOMPARE(shown.selection.block(), core::BlockId{1});
  QVERIFY(!shown.selection.request().valid());
  QTest::keyClick(shown.canvas(), Qt::Key_Return);
  QCOMPARE(shown.selection.request(), frame.snapshot->blocks[1].owner);
  QVERIFY(shown.selection.request().valid());
  QTest::keyClick(shown.canvas(), Qt::Key_End);
  QCOMPARE(shown.selection.block().value, static_cast<int>(frame.snapshot->blocks.size()) - 1);
  QTest::keyClick(shown.canvas(), Qt::Key_Escape);
  QVERIFY(!shown.selection.block().valid() && !shown.selection.request().valid());
}

void TestViews::draggingGoesBackInTheLanes() {
  Shown shown(rowOf("batch-lanes"));
  shown.load();
  shown.view->showFrame(tests::fullFrame());
  const QImage latest = shown.picture();
  const QPoint from(300, 200);
  QTest::mousePress(shown.canvas(), Qt::LeftButton, {}, from);
  QMouseEvent drag(QEvent::MouseMove, from + QPoint(100, 0), shown.canvas()->mapToGlobal(from + QPoint(100, 0)),
                   Qt::NoButton, Qt::LeftButton, {});
  QCoreApplication::sendEvent(shown.canvas(), &drag);
  QTest::mouseRelease(shown.canvas(), Qt::LeftButton, {}, from + QPoint(100, 0));
  QVERIFY(shown.picture() != latest);
  QVERIFY(!shown.selection.request().valid());  // a drag chooses nobody
  QTest::keyClick(shown.canvas(), Qt::Key_End);
  QTest::mouseMove(shown.canvas(), QPoint(2, 2));
  QCOMPARE(shown.picture(), latest);
}

void TestViews::hoverAndClickInTheLanes() {
  Shown shown(rowOf("batch-lanes"));
  shown.load();
  shown.view->showFrame(tests::smallFrame());
  QPoint point(shown.view->width() - 14, 0);
  while (!shown.selection.hovered().valid() && point.y() < shown.view->height()) {
    point.ry() += 5;
    QTest::mouseMove(shown.canvas(), point);
  }
  QCOMPARE(shown.selection.hovered(), SeqId{0});
  QTest::mouseClick(shown.canvas(), Qt::LeftButton, {}, point);
  QCOMPARE(shown.selection.request(), SeqId{0});
}

void TestViews::choosingInTheTable() {
  Shown shown(rowOf("requests"));
  shown.load();
  shown.view->showFrame(tests::fullFrame());
  auto* table = shown.view->findChild<QTableView*>();
  QVERIFY(!shown.selection.request().valid());  // the focus alone chooses nothing
  const QPoint second = table->visualRect(table->model()->index(1, 0)).center();
  QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, second);
  QCOMPARE(shown.selection.request(), SeqId{38});
  shown.selection.setRequest(SeqId{36});
  QCOMPARE(table->selectionModel()->selectedRows().size(), 1);
  QCOMPARE(table->selectionModel()->selectedRows().front().row(), 3);
  QCOMPARE(shown.selection.request(), SeqId{36});
  shown.selection.setRequest({});
  QVERIFY(table->selectionModel()->selectedRows().isEmpty());
}

void TestViews::figuresAreExplained_data() {
  QTest::addColumn<gui::ViewRow>("row");
  QTest::addColumn<QPoint>("at");
  QTest::newRow("block gauge") << rowOf("kv-map") << QPoint(60, 15);
  QTest::newRow("slot gauge") << rowOf("kv-map") << QPoint(500, 15);
  QTest::newRow("block") << rowOf("kv-map") << QPoint(20, 50);
  QTest::newRow("lanes' summary") << rowOf("batch-lanes") << QPoint(60, 15);
  QTest::newRow("step") << rowOf("batch-lanes") << QPoint(600, 100);
  QTest::newRow("tokens") << rowOf("utilisation") << QPoint(300, 60);
  QTest::newRow("cache") << rowOf("utilisation") << QPoint(300, 360);
  QTest::newRow("roof") << rowOf("roofline") << QPoint(80, 20);
  QTest::newRow("waterfall") << rowOf("step-time") << QPoint(300, 60);
  QTest::newRow("op of a step") << rowOf("step-time") << QPoint(100, 260);
  QTest::newRow("bytes a token") << rowOf("token-bytes") << QPoint(200, 250);
  QTest::newRow("legend of bytes") << rowOf("token-bytes") << QPoint(20, 15);
  QTest::newRow("tape") << rowOf("token-bytes") << QPoint(560, 200);
  QTest::newRow("ttft") << rowOf("latency") << QPoint(300, 60);
  QTest::newRow("waiting") << rowOf("waiting") << QPoint(300, 100);
}

void TestViews::figuresAreExplained() {
  QFETCH(gui::ViewRow, row);
  QFETCH(QPoint, at);
  const Shown shown(row);
  shown.load();
  shown.view->showFrame(tests::fullFrame());
  shown.picture();
  QWidget* target = shown.view->childAt(at) != nullptr ? shown.view->childAt(at) : shown.view.get();
  const QPoint global = shown.view->mapToGlobal(at);
  QHelpEvent help(QEvent::ToolTip, target->mapFromGlobal(global), global);
  QToolTip::hideText();
  QCoreApplication::sendEvent(target, &help);
  QVERIFY(QToolTip::text().size() > 20);
}

void TestViews::percentagesNeedAProbe() {
  const auto titles = [](bool measured) { return sharesToldOf(tests::fullFrame(), measured); };
  QVERIFY(titles(true).contains(QStringLiteral("of 34.0 GB/s")));
  QVERIFY(titles(true).contains(QStringLiteral("of 400 GOP/s int8")));
  QVERIFY(!titles(false).contains(QLatin1Char('%')));
  QVERIFY(titles(false).contains(QStringLiteral("GB/s")));
}

// Beside the compute use, which has a ceiling or has not; not there where the driver says nothing.
void TestViews::theGpusDriverIsNamed() {
  gui::Frame frame = tests::fullFrame();
  QVERIFY(!sharesToldOf(frame, true).contains(QStringLiteral("NVML")));
  for (auto& step : frame.steps) {
    auto told = std::make_shared<core::StepRecord>(*step);
    told->gpu_busy = 0.97;
    step = told;
  }
  for (const bool measured : {true, false}) {
    const QString titles = sharesToldOf(frame, measured);
    QVERIFY2(titles.contains(QStringLiteral("GPU 97% busy by NVML")), qPrintable(titles));
  }
}

void TestViews::rowsAreCopied_data() {
  QTest::addColumn<gui::ViewRow>("row");
  QTest::addColumn<QString>("heading");
  QTest::newRow("requests") << rowOf("requests") << "TTFT (ms)";
  QTest::newRow("roofline") << rowOf("roofline") << "Moves (GB/s)";
  QTest::newRow("ops of a step") << rowOf("step-time") << "Time (ms)";
  QTest::newRow("block table") << rowOf("block-table") << "Prefix hash";
}

// Nothing is chosen: all rows that can be seen, tab-separated, each with a cell for each heading.
void TestViews::rowsAreCopied() {
  QFETCH(gui::ViewRow, row);
  QFETCH(QString, heading);
  const Shown shown(row);
  shown.load();
  shown.view->showFrame(tests::fullFrame());
  shown.picture();
  const auto* table = shown.view->findChild<QAbstractItemView*>();
  QCOMPARE(table->actions().size(), 1);
  QGuiApplication::clipboard()->clear();
  table->actions().front()->trigger();
  QStringList lines = QGuiApplication::clipboard()->text().split(QLatin1Char('\n'));
  QCOMPARE(lines.takeLast(), QString());
  QCOMPARE(lines.size(), table->model()->rowCount() + 1);
  QVERIFY2(lines.front().split(QLatin1Char('\t')).contains(heading), qPrintable(lines.front()));
  for (const QString& line : lines) QCOMPARE(line.count(QLatin1Char('\t')), table->model()->columnCount() - 1);
}

void TestViews::unfoldedRowsAreCopied() {
  const Shown shown(rowOf("step-time"));
  shown.load();
  shown.view->showFrame(tests::fullFrame());
  shown.picture();
  auto* tree = shown.view->findChild<QTreeView*>();
  const QModelIndex layer = tree->model()->index(1, 0);
  tree->expand(layer);
  tree->actions().front()->trigger();
  const QString text = QGuiApplication::clipboard()->text();
  QCOMPARE(text.count(QLatin1Char('\n')), tree->model()->rowCount() + tree->model()->rowCount(layer) + 1);
  QVERIFY2(text.contains(QStringLiteral("\nlayer 0 / attn_norm\t")), qPrintable(text.left(400)));
}

void TestViews::streamFollowsOnlyAtItsEnd() {
  const Shown shown(rowOf("token-stream"), QSize(300, 160));
  shown.load();
  gui::Frame frame = tests::smallFrame();
  const SeqId seq = frame.snapshot->requests.front().seq;
  const auto say = [&](int num_lines) {
    frame.texts.clear();
    for (int i = 0; i < num_lines; ++i) frame.texts.push_back({seq, "line\n", 1, false});
    shown.view->showFrame(frame);
    QCoreApplication::processEvents();
  };
  say(100);
  const QScrollBar* bar = shown.view->findChild<QPlainTextEdit*>()->verticalScrollBar();
  QVERIFY(bar->maximum() > 0);
  QCOMPARE(bar->value(), bar->maximum());
  shown.view->findChild<QPlainTextEdit*>()->verticalScrollBar()->setValue(3);
  say(10);
  QCOMPARE(bar->value(), 3);
  shown.view->findChild<QPlainTextEdit*>()->verticalScrollBar()->setValue(bar->maximum());
  say(10);
  QCOMPARE(bar->value(), bar->maximum());
}

// In both themes and at several sizes: a picture unlike that of lane A alone, with text that can be read.
void TestViews::twoLanesAreShown() {
  QFETCH(gui::ViewRow, row);
  QFETCH(QPalette, palette);
  QApplication::setPalette(palette);
  gui::Frame two = tests::comparedFrame();
  for (const QSize& size : {QSize(900, 420), QSize(300, 500), QSize(40, 30)}) {
    const Shown alone(row, size);
    alone.load();
    alone.view->showFrame({two, std::nullopt});
    const Shown both(row, size);
    both.load();
    both.view->showFrame(two);
    const QImage picture = both.picture();
    QVERIFY(picture != alone.picture());
    if (size.width() > 100) QVERIFY(strongestContrast(picture) >= 4.5);
  }
}

// As if there had been lane A alone. Shown one after the other: only one of two windows has the focus.
void TestViews::aComparisonEnds() {
  QFETCH(gui::ViewRow, row);
  const gui::Frame two = tests::comparedFrame();
  const gui::Frame one{two, std::nullopt};
  QImage pictures[2];
  for (const bool compared : {false, true}) {
    Shown shown(row, QSize(900, 500));
    shown.load();
    shown.selection.setRequest(SeqId{39});  // else each might follow another one; the newest: a table needn't scroll
    if (!compared) shown.view->hide();
    shown.view->showFrame(compared ? two : one);
    shown.picture();
    shown.view->hide();
    shown.view->showFrame(tests::nextFrame(one));
    shown.view->show();  // draws at once, whenever it did so last
    pictures[compared ? 1 : 0] = shown.picture();
  }
  QCOMPARE(pictures[1], pictures[0]);
}

void TestViews::lanesChooseTogether() {
  const gui::Frame two = tests::comparedFrame();
  Shown shown(rowOf("kv-map"), QSize(900, 420));
  shown.load();
  shown.view->showFrame(two);
  const QList<gui::View*> panes = shown.view->findChildren<gui::View*>();
  QCOMPARE(panes.size(), 2);
  QPoint point(14, 60);
  while (!shown.selection.hovered().valid() && point.x() < panes[1]->width()) {
    point.rx() += 5;
    QTest::mouseMove(panes[1], point);
  }
  QVERIFY(shown.selection.hovered().valid());
  QTest::mouseClick(panes[1], Qt::LeftButton, {}, point);
  QCOMPARE(shown.selection.request(), shown.selection.hovered());
  QVERIFY(!shown.selection.block().valid());  // blocks are each lane's own
  const QImage chosen = shown.picture();
  shown.selection.setHovered({});
  shown.selection.setRequest({});
  QVERIFY(shown.picture() != chosen);
}

int main(int argc, char** argv) {
  QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
  QApplication app(argc, argv);
  QApplication::setPalette(tests::lightPalette());
  TestViews test;
  return QTest::qExec(&test, argc, argv);
}
#include "tst_views.moc"
