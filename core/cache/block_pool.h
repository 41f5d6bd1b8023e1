// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/ids.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace inferoscope::core {

// Names the content of a full block: the tokens of this block and of all before it.
struct BlockKey {
  std::uint64_t hi = 0;
  std::uint64_t lo = 0;
  friend auto operator<=>(const BlockKey&, const BlockKey&) = default;
};

// Key of the block that holds `tokens` after the block of key `previous` (a default key before the first block).
BlockKey blockKey(const BlockKey& previous, std::span<const TokenId> tokens);

// Bookkeeping of the KV blocks: ids, reference counts, free list, prefix keys. No memory, no sequences, no policy.
// The free list is ordered: its head is taken, and so evicted, first. Rules: facts, "Block pool".
class BlockPool {
 public:
  BlockPool(int num_blocks, bool prefix_cache);

  int numBlocks() const;
  int numFree() const;    // blank and cached ones
  int numCached() const;  // free, but their content can still be hit
  int refCount(BlockId block) const;
  bool isCached(BlockId block) const;
  std::optional<BlockKey> key(BlockId block) const;

  // All n with reference count 1, or none of them: an empty vector if n > numFree(). A taken block loses its key.
  std::optional<std::vector<BlockId>> allocate(int n);
  // One holder more; takes the block off the free list if it was there.
  void touch(BlockId block);
  // One holder less for each, last block first, so that a shared head is evicted last.
  void release(std::span<const BlockId> blocks);

  // The computed content of a full block can be hit from now on.
  void setKey(BlockId block, const BlockKey& key);
  std::optional<BlockId> find(const BlockKey& key) const;
  // Forgets all keys. False, and nothing done, while blocks are in use.
  bool resetPrefixCache();

  // Free list in eviction order, for tests and for people.
  std::vector<BlockId> freeList() const;
  // Empty if every invariant holds, else the first one broken.
  std::string check() const;

 private:
  struct Block;  // reference count, key, links of the free list; the implementation adds its members here
};

}  // namespace inferoscope::core
