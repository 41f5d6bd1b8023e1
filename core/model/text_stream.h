// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace inferoscope::core {

// Bytes of successive tokens -> whole characters. An unfinished character waits; invalid bytes become U+FFFD.
class Utf8Stream {
 public:
  std::string push(std::string_view bytes);
  std::string finish();  // U+FFFD for what still waits
 private:
  std::string m_pending;
};

// Text -> text up to the first stop string. Holds back only a tail that could still begin one. Earliest match wins,
// the longest on a tie; an empty stop string is ignored.
class StopStrings {
 public:
  explicit StopStrings(std::vector<std::string> stops);
  std::string push(std::string_view text);  // what may be shown now
  std::string finish();                     // the tail, if no stop string was met
  bool stopped() const { return m_stopped; }
  const std::string& stoppedBy() const { return m_stopped_by; }  // empty: none
 private:
  std::vector<std::string> m_stops;
  std::string m_held;
  std::string m_stopped_by;
  bool m_stopped = false;
};

}  // namespace inferoscope::core
