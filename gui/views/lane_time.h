// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QRect>
#include <QString>

#include <cstdint>
#include <optional>
#include <vector>

namespace inferoscope::gui {

// A stretch of lane time, and where it lies on the screen.
struct TimeSpan {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 1;

  std::int64_t length() const { return to_ns - from_ns; }
  int xOf(std::int64_t ns, const QRect& across) const;
  std::int64_t nsAt(int x, const QRect& across) const;

  friend bool operator==(const TimeSpan&, const TimeSpan&) = default;
};

// From a first moment to a round number after a last one: a picture that grows into it stands still meanwhile.
TimeSpan roundSpan(std::int64_t first_ns, std::int64_t last_ns);

// Which stretch of lane time is seen: all that is known, or what somebody went to.
class TimeWindow {
 public:
  bool fits() const { return !m_seen; }
  void fit() { m_seen.reset(); }
  TimeSpan seen(const TimeSpan& all) const { return m_seen.value_or(all); }

  // Factor of what is seen; the moment stays where it is. All of it in sight: it fits again.
  void zoom(const TimeSpan& all, double factor, std::int64_t around_ns);
  void move(const TimeSpan& all, std::int64_t by_ns);  // positive: to later; never past the ends

 private:
  std::optional<TimeSpan> m_seen;
};

struct TimeTick {
  int x = 0;
  QString text;  // "2.5 s"
};
// At round times, no two nearer than `distance` pixels.
std::vector<TimeTick> timeTicks(const TimeSpan& seen, const QRect& across, int distance);

}  // namespace inferoscope::gui
