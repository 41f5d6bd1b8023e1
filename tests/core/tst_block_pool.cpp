// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cache/block_pool.h"

#include <QTest>
#include <algorithm>
#include <random>
#include <set>

using namespace inferoscope::core;

namespace {

std::vector<BlockId> ids(std::initializer_list<int> values) {
  std::vector<BlockId> blocks;
  for (const int value : values) blocks.push_back({value});
  return blocks;
}

BlockKey keyOf(std::initializer_list<TokenId> tokens, const BlockKey& previous = {}) {
  return blockKey(previous, std::vector<TokenId>(tokens));
}

// Blocks by id: "." blank, "c" cached, else how many hold it, "'" if it has a key; then the free list.
//   "1' 2 c . | 3 2": block 0 has a key, block 1 is shared, 2 and 3 are free, and 3 is taken first
QString draw(const BlockPool& pool) {
  QStringList states;
  for (BlockId block{0}; block.value < pool.numBlocks(); ++block.value) {
    const int num_holders = pool.refCount(block);
    if (num_holders == 0) {
      states += pool.isCached(block) ? "c" : ".";
    } else {
      states += QString::number(num_holders) + (pool.key(block) ? "'" : "");
    }
  }
  QStringList free;
  for (const BlockId block : pool.freeList()) free += QString::number(block.value);
  const std::string broken = pool.check();
  return broken.empty() ? states.join(' ') + " | " + free.join(' ') : QString::fromStdString(broken);
}

}  // namespace

class TestBlockPool : public QObject {
  Q_OBJECT

 private slots:
  void startsBlankInOrderOfId() { QCOMPARE(draw(BlockPool(4, true)), ". . . . | 0 1 2 3"); }

  void takesFromTheHead() {
    BlockPool pool(4, true);
    QCOMPARE(pool.allocate(2), ids({0, 1}));
    QCOMPARE(draw(pool), "1 1 . . | 2 3");
    QCOMPARE(pool.numFree(), 2);
  }

  void takesAllOrNothing() {
    BlockPool pool(4, true);
    pool.allocate(2);
    QCOMPARE(pool.allocate(3), std::nullopt);
    QCOMPARE(draw(pool), "1 1 . . | 2 3");
    QCOMPARE(pool.allocate(2), ids({2, 3}));
    QCOMPARE(pool.allocate(0), ids({}));
    QCOMPARE(pool.allocate(1), std::nullopt);
    QCOMPARE(draw(pool), "1 1 1 1 | ");
  }

  void givesBackTheTailFirst() {
    BlockPool pool(4, true);
    pool.allocate(3);
    pool.release(ids({0, 1, 2}));
    QCOMPARE(draw(pool), ". . . . | 3 2 1 0");
  }

  void keepsTheKeyOfAFreedBlockUntilItIsTaken() {
    BlockPool pool(2, true);
    pool.allocate(1);
    pool.setKey({0}, keyOf({1, 2}));
    QCOMPARE(draw(pool), "1' . | 1");
    pool.release(ids({0}));
    QCOMPARE(draw(pool), "c . | 1 0");
    QCOMPARE(pool.numFree(), 2);
    QCOMPARE(pool.numCached(), 1);
    QCOMPARE(pool.find(keyOf({1, 2})), BlockId{0});

    QCOMPARE(pool.allocate(2), ids({1, 0}));
    QCOMPARE(draw(pool), "1 1 | ");
    QCOMPARE(pool.find(keyOf({1, 2})), std::nullopt);
    QCOMPARE(pool.numCached(), 0);
  }

  void aHitLeavesTheFreeListFromItsMiddle() {
    BlockPool pool(4, true);
    pool.allocate(2);
    pool.setKey({1}, keyOf({5}));
    pool.release(ids({0, 1}));
    QCOMPARE(draw(pool), ". c . . | 2 3 1 0");
    pool.touch({1});
    QCOMPARE(draw(pool), ". 1' . . | 2 3 0");
    pool.touch({1});
    QCOMPARE(draw(pool), ". 2' . . | 2 3 0");
    pool.release(ids({1}));
    QCOMPARE(draw(pool), ". 1' . . | 2 3 0");
    pool.release(ids({1}));
    QCOMPARE(draw(pool), ". c . . | 2 3 0 1");
  }

  void findsTheFirstOfEqualBlocksAndTheNextWhenItIsGone() {
    BlockPool pool(3, true);
    pool.allocate(3);
    for (const int block : {1, 0, 2}) pool.setKey({block}, keyOf({7}));
    QCOMPARE(pool.find(keyOf({7})), BlockId{1});
    pool.release(ids({1, 0}));
    QCOMPARE(draw(pool), "c c 1' | 0 1");
    pool.allocate(1);
    QCOMPARE(draw(pool), "1 c 1' | 1");
    QCOMPARE(pool.find(keyOf({7})), BlockId{1});
    pool.allocate(1);
    QCOMPARE(pool.find(keyOf({7})), BlockId{2});
    QCOMPARE(draw(pool), "1 1 1' | ");
  }

  void aKeySaidTwiceIsKeptOnce() {
    BlockPool pool(1, true);
    pool.allocate(1);
    pool.touch({0});
    for (int i = 0; i < 2; ++i) pool.setKey({0}, keyOf({7}));
    QCOMPARE(draw(pool), "2' | ");
    pool.release(ids({0, 0}));
    pool.allocate(1);
    QCOMPARE(pool.find(keyOf({7})), std::nullopt);
    QCOMPARE(draw(pool), "1 | ");
  }

  void resetIsRefusedWhileBlocksAreInUse() {
    BlockPool pool(3, true);
    pool.allocate(2);
    pool.setKey({0}, keyOf({1}));
    pool.setKey({1}, keyOf({2}));
    pool.release(ids({0}));
    QVERIFY(!pool.resetPrefixCache());
    QCOMPARE(draw(pool), "c 1' . | 2 0");
    pool.release(ids({1}));
    QVERIFY(pool.resetPrefixCache());
    QCOMPARE(draw(pool), ". . . | 2 0 1");
    QCOMPARE(pool.find(keyOf({1})), std::nullopt);
  }

  void turnedOffItForgetsAndKeepsNoKeys() {
    BlockPool pool(3, true);
    pool.allocate(2);
    pool.setKey({0}, keyOf({1}));
    pool.setKey({1}, keyOf({2}));
    pool.release(ids({0}));
    pool.setPrefixCache(false);
    QCOMPARE(draw(pool), ". 1 . | 2 0");
    pool.setKey({1}, keyOf({2}));
    QCOMPARE(draw(pool), ". 1 . | 2 0");
    QCOMPARE(pool.numCached(), 0);
    pool.setPrefixCache(true);
    pool.setKey({1}, keyOf({2}));
    QCOMPARE(draw(pool), ". 1' . | 2 0");
  }

  void aKeyNamesTheWholeBeginning() {
    const BlockKey first = keyOf({1, 2});
    QVERIFY(first == keyOf({1, 2}));
    QVERIFY(first != BlockKey{});
    QVERIFY(first != keyOf({2, 1}));
    QVERIFY(keyOf({0}) != BlockKey{});
    QVERIFY(keyOf({0, 0}) != keyOf({0}));
    QVERIFY(keyOf({3, 4}, first) != keyOf({3, 4}));
    QVERIFY(keyOf({3, 4}, first) == keyOf({1, 2, 3, 4}));
  }

  // All chains of up to 12 of two tokens, and all pairs of 300: no two keys share even one of their halves.
  void keysOfSmallContentsAreDistinct() {
    std::set<std::uint64_t> highs;
    std::set<std::uint64_t> lows;
    std::size_t num_keys = 0;
    const auto add = [&](const BlockKey& key) {
      highs.insert(key.hi);
      lows.insert(key.lo);
      ++num_keys;
    };
    std::vector<BlockKey> chains{BlockKey{}};
    for (int length = 1; length <= 12; ++length) {
      std::vector<BlockKey> longer;
      for (const BlockKey& chain : chains) {
        for (const TokenId token : {1000, 1001}) longer.push_back(keyOf({token}, chain));
      }
      std::ranges::for_each(longer, add);
      chains = longer;
    }
    for (TokenId a = 0; a < 300; ++a) {
      for (TokenId b = 0; b < 300; ++b) add(keyOf({a, b}));
    }
    QCOMPARE(highs.size(), num_keys);
    QCOMPARE(lows.size(), num_keys);
  }

  void randomWalkKeepsItsInvariants() {
    std::mt19937 random(7);
    const auto pick = [&random](std::size_t n) { return std::size_t(random() % n); };
    BlockPool pool(24, true);
    std::vector<std::vector<BlockId>> tables;
    for (int i = 0; i < 20'000; ++i) {
      switch (pick(4)) {
        case 0:
          if (auto taken = pool.allocate(int(pick(7)))) tables.push_back(std::move(*taken));
          break;
        case 1:
          if (tables.empty()) break;
          std::swap(tables[pick(tables.size())], tables.back());
          pool.release(tables.back());
          tables.pop_back();
          break;
        case 2: {
          const BlockKey key = keyOf({TokenId(pick(9))});
          if (tables.empty() || tables.back().empty()) break;
          const BlockId block = tables.back()[pick(tables.back().size())];
          if (!pool.key(block)) pool.setKey(block, key);
          break;
        }
        default:
          if (const auto hit = pool.find(keyOf({TokenId(pick(9))}))) {
            pool.touch(*hit);
            tables.push_back({*hit});
          }
      }
      QCOMPARE(pool.check(), std::string());
      std::size_t num_held = 0;
      for (const auto& table : tables) num_held += table.size();
      std::size_t num_counted = 0;
      for (BlockId block{0}; block.value < 24; ++block.value) num_counted += std::size_t(pool.refCount(block));
      QCOMPARE(num_counted, num_held);
    }
  }
};

QTEST_GUILESS_MAIN(TestBlockPool)
#include "tst_block_pool.moc"
