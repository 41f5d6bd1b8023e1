// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/bpe_merger.h"

#include <algorithm>
#include <tuple>

namespace inferoscope::core {
namespace {

using Candidate = BpeMerger::Scratch::Candidate;
using Symbol = BpeMerger::Scratch::Symbol;

std::uint64_t pairKey(TokenId left, TokenId right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32U | static_cast<std::uint32_t>(right);
}

// The heap's top is the candidate that comes after no other.
bool comesAfter(const Candidate& a, const Candidate& b) {
  return std::tie(a.rank, a.left) > std::tie(b.rank, b.left);
}

}  // namespace

void BpeMerger::addRule(TokenId left, TokenId right, TokenId joined) {
  m_rules.try_emplace(pairKey(left, right), Rule{static_cast<std::int32_t>(m_rules.size()), joined});
}

const BpeMerger::Rule* BpeMerger::find(TokenId left, TokenId right) const {
  const auto found = m_rules.find(pairKey(left, right));
  return found == m_rules.end() ? nullptr : &found->second;
}

bool BpeMerger::addCandidate(std::int32_t left, Scratch& scratch) const {
  if (left < 0) return false;
  const Symbol& symbol = scratch.symbols[static_cast<std::size_t>(left)];
  if (symbol.next < 0) return false;
  const TokenId right_id = scratch.symbols[static_cast<std::size_t>(symbol.next)].id;
  const Rule* rule = find(symbol.id, right_id);
  if (rule) scratch.heap.push_back({rule->rank, left, symbol.id, right_id});
  return rule != nullptr;
}

void BpeMerger::encode(const std::vector<TokenId>& word, std::vector<TokenId>& out, Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  const auto size = static_cast<std::int32_t>(word.size());
  symbols.clear();
  heap.clear();
  for (std::int32_t i = 0; i < size; ++i) {
    symbols.push_back({word[static_cast<std::size_t>(i)], i - 1, i + 1 < size ? i + 1 : -1});
  }
  for (std::int32_t i = 0; i < size; ++i) addCandidate(i, scratch);
  std::ranges::make_heap(heap, comesAfter);

  while (!heap.empty()) {
    std::ranges::pop_heap(heap, comesAfter);
    const Candidate best = heap.back();
    heap.pop_back();
    Symbol& left = symbols[static_cast<std::size_t>(best.left)];
    if (left.id != best.left_id || left.next < 0) continue;  // joined to something else meanwhile
    Symbol& right = symbols[static_cast<std::size_t>(left.next)];
    if (right.id != best.right_id) continue;
    left.id = find(best.left_id, best.right_id)->joined;
    right.id = -1;
    left.next = right.next;
    if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = best.left;
    if (addCandidate(left.previous, scratch)) std::ranges::push_heap(heap, comesAfter);
    if (addCandidate(best.left, scratch)) std::ranges::push_heap(heap, comesAfter);
  }
  for (const Symbol& symbol : symbols) {
    if (symbol.id >= 0) out.push_back(symbol.id);
  }
}

}  // namespace inferoscope::core
