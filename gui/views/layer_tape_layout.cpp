// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/layer_tape_layout.h"

#include <algorithm>
#include <numeric>

namespace inferoscope::gui {

Tape layoutTape(const std::vector<std::uint64_t>& bytes, const QRect& area, int line_height, double whole) {
  Tape tape;
  const auto all = static_cast<double>(std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0}));
  const int num_lines = line_height > 0 ? area.height() / line_height : 0;
  if (all <= 0 || num_lines <= 0 || area.width() <= 0) return tape;
  tape.bytes_per_line = std::max(all, whole) / num_lines;
  const double pixels_per_byte = area.width() / tape.bytes_per_line;
  constexpr double kNothing = 1e-6;  // pixels: what rounding leaves over
  double x = 0;
  int line = 0;
  for (std::size_t op = 0; op < bytes.size(); ++op) {
    double left = static_cast<double>(bytes[op]) * pixels_per_byte;
    bool first = true;
    while (left > kNothing && line < num_lines) {
      const double length = std::min(left, area.width() - x);
      const QRectF place(area.left() + x, area.top() + line * line_height, length, line_height - 2);
      tape.pieces.push_back({op, place, first});
      first = false;
      left -= length;
      x += length;
      if (x < area.width() - kNothing) continue;
      x = 0;
      ++line;
    }
  }
  return tape;
}

int opAt(const Tape& tape, const QPointF& point) {
  const auto found = std::ranges::find_if(
      tape.pieces, [&](const TapePiece& piece) { return piece.place.adjusted(0, 0, 0, 2).contains(point); });
  return found == tape.pieces.end() ? -1 : static_cast<int>(found->op);
}

std::uint64_t tapeBytes(const core::OpRecord& op) {
  return op.cost.weights + op.cost.kv_read;
}

int opAtTime(const std::vector<core::OpRecord>& ops, std::int64_t ns) {
  if (ops.empty()) return -1;
  const std::int64_t at = ops.front().start_ns + ns;
  const auto after = std::ranges::upper_bound(ops, at, {}, &core::OpRecord::start_ns);
  if (after == ops.begin()) return -1;
  const auto op = after - 1;
  return at < op->start_ns + op->duration_ns ? static_cast<int>(op - ops.begin()) : -1;
}

std::int64_t lengthNs(const std::vector<core::OpRecord>& ops) {
  return ops.empty() ? 0 : ops.back().start_ns + ops.back().duration_ns - ops.front().start_ns;
}

}  // namespace inferoscope::gui
