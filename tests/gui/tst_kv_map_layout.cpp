// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/kv_map_layout.h"
#include "gui/views/kv_map_raster.h"
#include "tests/support/frames.h"
#include "tests/support/palettes.h"

#include <QTest>

#include <vector>

using namespace inferoscope;
using core::BlockState;
using core::SeqId;
using gui::KvMapGrid;

class TestKvMapLayout : public QObject {
  Q_OBJECT

 private slots:
  void countsBlocksByState();
  void countsAgreeWithTheSnapshot();
  void gridDensity_data();
  void gridDensity();
  void everyBlockHasItsPlace_data();
  void everyBlockHasItsPlace();
  void stepsFromBlockToBlock();
  void partsStayApart_data();
  void partsStayApart();
  void fillsFromBelow();
  void statesDifferInForm();
  void aPixelShowsItsMostTellingBlock();
  void othersFade();
  void cellsAreAsManySlotsInBothLanes_data();
  void cellsAreAsManySlotsInBothLanes();
  void aReservationIsAStripWithAHole();
  void aLaneWithFewerCellsLeavesTheRestEmpty();
};

void TestKvMapLayout::countsBlocksByState() {
  const std::vector<core::BlockInfo> blocks = {
      {.owner = {}, .num_tokens = 0, .state = BlockState::kFree},
      {.owner = {}, .num_tokens = 16, .state = BlockState::kCached},
      {.owner = SeqId{1}, .num_tokens = 16, .ref_count = 1, .state = BlockState::kUsed},
      {.owner = SeqId{1}, .num_tokens = 3, .ref_count = 1, .state = BlockState::kUsed},
      {.owner = SeqId{1}, .num_tokens = 16, .ref_count = 4, .state = BlockState::kShared},
  };
  const gui::BlockCounts counts = gui::countBlocks(blocks);
  QCOMPARE(counts.free, 1);
  QCOMPARE(counts.cached, 1);
  QCOMPARE(counts.used, 2);
  QCOMPARE(counts.shared, 1);
  QCOMPARE(counts.all(), 5);
  QCOMPARE(counts.held(), 3);
  QCOMPARE(counts.held_slots, 35);  // what is cached is free: its tokens hold nothing back
}

void TestKvMapLayout::countsAgreeWithTheSnapshot() {
  const gui::Frame frame = tests::fullFrame();
  const gui::BlockCounts counts = gui::countBlocks(frame.snapshot->blocks);
  QVERIFY(counts.shared > 0 && counts.cached > 0 && counts.used > 0);
  QCOMPARE(counts.held(), frame.snapshot->numUsedBlocks());
  const auto all_slots = static_cast<double>(counts.all() * frame.snapshot->block_size);
  QCOMPARE(static_cast<double>(counts.held_slots) / all_slots, frame.snapshot->slotUse());
}

void TestKvMapLayout::gridDensity_data() {
  QTest::addColumn<int>("num_blocks");
  QTest::addColumn<int>("cell");
  QTest::addColumn<int>("blocks_per_pixel");
  QTest::newRow("nothing") << 0 << 0 << 1;
  QTest::newRow("one block is not blown up") << 1 << gui::kLargestCell << 1;
  QTest::newRow("with labels") << 256 << 36 << 1;
  QTest::newRow("whole cells") << 4000 << 9 << 1;
  QTest::newRow("a few pixels a block") << 50'000 << 0 << 1;
  QTest::newRow("more blocks than pixels") << 1'000'000 << 0 << 3;
}

void TestKvMapLayout::gridDensity() {
  QFETCH(int, num_blocks);
  QFETCH(int, cell);
  QFETCH(int, blocks_per_pixel);
  const KvMapGrid grid = gui::gridFor(QRect(8, 30, 800, 450), num_blocks);
  QCOMPARE(grid.cell, cell);
  QCOMPARE(grid.blocks_per_pixel, blocks_per_pixel);
}

void TestKvMapLayout::everyBlockHasItsPlace_data() {
  QTest::addColumn<QRect>("area");
  QTest::addColumn<int>("num_blocks");
  QTest::newRow("one") << QRect(0, 0, 300, 200) << 1;
  QTest::newRow("cells") << QRect(8, 30, 301, 203) << 257;
  QTest::newRow("scaled") << QRect(8, 30, 301, 203) << 9'001;
  QTest::newRow("a pixel each") << QRect(3, 5, 100, 100) << 9'999;
  QTest::newRow("crowded") << QRect(3, 5, 100, 100) << 34'567;
  QTest::newRow("thin") << QRect(0, 0, 3, 200) << 1'000;
  QTest::newRow("flat") << QRect(0, 0, 200, 2) << 1'000;
  QTest::newRow("a single pixel") << QRect(0, 0, 1, 1) << 1'000;
}

void TestKvMapLayout::everyBlockHasItsPlace() {
  QFETCH(QRect, area);
  QFETCH(int, num_blocks);
  const KvMapGrid grid = gui::gridFor(area, num_blocks);
  for (int block = 0; block < num_blocks; ++block) {
    const QRect cell = grid.cellRect(block);
    QVERIFY(area.contains(cell));
    QCOMPARE(grid.blockAt(cell.center()), block / grid.blocks_per_pixel * grid.blocks_per_pixel);
  }
  QCOMPARE(grid.blockAt(area.topLeft() - QPoint(1, 1)), -1);
}

void TestKvMapLayout::stepsFromBlockToBlock() {
  KvMapGrid grid;
  grid.num_blocks = 10;
  grid.columns = 4;
  QCOMPARE(grid.moved(-1, 1, 0), 0);  // from nowhere: to the first
  QCOMPARE(grid.moved(99, 1, 0), 0);
  QCOMPARE(grid.moved(5, 1, 0), 6);
  QCOMPARE(grid.moved(5, -1, 0), 4);
  QCOMPARE(grid.moved(5, 0, 1), 9);
  QCOMPARE(grid.moved(6, 0, 1), 6);  // nothing below
  QCOMPARE(grid.moved(5, 0, -1), 1);
  QCOMPARE(grid.moved(0, -1, 0), 0);
  QCOMPARE(grid.moved(9, 1, 0), 9);
  grid.blocks_per_pixel = 2;
  QCOMPARE(grid.moved(0, 1, 1), 0);
  QCOMPARE(grid.moved(0, 0, 1), 8);
  QCOMPARE(KvMapGrid{}.moved(-1, 1, 0), -1);
}

void TestKvMapLayout::partsStayApart_data() {
  QTest::addColumn<QSize>("size");
  QTest::newRow("wide") << QSize(800, 400);
  QTest::newRow("narrow") << QSize(240, 300);
}

void TestKvMapLayout::partsStayApart() {
  QFETCH(QSize, size);
  const gui::KvMapLayout layout = gui::layoutKvMap(size, 22, 14);
  const QRect whole(QPoint(), size);
  const QRect parts[] = {layout.block_gauge, layout.slot_gauge, layout.map, layout.legend};
  for (const QRect& part : parts) QVERIFY(part.isValid() && whole.contains(part));
  for (std::size_t i = 0; i < std::size(parts); ++i) {
    for (std::size_t k = 0; k < i; ++k) QVERIFY(!parts[i].intersects(parts[k]));
  }
}

void TestKvMapLayout::fillsFromBelow() {
  const gui::Theme theme = gui::themeOf(tests::lightPalette());
  const core::BlockInfo half = {.owner = SeqId{0}, .num_tokens = 8, .ref_count = 1, .state = BlockState::kUsed};
  const QImage cell = gui::rasterSample(half, 16, 20, theme);
  QCOMPARE(cell.pixelColor(10, 19), gui::ownerColor(SeqId{0}, theme));
  QCOMPARE(cell.pixelColor(10, 10), gui::ownerColor(SeqId{0}, theme));
  QVERIFY(cell.pixelColor(10, 9) != gui::ownerColor(SeqId{0}, theme));
}

void TestKvMapLayout::statesDifferInForm() {
  const gui::Theme theme = gui::themeOf(tests::darkPalette());
  const auto cell = [&theme](BlockState state) {
    const core::BlockInfo block = {.owner = SeqId{2}, .num_tokens = 16, .ref_count = 1, .state = state};
    return gui::rasterSample(block, 16, 9, theme);
  };
  // Free is plain, cached has a frame, used is plain, shared has a corner: whatever the colours.
  const auto differs = [](const QImage& image, QPoint at) { return image.pixel(at) != image.pixel(4, 4); };
  const QPoint corner(8, 0);
  const QPoint side(0, 4);
  QVERIFY(!differs(cell(BlockState::kFree), corner) && !differs(cell(BlockState::kFree), side));
  QVERIFY(differs(cell(BlockState::kCached), corner) && differs(cell(BlockState::kCached), side));
  QVERIFY(!differs(cell(BlockState::kUsed), corner) && !differs(cell(BlockState::kUsed), side));
  QVERIFY(differs(cell(BlockState::kShared), corner) && !differs(cell(BlockState::kShared), side));
}

void TestKvMapLayout::aPixelShowsItsMostTellingBlock() {
  const gui::Theme theme = gui::themeOf(tests::darkPalette());
  std::vector<core::BlockInfo> blocks(4);
  blocks[3] = {.owner = SeqId{0}, .num_tokens = 1, .ref_count = 1, .state = BlockState::kUsed};
  const KvMapGrid grid = gui::gridFor(QRect(0, 0, 2, 1), 4);
  const QImage image = gui::rasterBlocks(grid, blocks, 16, {}, theme);
  QCOMPARE(image.size(), QSize(2, 1));
  QCOMPARE(image.pixelColor(0, 0), theme.well);
  QCOMPARE(image.pixelColor(1, 0), gui::ownerColor(SeqId{0}, theme));
}

void TestKvMapLayout::othersFade() {
  const gui::Theme theme = gui::themeOf(tests::lightPalette());
  std::vector<core::BlockInfo> blocks(2);
  for (int i = 0; i < 2; ++i) {
    blocks[static_cast<std::size_t>(i)] = {
        .owner = SeqId{i}, .num_tokens = 16, .ref_count = 1, .state = BlockState::kUsed};
  }
  const KvMapGrid grid = gui::gridFor(QRect(0, 0, 40, 20), 2);
  const auto colors = [&](SeqId shown) {
    const QImage image = gui::rasterBlocks(grid, blocks, 16, shown, theme);
    return std::pair(image.pixelColor(5, 5), image.pixelColor(25, 5));
  };
  const auto [first, second] = colors({});
  QCOMPARE(colors(SeqId{0}).first, first);
  QVERIFY(colors(SeqId{0}).second != second);
  QCOMPARE(colors(SeqId{7}), std::pair(first, second));  // it holds nothing: nobody fades
}

void TestKvMapLayout::cellsAreAsManySlotsInBothLanes_data() {
  QTest::addColumn<int>("a_size");
  QTest::addColumn<int>("a_blocks");
  QTest::addColumn<int>("b_size");
  QTest::addColumn<int>("b_blocks");
  QTest::addColumn<int>("cell_slots");
  QTest::addColumn<int>("cells");
  QTest::newRow("alike") << 16 << 1024 << 16 << 1000 << 16 << 1024;
  QTest::newRow("contiguous") << 16 << 1024 << 2048 << 8 << 16 << 1024;
  QTest::newRow("no common part but one") << 16 << 3 << 15 << 4 << 1 << 60;
  QTest::newRow("two thirds") << 16 << 6 << 24 << 5 << 8 << 15;
}

void TestKvMapLayout::cellsAreAsManySlotsInBothLanes() {
  QFETCH(int, a_size);
  QFETCH(int, a_blocks);
  QFETCH(int, b_size);
  QFETCH(int, b_blocks);
  QFETCH(int, cell_slots);
  QFETCH(int, cells);
  core::Snapshot a, b;
  a.block_size = a_size;
  a.blocks.resize(static_cast<std::size_t>(a_blocks));
  b.block_size = b_size;
  b.blocks.resize(static_cast<std::size_t>(b_blocks));
  const gui::KvMapScale of_a = gui::scaleOf(a, &b);
  const gui::KvMapScale of_b = gui::scaleOf(b, &a);
  QCOMPARE(of_a.cell_slots, cell_slots);
  QCOMPARE(of_b.cell_slots, cell_slots);
  QCOMPARE(of_a.parts * cell_slots, a_size);
  QCOMPARE(of_b.parts * cell_slots, b_size);
  QCOMPARE(of_a.num_cells, cells);
  QCOMPARE(of_b.num_cells, cells);
  const gui::KvMapScale alone = gui::scaleOf(b, nullptr);
  QVERIFY(alone.cell_slots == b_size && alone.parts == 1 && alone.num_cells == b_blocks);
}

// 5 of 12 slots are written: one full cell, one of a single slot, one that is reserved only.
void TestKvMapLayout::aReservationIsAStripWithAHole() {
  const std::vector<core::BlockInfo> blocks = {
      {.owner = SeqId{1}, .num_tokens = 5, .ref_count = 1, .state = BlockState::kUsed}, {}};
  const std::vector<core::BlockInfo> cells = gui::cutBlocks(blocks, 4, 3);
  QCOMPARE(cells.size(), std::size_t{6});
  QList<int> tokens;
  for (const core::BlockInfo& cell : cells) tokens << cell.num_tokens;
  QCOMPARE(tokens, (QList<int>{4, 1, 0, 0, 0, 0}));
  QCOMPARE(cells[2].owner, SeqId{1});
  QCOMPARE(cells[3].state, BlockState::kFree);
  // The hole is the ground between two rails, unlike what is filled and unlike a free place.
  const gui::Theme theme = gui::themeOf(tests::lightPalette());
  const gui::KvMapGrid grid = gui::gridFor(QRect(0, 0, 60, 10), 6);
  QVERIFY(grid.cell >= gui::kFillCell);
  const QImage image = gui::rasterBlocks(grid, cells, 4, {}, theme);
  const auto middleOf = [&](int cell) { return image.pixelColor(grid.cellRect(cell).center()); };
  QCOMPARE(middleOf(2), theme.surface);
  QCOMPARE(image.pixelColor(grid.cellRect(2).topLeft()), gui::ownerColor(SeqId{1}, theme));
  QVERIFY(middleOf(0) != middleOf(2) && middleOf(3) != middleOf(2));
}

void TestKvMapLayout::aLaneWithFewerCellsLeavesTheRestEmpty() {
  const gui::Theme theme = gui::themeOf(tests::lightPalette());
  const std::vector<core::BlockInfo> blocks(10);
  for (const int num_cells : {40, 4'000, 100'000}) {
    const gui::KvMapGrid grid = gui::gridFor(QRect(0, 0, 200, 100), num_cells);
    const QImage image = gui::rasterBlocks(grid, blocks, 16, {}, theme);
    QCOMPARE(image.pixelColor(image.width() - 2, image.height() - 2), theme.surface);
    QVERIFY(image.pixelColor(0, 0) != theme.surface);
  }
}

QTEST_GUILESS_MAIN(TestKvMapLayout)
#include "tst_kv_map_layout.moc"
