// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/kv_map_raster.h"

#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

namespace inferoscope::gui {

namespace {

using core::BlockInfo;
using core::BlockState;

// The colours of one owner's blocks.
struct Tones {
  QRgb full = 0;     // slots with a token
  QRgb empty = 0;    // slots without
  QRgb drawing = 0;  // of the pattern, over `full`
  QRgb notch = 0;    // the corner of a shared block
  Pattern pattern = Pattern::kSolid;
};

// Tones by owner, made once each.
class Palette {
 public:
  Palette(const Theme& theme, core::SeqId shown) : m_theme(theme), m_shown(shown) {}

  QRgb surface() const { return m_theme.surface.rgb(); }
  QRgb well() const { return m_theme.well.rgb(); }
  QRgb kept() const { return m_theme.kept.rgb(); }
  QRgb quiet() const { return m_theme.quiet.rgb(); }

  const Tones& of(core::SeqId owner) {
    // Neighbours mostly have the same owner.
    if (m_last != nullptr && owner == m_last_owner) return *m_last;
    auto [place, fresh] = m_tones.try_emplace(owner);
    if (fresh) place->second = make(owner);
    m_last_owner = owner;
    m_last = &place->second;  // elements of an unordered_map stay where they are
    return *m_last;
  }

 private:
  Tones make(core::SeqId owner) const {
    const double fading = m_shown.valid() && owner != m_shown ? 0.62 : 0;
    const QColor color = mix(ownerColor(owner, m_theme), m_theme.surface, fading);
    Tones tones;
    tones.full = color.rgb();
    tones.empty = mix(color, m_theme.surface, 0.70).rgb();
    tones.drawing = mix(patternColor(owner, m_theme), m_theme.surface, fading).rgb();
    tones.notch = mix(color, m_theme.text, 0.75).rgb();
    tones.pattern = ownerPattern(owner);
    return tones;
  }

  const Theme& m_theme;
  core::SeqId m_shown;
  std::unordered_map<core::SeqId, Tones> m_tones;
  core::SeqId m_last_owner;
  const Tones* m_last = nullptr;
};

// Taken, and nothing written in it: a hole in what is held.
bool isHole(const BlockInfo& block) {
  return block.num_tokens == 0 && (block.state == BlockState::kUsed || block.state == BlockState::kShared);
}

// A block too small for marks: brightness tells the states apart.
QRgb flatColor(const BlockInfo& block, Palette& palette) {
  if (isHole(block)) return palette.of(block.owner).empty;
  switch (block.state) {
    case BlockState::kFree:
      return palette.well();
    case BlockState::kCached:
      return palette.kept();
    case BlockState::kUsed:
      return palette.of(block.owner).full;
    case BlockState::kShared:
      return palette.of(block.owner).notch;
  }
  return palette.well();
}

int filledRows(const BlockInfo& block, int block_size, int side) {
  if (side < kFillCell - 1 || block_size <= 0) return side;
  if (block.num_tokens <= 0) return 0;
  return std::max(1, static_cast<int>(std::lround(static_cast<double>(side) * block.num_tokens / block_size)));
}

QRgb heldPixel(const Tones& tones, bool shared, int filled, int side, int x, int y) {
  const int notch = std::max(2, side / 3);
  if (shared && side - 1 - x + y < notch) return tones.notch;
  if (side - y > filled) return tones.empty;
  return inPattern(tones.pattern, x, y) ? tones.drawing : tones.full;
}

// One row of pixels of a cell: `side` of them, without the gap.
void cellRow(QRgb* pixels, const BlockInfo& block, int block_size, int side, int y, Palette& palette) {
  if (block.state == BlockState::kFree) {
    std::fill_n(pixels, side, palette.well());
    return;
  }
  if (block.state == BlockState::kCached) {
    const bool edge = y == 0 || y == side - 1;
    std::fill_n(pixels, side, edge ? palette.quiet() : palette.well());
    pixels[0] = pixels[side - 1] = palette.quiet();
    return;
  }
  const Tones& tones = palette.of(block.owner);
  if (isHole(block)) {
    // Rails that join those of its neighbours.
    std::fill_n(pixels, side, y == 0 || y == side - 1 ? tones.full : palette.surface());
    return;
  }
  const int filled = filledRows(block, block_size, side);
  const bool shared = block.state == BlockState::kShared;
  for (int x = 0; x < side; ++x) pixels[x] = heldPixel(tones, shared, filled, side, x, y);
}

QRgb* scanLine(QImage& image, int y) {
  return reinterpret_cast<QRgb*>(image.scanLine(y));
}

QImage rasterCells(const KvMapGrid& grid, std::span<const BlockInfo> blocks, int block_size, Palette& palette) {
  QImage image(grid.area.size(), QImage::Format_RGB32);
  image.fill(palette.surface());
  const int side = grid.cell - 1;  // one pixel is the gap
  for (int row = 0; row < grid.rows; ++row) {
    const std::size_t first = static_cast<std::size_t>(row) * static_cast<std::size_t>(grid.columns);
    if (first >= blocks.size()) break;  // a lane may have fewer cells than the other one
    const std::size_t count = std::min(blocks.size() - first, static_cast<std::size_t>(grid.columns));
    for (int y = 0; y < side; ++y) {
      QRgb* pixels = scanLine(image, row * grid.cell + y);
      for (std::size_t i = 0; i < count; ++i, pixels += grid.cell) {
        cellRow(pixels, blocks[first + i], block_size, side, y, palette);
      }
    }
  }
  return image;
}

// One pixel a place, then scaled; of several blocks in a place the one whose state says most.
QImage rasterPixels(const KvMapGrid& grid, std::span<const BlockInfo> blocks, Palette& palette) {
  QImage image(grid.columns, grid.rows, QImage::Format_RGB32);
  image.fill(palette.surface());
  const auto per_pixel = static_cast<std::size_t>(grid.blocks_per_pixel);
  std::size_t first = 0;
  for (int row = 0; row < grid.rows; ++row) {
    QRgb* pixels = scanLine(image, row);
    for (int column = 0; column < grid.columns && first < blocks.size(); ++column, first += per_pixel) {
      const BlockInfo* telling = &blocks[first];
      const std::size_t end = std::min(first + per_pixel, blocks.size());
      for (std::size_t i = first + 1; i < end; ++i) {
        if (blocks[i].state > telling->state) telling = &blocks[i];
      }
      pixels[column] = flatColor(*telling, palette);
    }
  }
  return image;
}

}  // namespace

QImage rasterBlocks(const KvMapGrid& grid, std::span<const BlockInfo> blocks, int block_size, core::SeqId shown,
                    const Theme& theme) {
  if (grid.columns == 0) return {};
  const bool holds =
      shown.valid() && std::ranges::any_of(blocks, [shown](const BlockInfo& block) { return block.owner == shown; });
  Palette palette(theme, holds ? shown : core::SeqId{});
  return grid.cell > 0 ? rasterCells(grid, blocks, block_size, palette) : rasterPixels(grid, blocks, palette);
}

QImage rasterSample(const BlockInfo& block, int block_size, int side, const Theme& theme) {
  Palette palette(theme, {});
  QImage image(side, side, QImage::Format_RGB32);
  for (int y = 0; y < side; ++y) cellRow(scanLine(image, y), block, block_size, side, y, palette);
  return image;
}

}  // namespace inferoscope::gui
