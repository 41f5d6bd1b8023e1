// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cache/block_pool.h"

#include <fmt/format.h>
#include <cassert>
#include <ranges>

namespace inferoscope::core {
namespace {

// Two finalizers of well-known 64-bit hashes. Each is a bijection that spreads every bit over all others.
std::uint64_t mixSplitMix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::uint64_t mixMurmur(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdU;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53U;
  return x ^ (x >> 33);
}

}  // namespace

BlockKey blockKey(const BlockKey& previous, std::span<const TokenId> tokens) {
  BlockKey key = previous;
  for (const TokenId token : tokens) {
    const auto bits = static_cast<std::uint32_t>(token);
    key.hi = mixSplitMix(key.hi + bits + 0x9e3779b97f4a7c15U);
    key.lo = mixMurmur(key.lo ^ (bits + std::uint64_t{1}) * 0xd6e8feb86659fd93U);
  }
  return key;
}

BlockPool::BlockPool(int num_blocks, bool prefix_cache)
    : m_blocks(static_cast<std::size_t>(num_blocks) + 1), m_prefix_cache(prefix_cache) {
  at(listEnds()).previous = at(listEnds()).next = listEnds().value;
  for (BlockId block{0}; block != listEnds(); ++block.value) append(block);
}

void BlockPool::append(BlockId block) {
  Block& ends = at(listEnds());
  at(block).previous = ends.previous;
  at(block).next = listEnds().value;
  at({ends.previous}).next = block.value;
  ends.previous = block.value;
  ++m_num_free;
  m_num_cached += isCached(block);
}

void BlockPool::unlink(BlockId block) {
  m_num_cached -= isCached(block);
  --m_num_free;
  at({at(block).previous}).next = at(block).next;
  at({at(block).next}).previous = at(block).previous;
}

std::optional<std::vector<BlockId>> BlockPool::allocate(int n) {
  assert(n >= 0);
  if (n > m_num_free) return std::nullopt;
  std::vector<BlockId> taken(static_cast<std::size_t>(n));
  for (BlockId& block : taken) {
    block.value = at(listEnds()).next;
    unlink(block);
    forgetKey(block);
    at(block).ref_count = 1;
  }
  return taken;
}

void BlockPool::touch(BlockId block) {
  if (at(block).ref_count == 0) unlink(block);
  ++at(block).ref_count;
}

void BlockPool::release(std::span<const BlockId> blocks) {
  for (const BlockId block : blocks | std::views::reverse) {
    assert(at(block).ref_count > 0);
    if (--at(block).ref_count == 0) append(block);
  }
}

void BlockPool::setKey(BlockId block, const BlockKey& key) {
  assert(at(block).ref_count > 0 && (!at(block).key || at(block).key == key));
  if (!m_prefix_cache || at(block).key) return;
  at(block).key = key;
  const auto [first, is_first] = m_first.try_emplace(key, block);
  if (is_first) return;
  BlockId last = first->second;
  while (at(last).next_same.valid()) last = at(last).next_same;
  at(last).next_same = block;
}

std::optional<BlockId> BlockPool::find(const BlockKey& key) const {
  const auto first = m_first.find(key);
  return first == m_first.end() ? std::nullopt : std::optional(first->second);
}

// Takes the block out of the chain of those with equal key. It must not count as cached at this time.
void BlockPool::forgetKey(BlockId block) {
  if (!at(block).key) return;
  const auto first = m_first.find(*at(block).key);
  BlockId* link = &first->second;
  while (*link != block) link = &at(*link).next_same;
  *link = at(block).next_same;
  if (!first->second.valid()) m_first.erase(first);
  at(block).next_same = {};
  at(block).key.reset();
}

void BlockPool::forgetKeys() {
  for (Block& block : m_blocks) {
    block.key.reset();
    block.next_same = {};
  }
  m_first.clear();
  m_num_cached = 0;
}

void BlockPool::setPrefixCache(bool on) {
  if (!on) forgetKeys();
  m_prefix_cache = on;
}

bool BlockPool::resetPrefixCache() {
  if (m_num_free < numBlocks()) return false;
  forgetKeys();
  return true;
}

std::vector<BlockId> BlockPool::freeList() const {
  std::vector<BlockId> blocks;
  for (BlockId block{at(listEnds()).next}; block != listEnds(); block.value = at(block).next) blocks.push_back(block);
  return blocks;
}

std::string BlockPool::check() const {
  const std::string broken = checkFreeList();
  return broken.empty() ? checkKeys() : broken;
}

std::string BlockPool::checkFreeList() const {
  int num_listed = 0;
  for (BlockId block{at(listEnds()).next}; block != listEnds(); block.value = at(block).next) {
    if (++num_listed > numBlocks()) return "the free list is a ring";
    if (at(block).ref_count != 0) return fmt::format("block {} is free and in use", block.value);
    if (at({at(block).next}).previous != block.value) return fmt::format("block {} is linked one way", block.value);
  }
  int num_unused = 0;
  int num_cached = 0;
  for (BlockId block{0}; block != listEnds(); ++block.value) {
    if (refCount(block) < 0) return fmt::format("block {} has {} holders", block.value, refCount(block));
    num_unused += refCount(block) == 0;
    num_cached += isCached(block);
  }
  if (num_listed != num_unused) return fmt::format("{} blocks unused, {} on the free list", num_unused, num_listed);
  if (num_listed != m_num_free) return fmt::format("{} blocks free, {} counted", num_listed, m_num_free);
  if (num_cached != m_num_cached) return fmt::format("{} blocks cached, {} counted", num_cached, m_num_cached);
  return {};
}

std::string BlockPool::checkKeys() const {
  int num_found = 0;
  for (const auto& [key, first] : m_first) {
    for (BlockId block = first; block.valid(); block = at(block).next_same, ++num_found) {
      if (at(block).key != key) return fmt::format("block {} is found by a key it does not have", block.value);
    }
  }
  int num_keyed = 0;
  for (BlockId block{0}; block != listEnds(); ++block.value) num_keyed += at(block).key.has_value();
  if (num_found != num_keyed) return fmt::format("{} blocks with keys, {} found by them", num_keyed, num_found);
  return {};
}

}  // namespace inferoscope::core
