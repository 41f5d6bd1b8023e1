// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/lane_time.h"

#include "gui/paint/number_format.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace inferoscope::gui {

namespace {

constexpr std::int64_t kLeastNs = 100'000;  // nearer there is nothing to be seen
constexpr double kNsPerS = 1e9;

// The least of the digits times a power of ten that is not below.
std::int64_t roundUp(std::int64_t ns, std::initializer_list<std::int64_t> digits) {
  for (std::int64_t power = 1;; power *= 10) {
    for (const std::int64_t digit : digits) {
      if (digit * power >= ns) return digit * power;
    }
  }
}

}  // namespace

int TimeSpan::xOf(std::int64_t ns, const QRect& across) const {
  const double share = static_cast<double>(ns - from_ns) / static_cast<double>(length());
  return across.left() + static_cast<int>(std::lround(std::clamp(share, -1.0, 2.0) * across.width()));
}

std::int64_t TimeSpan::nsAt(int x, const QRect& across) const {
  const double share = static_cast<double>(x - across.left()) / std::max(1, across.width());
  return from_ns + std::llround(share * static_cast<double>(length()));
}

TimeSpan roundSpan(std::int64_t first_ns, std::int64_t last_ns) {
  return {first_ns,
          first_ns + roundUp(std::max(kLeastNs, last_ns - first_ns), {10, 12, 15, 20, 25, 30, 40, 50, 60, 80})};
}

void TimeWindow::zoom(const TimeSpan& all, double factor, std::int64_t around_ns) {
  const TimeSpan now = seen(all);
  const auto scaled = [&](std::int64_t ns) {
    return around_ns + std::llround(static_cast<double>(ns - around_ns) * factor);
  };
  const TimeSpan wanted{scaled(now.from_ns), scaled(now.to_ns)};
  if (wanted.length() >= all.length()) return fit();
  if (wanted.length() < kLeastNs) return;
  m_seen = wanted;
  move(all, 0);
}

void TimeWindow::move(const TimeSpan& all, std::int64_t by_ns) {
  if (!m_seen) return;
  const std::int64_t latest = std::max(all.from_ns, all.to_ns - m_seen->length());
  const std::int64_t from = std::clamp(m_seen->from_ns + by_ns, all.from_ns, latest);
  m_seen = TimeSpan{from, from + m_seen->length()};
}

std::vector<TimeTick> timeTicks(const TimeSpan& seen, const QRect& across, int distance) {
  std::vector<TimeTick> ticks;
  const double pixels = std::max(1, across.width());
  const std::int64_t every = roundUp(std::llround(static_cast<double>(seen.length()) * distance / pixels), {1, 2, 5});
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(static_cast<double>(every) / kNsPerS))));
  for (std::int64_t ns = (seen.from_ns + every - 1) / every * every; ns <= seen.to_ns; ns += every) {
    const QString number = displayLocale().toString(static_cast<double>(ns) / kNsPerS, 'f', decimals);
    ticks.push_back({seen.xOf(ns, across), QStringLiteral("%1 s").arg(number)});
  }
  return ticks;
}

}  // namespace inferoscope::gui
