// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPalette>

namespace inferoscope::tests {

inline QPalette paletteOf(const QColor& window, const QColor& base, const QColor& text) {
  QPalette palette(window);
  palette.setColor(QPalette::Base, base);
  palette.setColor(QPalette::AlternateBase, window);
  for (const auto role : {QPalette::Text, QPalette::WindowText, QPalette::ButtonText}) palette.setColor(role, text);
  return palette;
}

inline QPalette lightPalette() {
  return paletteOf(QColor(0xf0f0f0), Qt::white, Qt::black);
}
inline QPalette darkPalette() {
  return paletteOf(QColor(0x2a2d32), QColor(0x1d1f23), QColor(0xe6e6e6));
}

}  // namespace inferoscope::tests
