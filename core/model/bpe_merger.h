// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/ids.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace inferoscope::core {

// Byte-pair encoding: of all neighbours in a word that a rule joins, the pair of the lowest rank is joined first, the
// leftmost of equals, until no rule applies. A heap finds that pair, so a word of n bytes takes O(n log n).
class BpeMerger {
 public:
  void reserve(std::size_t num_rules) { m_rules.reserve(num_rules); }
  // Rules come in the order of their rank; the first for a pair counts.
  void addRule(TokenId left, TokenId right, TokenId joined);

  // Memory that encodings reuse; one for each thread.
  struct Scratch {
    struct Symbol {
      TokenId id;  // -1: joined to the symbol before it
      std::int32_t previous;
      std::int32_t next;  // -1: none
    };
    struct Candidate {
      std::int32_t rank;
      std::int32_t left;  // index of the left symbol
      TokenId left_id, right_id;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
  };

  // `symbols`: the tokens of a word's bytes. Appends the joined ones to `out`.
  void encode(const std::vector<TokenId>& symbols, std::vector<TokenId>& out, Scratch& scratch) const;

 private:
  struct Rule {
    std::int32_t rank;
    TokenId joined;
  };
  struct PairHash {
    std::size_t operator()(std::uint64_t pair) const { return (pair ^ (pair >> 29U)) * 0x9E3779B97F4A7C15U; }
  };

  const Rule* find(TokenId left, TokenId right) const;
  bool addCandidate(std::int32_t left, Scratch& scratch) const;

  std::unordered_map<std::uint64_t, Rule, PairHash> m_rules;
};

}  // namespace inferoscope::core
