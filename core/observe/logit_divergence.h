// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace inferoscope::core {

// How far two settings' logits for the same contexts lie apart. Rows are looked at as they come and not kept.
class LogitDivergence {
 public:
  // One row of each, [vocab_size]; ids at num_tokens and above are never sampled and don't count.
  void add(std::span<const float> a, std::span<const float> b, int num_tokens);

  std::int64_t numRows() const { return static_cast<std::int64_t>(m_kl.size()); }
  // KL(A || B) in nats: what is lost by believing B where A is true. Exactly 0 for equal rows. None of no rows,
  // or if any logit was not finite, as all three.
  std::optional<double> klMean() const;
  std::optional<double> klP99() const;
  // Share of the rows whose likeliest token is the same.
  std::optional<double> top1Agreement() const;

 private:
  std::vector<double> m_kl;  // a number a row
  std::int64_t m_num_agreeing = 0;
  bool m_all_finite = true;
};

// KL divergence of the softmax of two rows, in nats, never negative; not a number if a logit is none.
double klDivergence(std::span<const float> a, std::span<const float> b);

}  // namespace inferoscope::core
