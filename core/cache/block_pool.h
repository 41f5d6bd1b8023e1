// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/ids.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace inferoscope::core {

// Names the content of a full block: the tokens of this block and of all before it. 128 bits stand for the tokens,
// which are not compared: among a million blocks two equal keys have a chance of 1 in 10^26. The hash does not resist
// somebody who builds equal keys on purpose; all requests of an engine are one person's.
struct BlockKey {
  std::uint64_t hi = 0;
  std::uint64_t lo = 0;
  friend auto operator<=>(const BlockKey&, const BlockKey&) = default;
};

// Key of the block that holds `tokens` after the block of key `previous` (a default key before the first block).
BlockKey blockKey(const BlockKey& previous, std::span<const TokenId> tokens);

// Bookkeeping of the KV blocks: ids, reference counts, free list, prefix keys. No memory, no sequences, no policy.
// The free list is ordered: its head is taken, and so evicted, first. Every change costs O(1) a block.
class BlockPool {
 public:
  BlockPool(int num_blocks, bool prefix_cache);

  int numBlocks() const { return static_cast<int>(m_blocks.size()) - 1; }
  int numFree() const { return m_num_free; }      // blank and cached ones
  int numCached() const { return m_num_cached; }  // free, but their content can still be hit
  int refCount(BlockId block) const { return at(block).ref_count; }
  bool isCached(BlockId block) const { return at(block).ref_count == 0 && at(block).key; }
  std::optional<BlockKey> key(BlockId block) const { return at(block).key; }

  // All n with reference count 1, or none of them and no value if n > numFree(). A taken block loses its key.
  std::optional<std::vector<BlockId>> allocate(int n);
  // One holder more; takes the block off the free list if it was there.
  void touch(BlockId block);
  // One holder less for each, last block first, so that a shared head is evicted last.
  void release(std::span<const BlockId> blocks);

  // The computed content of a full block in use can be hit from now on. Each of its holders may say so.
  void setKey(BlockId block, const BlockKey& key);
  // The first of the blocks that hold this content: sequences that compute the same at the same time each have one.
  std::optional<BlockId> find(const BlockKey& key) const;
  // Off: all keys are forgotten, and none is kept from now on.
  void setPrefixCache(bool on);
  // Forgets all keys. False, and nothing done, while blocks are in use.
  bool resetPrefixCache();

  // Free list in eviction order, for tests and for people.
  std::vector<BlockId> freeList() const;
  // Empty if every invariant holds, else the first one broken.
  std::string check() const;

 private:
  struct Block {
    int ref_count = 0;
    std::int32_t previous = -1;  // neighbours on the free list, while on it
    std::int32_t next = -1;
    std::optional<BlockKey> key;  // none: blank, or not full and computed yet
    BlockId next_same;            // the next block of equal key
  };

  Block& at(BlockId block) { return m_blocks[static_cast<std::size_t>(block.value)]; }
  const Block& at(BlockId block) const { return m_blocks[static_cast<std::size_t>(block.value)]; }
  BlockId listEnds() const { return BlockId{numBlocks()}; }

  void append(BlockId block);  // to the tail of the free list
  void unlink(BlockId block);
  void forgetKey(BlockId block);
  void forgetKeys();
  std::string checkFreeList() const;
  std::string checkKeys() const;

  struct KeyHash {
    std::size_t operator()(const BlockKey& key) const { return static_cast<std::size_t>(key.lo); }
  };

  std::vector<Block> m_blocks;  // [num_blocks + 1]: the last one is no block but both ends of the free list
  std::unordered_map<BlockKey, BlockId, KeyHash> m_first;  // of the blocks of each key
  int m_num_free = 0;
  int m_num_cached = 0;
  bool m_prefix_cache = true;
};

}  // namespace inferoscope::core
