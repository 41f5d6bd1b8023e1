// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/op_work.h"

#include <QRect>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace inferoscope::gui {

// The weights and keys that a step reads, in the order in which it reads them, as one long tape on several lines:
// everywhere the same number of bytes a pixel. The area holds `whole` bytes, or all that there are: two tapes of the
// same whole and area have one scale.
struct TapePiece {
  std::size_t op = 0;  // index into the step's ops; an op may have pieces on several lines
  QRectF place;
  bool first = false;  // of its op
};
struct Tape {
  std::vector<TapePiece> pieces;
  double bytes_per_line = 0;
};
Tape layoutTape(const std::vector<std::uint64_t>& bytes, const QRect& area, int line_height, double whole = 0);
int opAt(const Tape& tape, const QPointF& point);  // -1: none

// What an op reads from the model and the cache.
std::uint64_t tapeBytes(const core::OpRecord& op);

// The op that runs at a time since the first one began; -1: none, software runs.
int opAtTime(const std::vector<core::OpRecord>& ops, std::int64_t ns);
// From the start of the first to the end of the last.
std::int64_t lengthNs(const std::vector<core::OpRecord>& ops);

}  // namespace inferoscope::gui
