// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/observe/logit_divergence.h"

#include "core/observe/request_metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace inferoscope::core {
namespace {

double logSumExp(std::span<const float> row) {
  const double largest = *std::ranges::max_element(row);
  double sum = 0;
  for (const float logit : row) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

}  // namespace

double klDivergence(std::span<const float> a, std::span<const float> b) {
  const double norm_a = logSumExp(a);
  const double norm_b = logSumExp(b);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double log_a = a[i] - norm_a;
    sum += std::exp(log_a) * (log_a - (b[i] - norm_b));
  }
  return sum < 0 ? 0 : sum;  // of rounding; what is not a number stays so
}

void LogitDivergence::add(std::span<const float> a, std::span<const float> b, int num_tokens) {
  a = a.first(static_cast<std::size_t>(num_tokens));
  b = b.first(static_cast<std::size_t>(num_tokens));
  m_kl.push_back(klDivergence(a, b));
  m_all_finite = m_all_finite && std::isfinite(m_kl.back());
  const auto top_a = std::ranges::max_element(a) - a.begin();
  const auto top_b = std::ranges::max_element(b) - b.begin();
  if (top_a == top_b) ++m_num_agreeing;
}

std::optional<double> LogitDivergence::klMean() const {
  if (m_kl.empty() || !m_all_finite) return std::nullopt;
  return std::accumulate(m_kl.begin(), m_kl.end(), 0.0) / static_cast<double>(m_kl.size());
}

std::optional<double> LogitDivergence::klP99() const {
  return m_all_finite ? percentile(m_kl, 99) : std::nullopt;
}

std::optional<double> LogitDivergence::top1Agreement() const {
  if (m_kl.empty() || !m_all_finite) return std::nullopt;
  return static_cast<double>(m_num_agreeing) / static_cast<double>(m_kl.size());
}

}  // namespace inferoscope::core
