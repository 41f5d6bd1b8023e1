// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/text_stream.h"

#include "core/model/utf8.h"

#include <algorithm>
#include <utility>

namespace inferoscope::core {

std::string Utf8Stream::push(std::string_view bytes) {
  m_pending += bytes;
  std::string text;
  std::string_view rest = m_pending;
  while (!rest.empty()) {
    const Utf8Step step = nextUtf8(rest);
    if (step.kind == Utf8Kind::kUnfinished) break;
    text += step.kind == Utf8Kind::kValid ? rest.substr(0, step.length) : kReplacement;
    rest.remove_prefix(step.length);
  }
  m_pending.erase(0, m_pending.size() - rest.size());
  return text;
}

std::string Utf8Stream::finish() {
  const bool waits = !std::exchange(m_pending, {}).empty();
  return waits ? std::string(kReplacement) : std::string();
}

StopStrings::StopStrings(std::vector<std::string> stops) : m_stops(std::move(stops)) {
  std::erase(m_stops, std::string());
  // The longest first, so that it wins where two begin at one place.
  std::ranges::stable_sort(m_stops, std::ranges::greater(), &std::string::size);
}

std::string StopStrings::push(std::string_view text) {
  if (m_stopped) return {};
  m_held += text;
  for (std::size_t start = 0; start < m_held.size(); ++start) {
    const std::string_view rest = std::string_view(m_held).substr(start);
    const auto met = std::ranges::find_if(m_stops, [&](const std::string& stop) { return rest.starts_with(stop); });
    if (met != m_stops.end()) {
      m_stopped = true;
      m_stopped_by = *met;
      return std::exchange(m_held, {}).substr(0, start);
    }
  }
  std::size_t safe = 0;  // what comes before the first place where a stop string may have begun
  const auto may_begin = [&](std::string_view rest) {
    return std::ranges::any_of(m_stops, [&](const std::string& stop) { return stop.starts_with(rest); });
  };
  while (safe < m_held.size() && !may_begin(std::string_view(m_held).substr(safe))) ++safe;
  std::string shown_now = m_held.substr(0, safe);
  m_held.erase(0, safe);
  return shown_now;
}

std::string StopStrings::finish() {
  return std::exchange(m_held, {});
}

}  // namespace inferoscope::core
