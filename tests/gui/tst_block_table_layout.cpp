// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/session/selection.h"
#include "gui/views/block_table_layout.h"
#include "gui/views/block_table_view.h"
#include "tests/support/frames.h"
#include "tests/support/palettes.h"

#include <QAbstractItemModelTester>
#include <QLabel>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableView>
#include <QTest>

using namespace inferoscope;
using core::BlockId;
using core::SeqId;
using gui::BlockRow;
using gui::BlockTableModel;

namespace {

// Request 3 with `num_tokens` computed tokens in these blocks of 4 slots; block 7 is held twice.
core::Snapshot snapshotOf(int num_tokens, const std::vector<int>& blocks) {
  core::Snapshot snapshot;
  snapshot.block_size = 4;
  snapshot.blocks.resize(10);
  core::RequestInfo request;
  request.seq = SeqId{3};
  request.state = core::SeqState::kRunning;
  request.num_computed_tokens = num_tokens;
  snapshot.requests.push_back(request);
  core::BlockTableInfo table{.seq = SeqId{3}, .blocks = {}, .prefixes = {}};
  for (const int block : blocks) {
    table.blocks.push_back(BlockId{block});
    snapshot.blocks[static_cast<std::size_t>(block)].ref_count = block == 7 ? 2 : 1;
  }
  for (int i = 0; i < num_tokens / 4; ++i) table.prefixes.push_back(static_cast<std::uint64_t>(0xabc0 + i));
  snapshot.tables.push_back(table);
  return snapshot;
}

}  // namespace

class TestBlockTableLayout : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates)); }
  void rowsOfARequest();
  void othersHaveNoRows();
  void addresses_data();
  void addresses();
  void barsStayInTheirCell();
  void theTableFollowsTheRequest();
  void aTokenPointsAtItsBlock();
  void aBlockPointsAtItsToken();
};

void TestBlockTableLayout::rowsOfARequest() {
  const std::vector<BlockRow> rows = gui::blockRows(snapshotOf(9, {7, 2, 5}), SeqId{3});
  QCOMPARE(rows.size(), std::size_t(3));
  QCOMPARE(rows[0],
           (BlockRow{.first_token = 0, .num_tokens = 4, .block = BlockId{7}, .ref_count = 2, .prefix = 0xabc0}));
  QCOMPARE(rows[1],
           (BlockRow{.first_token = 4, .num_tokens = 4, .block = BlockId{2}, .ref_count = 1, .prefix = 0xabc1}));
  QCOMPARE(rows[2], (BlockRow{.first_token = 8, .num_tokens = 1, .block = BlockId{5}, .ref_count = 1, .prefix = {}}));
  QCOMPARE(gui::numTokens(rows), 9);
  QCOMPARE(gui::rowOf(rows, BlockId{5}), 2);
  QCOMPARE(gui::rowOf(rows, BlockId{6}), -1);
  QCOMPARE(gui::rowOf(rows, BlockId{}), -1);
}

void TestBlockTableLayout::othersHaveNoRows() {
  QVERIFY(gui::blockRows(snapshotOf(9, {7, 2, 5}), SeqId{4}).empty());
  QVERIFY(gui::blockRows(core::Snapshot{}, SeqId{3}).empty());
}

void TestBlockTableLayout::addresses_data() {
  QTest::addColumn<int>("token");
  QTest::addColumn<int>("logical");
  QTest::addColumn<int>("slot");
  QTest::addColumn<int>("block");
  QTest::addColumn<qlonglong>("cache_slot");
  QTest::newRow("the first") << 0 << 0 << 0 << 7 << 28LL;
  QTest::newRow("last of a block") << 3 << 0 << 3 << 7 << 31LL;
  QTest::newRow("first of the next") << 4 << 1 << 0 << 2 << 8LL;
  QTest::newRow("the last") << 8 << 2 << 0 << 5 << 20LL;
}

void TestBlockTableLayout::addresses() {
  QFETCH(int, token);
  const std::vector<BlockRow> rows = gui::blockRows(snapshotOf(9, {7, 2, 5}), SeqId{3});
  const auto address = gui::addressOf(rows, 4, token);
  QVERIFY(address.has_value());
  QTEST(address->logical, "logical");
  QTEST(address->slot, "slot");
  QTEST(address->block.value, "block");
  QTEST(static_cast<qlonglong>(address->cacheSlot()), "cache_slot");
  QVERIFY(!gui::addressOf(rows, 4, 9));
  QVERIFY(!gui::addressOf(rows, 4, -1));
  QVERIFY(!gui::addressOf({}, 4, 0));
}

void TestBlockTableLayout::barsStayInTheirCell() {
  const QRect cell(10, 40, 60, 20);
  for (const int filled : {0, 1, 8, 16, 99}) {
    const gui::FillBar bar = gui::layoutFillBar(cell, filled, 16);
    QVERIFY(cell.contains(bar.whole));
    QVERIFY(filled == 0 ? bar.filled.isEmpty() : bar.whole.contains(bar.filled));
  }
  QCOMPARE(gui::layoutFillBar(cell, 8, 16).filled.width() * 2, gui::layoutFillBar(cell, 16, 16).filled.width());
  QVERIFY(gui::layoutFillBar(QRect(0, 0, 2, 2), 3, 16).filled.isEmpty());
}

void TestBlockTableLayout::theTableFollowsTheRequest() {
  BlockTableModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
  model.setRows(gui::blockRows(snapshotOf(9, {7, 2, 5}), SeqId{3}), 4);
  const auto text = [&model](int row, int column) { return model.index(row, column).data().toString(); };
  QCOMPARE(text(1, BlockTableModel::kTokens), QStringLiteral("4 – 7"));
  QCOMPARE(text(2, BlockTableModel::kTokens), QStringLiteral("8 – 8"));
  QCOMPARE(text(0, BlockTableModel::kBlock), QStringLiteral("7"));
  QCOMPARE(text(0, BlockTableModel::kRefCount), QStringLiteral("×2"));
  QCOMPARE(text(0, BlockTableModel::kPrefix), QStringLiteral("000000000000abc0"));
  QCOMPARE(text(2, BlockTableModel::kPrefix), QStringLiteral("–"));

  const QSignalSpy grown(&model, &QAbstractItemModel::rowsInserted);
  model.setRows(gui::blockRows(snapshotOf(13, {7, 2, 5, 1}), SeqId{3}), 4);
  QCOMPARE(grown.count(), 1);
  QCOMPARE(model.rowCount(), 4);
  QCOMPARE(text(2, BlockTableModel::kTokens), QStringLiteral("8 – 11"));
  model.setRows({}, 4);
  QCOMPARE(model.rowCount(), 0);
}

void TestBlockTableLayout::aTokenPointsAtItsBlock() {
  gui::Selection selection;
  gui::BlockTableView view(selection, nullptr);
  view.resize(500, 400);
  view.show();
  view.showModel(tests::toyModel());
  const gui::Frame frame = tests::fullFrame();
  view.showFrame(frame);
  const core::BlockTableInfo& table = frame.snapshot->tables.front();
  selection.setRequest(table.seq);
  QVERIFY(!selection.block().valid());  // nobody has asked yet
  auto* token = view.findChild<QSpinBox*>();
  token->setValue(21);
  QCOMPARE(selection.block(), table.blocks[1]);
  QCOMPARE(view.findChild<QTableView*>()->selectionModel()->selectedRows().front().row(), 1);
  QStringList words;
  for (const QLabel* label : view.findChildren<QLabel*>()) words << label->text();
  const QString sum = QStringLiteral("logical block 21 ÷ 16 = 1, slot 21 mod 16 = 5");
  QVERIFY2(words.join(QLatin1Char('\n')).contains(sum), qPrintable(words.join(QLatin1Char('\n'))));
}

void TestBlockTableLayout::aBlockPointsAtItsToken() {
  gui::Selection selection;
  gui::BlockTableView view(selection, nullptr);
  view.resize(500, 400);
  view.show();
  view.showModel(tests::toyModel());
  const gui::Frame frame = tests::fullFrame();
  view.showFrame(frame);
  const core::BlockTableInfo& table = frame.snapshot->tables.front();
  selection.setRequest(table.seq);
  auto* token = view.findChild<QSpinBox*>();
  token->setValue(3);
  selection.setBlock(table.blocks[2]);
  QCOMPARE(token->value(), 32);
  token->setValue(34);
  QCOMPARE(selection.block(), table.blocks[2]);
  QCOMPARE(token->value(), 34);  // still in the block: it stays
}

QTEST_MAIN(TestBlockTableLayout)
#include "tst_block_table_layout.moc"
