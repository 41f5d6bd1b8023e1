// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/paint/theme.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace inferoscope::gui {

namespace {

// Neighbours in this order, and so requests that follow each other, differ most.
constexpr std::array<QRgb, 7> kOwnerHues = {
    0xffe69f00,  // orange
    0xff56b4e9,  // sky blue
    0xff009e73,  // bluish green
    0xffd55e00,  // vermilion
    0xff0072b2,  // blue
    0xffcc79a7,  // reddish purple
    0xfff0e442,  // yellow
};

double linear(double channel) {
  return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}

double luminance(const QColor& color) {
  return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

// A hue as a mark on `surface`: 2:1 is enough for shapes that also have a form.
QColor mark(QRgb hue, const QColor& surface) {
  return readable(QColor(hue), surface, 2.0);
}

}  // namespace

double contrast(const QColor& a, const QColor& b) {
  const double la = luminance(a);
  const double lb = luminance(b);
  return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

QColor mix(const QColor& from, const QColor& to, double share) {
  const auto channel = [share](int a, int b) { return static_cast<int>(std::lround(a + (b - a) * share)); };
  return QColor(channel(from.red(), to.red()), channel(from.green(), to.green()), channel(from.blue(), to.blue()));
}

QColor readable(const QColor& ink, const QColor& ground, double least) {
  const QColor end = contrast(Qt::white, ground) > contrast(Qt::black, ground) ? Qt::white : Qt::black;
  for (double share = 0; share < 1; share += 0.05) {
    const QColor color = mix(ink, end, share);
    if (contrast(color, ground) >= least) return color;
  }
  return end;
}

Theme themeOf(const QPalette& palette) {
  Theme theme;
  theme.surface = palette.color(QPalette::Base);
  theme.dark = luminance(theme.surface) < 0.18;
  theme.text = readable(palette.color(QPalette::Text), theme.surface, 7.0);
  theme.dim = readable(mix(theme.surface, theme.text, 0.6), theme.surface);
  theme.line = mix(theme.surface, theme.text, theme.dark ? 0.18 : 0.16);
  theme.well = mix(theme.surface, theme.text, theme.dark ? 0.10 : 0.07);
  theme.kept = mix(theme.surface, theme.text, theme.dark ? 0.26 : 0.20);
  theme.quiet = mix(theme.surface, theme.text, 0.42);
  theme.outline = theme.text;
  theme.prefill = mark(kOwnerHues[0], theme.surface);
  theme.decode = mark(kOwnerHues[theme.dark ? 1 : 4], theme.surface);
  theme.bandwidth = mark(kOwnerHues[2], theme.surface);
  theme.compute = mark(kOwnerHues[5], theme.surface);
  theme.cache = mark(kOwnerHues[3], theme.surface);
  theme.lane_a = mark(kOwnerHues[theme.dark ? 1 : 4], theme.surface);  // blue and vermilion: nobody takes one for the
  theme.lane_b = mark(kOwnerHues[3], theme.surface);                   // other
  std::ranges::transform(kOwnerHues, theme.owners.begin(), [&](QRgb hue) { return mark(hue, theme.surface); });
  return theme;
}

QColor ownerColor(core::SeqId owner, const Theme& theme) {
  if (!owner.valid()) return theme.quiet;
  const QColor hue = theme.owners[static_cast<std::size_t>(owner.value) % theme.owners.size()];
  // Where a pattern has no room, a shade keeps repeats apart.
  switch (ownerPattern(owner)) {
    case Pattern::kSolid:
      return hue;
    case Pattern::kStripes:
      return mix(hue, Qt::white, 0.28);
    case Pattern::kDots:
      return mix(hue, Qt::black, 0.24);
  }
  return hue;
}

QColor patternColor(core::SeqId owner, const Theme& theme) {
  return mix(ownerColor(owner, theme), ownerPattern(owner) == Pattern::kStripes ? Qt::black : Qt::white, 0.34);
}

Pattern ownerPattern(core::SeqId owner) {
  if (!owner.valid()) return Pattern::kSolid;
  return static_cast<Pattern>(static_cast<std::size_t>(owner.value) / kOwnerHues.size() % 3);
}

bool inPattern(Pattern pattern, int x, int y) {
  switch (pattern) {
    case Pattern::kSolid:
      return false;
    case Pattern::kStripes:
      return (x + y) % 5 == 0;
    case Pattern::kDots:
      return x % 4 == 1 && y % 4 == 1;
  }
  return false;
}

}  // namespace inferoscope::gui
