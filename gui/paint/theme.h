// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/ids.h"

#include <QColor>
#include <QPalette>

#include <array>
#include <cstdint>

namespace inferoscope::gui {

// Contrast of two opaque colours, 1..21, as WCAG 2 defines it. Text needs 4.5.
double contrast(const QColor& a, const QColor& b);
QColor mix(const QColor& from, const QColor& to, double share);  // share 0: from, 1: to
// `ink`, moved towards black or white until it can be read on `ground`.
QColor readable(const QColor& ink, const QColor& ground, double least = 4.5);

// The colours of all views, made from the palette: dark if the palette is dark.
struct Theme {
  bool dark = false;
  QColor surface;  // behind everything
  QColor text;
  QColor dim;      // text of less weight, still readable
  QColor line;     // grids and frames
  QColor well;     // an empty place
  QColor kept;     // held by nobody, yet not empty
  QColor quiet;    // marks that belong to no request
  QColor outline;  // around what is chosen
  QColor prefill;  // series
  QColor decode;
  QColor bandwidth;
  QColor compute;
  QColor cache;
  QColor lane_a;  // of a comparison
  QColor lane_b;
  std::array<QColor, 7> owners;  // of requests, by ownerColor()
};

Theme themeOf(const QPalette& palette);

// Owners by colour, for good: seven hues that colour-blind people tell apart (Okabe and Ito), and a pattern when the
// hues repeat.
enum class Pattern : std::uint8_t { kSolid, kStripes, kDots };
QColor ownerColor(core::SeqId owner, const Theme& theme);
QColor patternColor(core::SeqId owner, const Theme& theme);  // of the pattern's drawing
Pattern ownerPattern(core::SeqId owner);
bool inPattern(Pattern pattern, int x, int y);  // is this pixel part of the pattern's drawing

}  // namespace inferoscope::gui
