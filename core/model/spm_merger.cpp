// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/spm_merger.h"

#include "core/model/utf8.h"

#include <queue>

namespace inferoscope::core {
namespace {

struct Symbol {
  const char* start;
  std::size_t size;  // 0: joined to the symbol before it
  std::int32_t previous;
  std::int32_t next;  // -1: none
};

struct Candidate {
  float score;
  std::int32_t left, right;  // indices of symbols
  std::size_t size;          // of both, when they were found
};

struct ComesAfter {
  bool operator()(const Candidate& a, const Candidate& b) const {
    return a.score < b.score || (a.score == b.score && a.left > b.left);
  }
};

class Merging {
 public:
  Merging(std::string_view text, const PieceScore& score_of) : m_score_of(score_of) {
    while (!text.empty()) {
      const std::size_t size = nextUtf8(text).length;
      const auto index = static_cast<std::int32_t>(m_symbols.size());
      m_symbols.push_back({text.data(), size, index - 1, text.size() > size ? index + 1 : -1});
      text.remove_prefix(size);
    }
    for (std::int32_t i = 1; i < static_cast<std::int32_t>(m_symbols.size()); ++i) consider(i - 1, i);
  }

  std::vector<std::string_view> run() {
    while (!m_candidates.empty()) {
      const Candidate best = m_candidates.top();
      m_candidates.pop();
      join(best);
    }
    std::vector<std::string_view> pieces;
    for (const Symbol& symbol : m_symbols) {
      if (symbol.size > 0) pieces.emplace_back(symbol.start, symbol.size);
    }
    return pieces;
  }

 private:
  Symbol& at(std::int32_t index) { return m_symbols[static_cast<std::size_t>(index)]; }

  void consider(std::int32_t left, std::int32_t right) {
    if (left < 0 || right < 0) return;
    const std::string_view both(at(left).start, at(left).size + at(right).size);
    if (const float* score = m_score_of(both)) m_candidates.push({*score, left, right, both.size()});
  }

  void join(const Candidate& pair) {
    Symbol& left = at(pair.left);
    Symbol& right = at(pair.right);
    // One of them was joined to something else meanwhile.
    if (left.size == 0 || right.size == 0 || left.size + right.size != pair.size) return;
    left.size += right.size;
    right.size = 0;
    left.next = right.next;
    if (left.next >= 0) at(left.next).previous = pair.left;
    consider(left.previous, pair.left);
    consider(pair.left, left.next);
  }

  const PieceScore& m_score_of;
  std::vector<Symbol> m_symbols;
  std::priority_queue<Candidate, std::vector<Candidate>, ComesAfter> m_candidates;
};

}  // namespace

std::vector<std::string_view> mergePieces(std::string_view text, const PieceScore& score_of) {
  return Merging(text, score_of).run();
}

}  // namespace inferoscope::core
