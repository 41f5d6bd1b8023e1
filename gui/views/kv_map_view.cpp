// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/kv_map_view.h"

#include "gui/paint/marks.h"
#include "gui/paint/number_format.h"
#include "gui/paint/theme.h"
#include "gui/views/kv_map_raster.h"
#include "gui/views/words.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <unordered_map>

namespace inferoscope::gui {

namespace {

constexpr int kOutlineCell = 4;  // smaller cells stand out by the others' fading alone

double share(std::int64_t part, std::int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0.0;
}

// A block as the legend shows it: three of four slots filled.
core::BlockInfo sample(core::BlockState state) {
  const bool held = state == core::BlockState::kUsed || state == core::BlockState::kShared;
  return {.owner = core::SeqId{held ? 1 : -1}, .num_tokens = 3, .state = state};
}

}  // namespace

KvMapView::KvMapView(Selection& selection, QWidget* parent) : View(selection, parent) {
  setMouseTracking(true);
  setAccessibleName(tr("KV block map"));
  setAccessibleDescription(tr("One cell for each block of the KV cache, coloured by the request that holds it"));
  connect(&selection, &Selection::changed, this, qOverload<>(&QWidget::update));
}

void KvMapView::showModel(const ModelInfo&) {
  m_has_model = true;
  m_snapshot.reset();
  update();
}

void KvMapView::showLimits(const core::MachineLimits&) {}

void KvMapView::showFrame(const Frame& frame) {
  if (frame.snapshot) m_snapshot = frame.snapshot;
  update();
}

KvMapLayout KvMapView::parts() const {
  return layoutKvMap(size(), gaugeHeight(fontMetrics()), QFontMetrics(smallFont(font())).height());
}

KvMapGrid KvMapView::grid() const {
  return m_snapshot ? gridFor(parts().map, static_cast<int>(m_snapshot->blocks.size())) : KvMapGrid{};
}

void KvMapView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = themeOf(palette());
  painter.fillRect(rect(), theme.surface);
  if (!m_snapshot || m_snapshot->blocks.empty()) {
    paintEmptyState(painter, rect(), m_has_model ? firstStepWords() : noModelWords(), theme);
    return;
  }
  const KvMapLayout layout = parts();
  const BlockCounts counts = countBlocks(m_snapshot->blocks);
  paintGauges(painter, layout, counts, theme);
  paintMap(painter, theme);
  paintLegend(painter, layout.legend, counts, theme);
}

void KvMapView::paintGauges(QPainter& painter, const KvMapLayout& layout, const BlockCounts& counts,
                            const Theme& theme) const {
  const std::int64_t all_slots = counts.all() * m_snapshot->block_size;
  const auto figure = [](const QString& unit, std::int64_t part, std::int64_t all) {
    return tr("%1 of %2 %3 · %4").arg(countText(part), countText(all), unit, shareText(share(part, all)));
  };
  paintGauge(painter, layout.block_gauge,
             {tr("Block use"), figure(tr("blocks"), counts.held(), counts.all()), share(counts.held(), counts.all()),
              theme.cache},
             theme);
  paintGauge(painter, layout.slot_gauge,
             {tr("Slot use"), figure(tr("slots"), counts.held_slots, all_slots), share(counts.held_slots, all_slots),
              theme.decode},
             theme);
}

void KvMapView::paintMap(QPainter& painter, const Theme& theme) const {
  const KvMapGrid places = grid();
  if (places.columns == 0) return;
  const QImage image = rasterBlocks(places, m_snapshot->blocks, m_snapshot->block_size, m_selection.shown(), theme);
  painter.drawImage(places.area, image);  // scaled to the nearest pixel
  if (places.cell >= kLabelCell) paintLabels(painter, places, image);
  paintOutlines(painter, places, theme);
}

// Ids, and ref counts where they say more than "used".
void KvMapView::paintLabels(QPainter& painter, const KvMapGrid& places, const QImage& image) const {
  QFont small = font();
  small.setPixelSize(std::clamp(places.cell * 3 / 8, 8, 12));
  painter.setFont(small);
  std::unordered_map<QRgb, QColor> inks;  // by what they are written on
  const QFontMetrics metrics = painter.fontMetrics();
  const auto label = [&](const QRect& cell, const QPoint& corner, int alignment, const QString& words) {
    const QPoint ground = corner - places.area.topLeft();
    const QRgb under = image.pixel(ground);
    // Where the fill level runs through the text, the text gets a ground of one colour.
    const QRect box = metrics.boundingRect(cell, alignment, words).intersected(cell);
    const int far = corner.y() == cell.top() ? box.bottom() - metrics.descent() : box.top() + metrics.descent();
    if (image.pixel(ground.x(), far - places.area.top()) != under) painter.fillRect(box, QColor(under));
    const auto [ink, fresh] = inks.try_emplace(under);
    if (fresh) ink->second = readable(QColor(under), QColor(under));  // quiet: the cells are the picture
    painter.setPen(ink->second);
    painter.drawText(cell, alignment, words);
  };
  for (int i = 0; i < places.num_blocks; ++i) {
    const QRect cell = places.cellRect(i).adjusted(2, 1, -3, -2);
    label(cell, cell.topLeft(), Qt::AlignLeft | Qt::AlignTop, QString::number(i));
    const int ref_count = m_snapshot->blocks[static_cast<std::size_t>(i)].ref_count;
    if (ref_count < 2) continue;
    label(cell, cell.bottomLeft(), Qt::AlignRight | Qt::AlignBottom, QStringLiteral("×%1").arg(ref_count));
  }
}

void KvMapView::paintOutlines(QPainter& painter, const KvMapGrid& places, const Theme& theme) const {
  const core::SeqId shown = m_selection.shown();
  if (!shown.valid() || places.blocks_per_pixel > 1 || places.cellRect(0).width() < kOutlineCell) return;
  painter.setPen(QPen(theme.outline, 1));
  painter.setBrush(Qt::NoBrush);
  for (int i = 0; i < places.num_blocks; ++i) {
    if (m_snapshot->blocks[static_cast<std::size_t>(i)].owner != shown) continue;
    painter.drawRect(places.cellRect(i).adjusted(-1, -1, -1, -1));
  }
}

void KvMapView::paintLegend(QPainter& painter, const QRect& area, const BlockCounts& counts, const Theme& theme) const {
  painter.setFont(smallFont(font()));
  const QFontMetrics metrics = painter.fontMetrics();
  const int side = std::max(9, metrics.ascent());
  int x = area.left();
  for (const auto state :
       {core::BlockState::kUsed, core::BlockState::kShared, core::BlockState::kCached, core::BlockState::kFree}) {
    const QString words = tr("%1 %2").arg(blockStateWord(state), countText(counts.count(state)));
    const int width = side + 5 + metrics.horizontalAdvance(words);
    if (x + width > area.right() + 1) return;
    painter.drawImage(QPoint(x, area.center().y() - side / 2 + 1), rasterSample(sample(state), 4, side, theme));
    painter.setPen(theme.dim);
    painter.drawText(QRect(x + side + 5, area.top(), width, area.height()), Qt::AlignLeft | Qt::AlignVCenter, words);
    x += width + 2 * kMargin;
  }
}

core::SeqId KvMapView::ownerAt(const QPoint& point) const {
  const int block = grid().blockAt(point);
  return block < 0 ? core::SeqId{} : m_snapshot->blocks[static_cast<std::size_t>(block)].owner;
}

void KvMapView::mouseMoveEvent(QMouseEvent* event) {
  m_selection.setHovered(ownerAt(event->position().toPoint()));
}

void KvMapView::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) m_selection.setRequest(ownerAt(event->position().toPoint()));
}

void KvMapView::leaveEvent(QEvent*) {
  m_selection.setHovered({});
}

bool KvMapView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return View::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QString words = explain(help->pos());
  words.isEmpty() ? QToolTip::hideText() : QToolTip::showText(help->globalPos(), words, this);
  return true;
}

QString KvMapView::explain(const QPoint& point) const {
  if (!m_snapshot || m_snapshot->blocks.empty()) return {};
  const KvMapLayout layout = parts();
  const QString counted = tr("Counted from the cache's own tables after a step.");
  if (layout.block_gauge.contains(point)) {
    return tr("Block use = blocks held by a request ÷ all blocks; a shared block counts once. A block has %1 slots and "
              "%2.\n%3")
        .arg(countText(m_snapshot->block_size), bytesText(m_snapshot->kv_block_bytes), counted);
  }
  if (layout.slot_gauge.contains(point)) {
    const BlockCounts counts = countBlocks(m_snapshot->blocks);
    const std::int64_t held = counts.held() * m_snapshot->block_size;
    return tr("Slot use = token slots that hold a computed token ÷ all slots. Within the held blocks %1 of %2 slots "
              "are filled (%3); the rest is reserved or lost to fragmentation.\n%4")
        .arg(countText(counts.held_slots), countText(held), shareText(share(counts.held_slots, held)), counted);
  }
  if (layout.legend.contains(point)) {
    return tr("used: held by one request, filled from below by its tokens; shared: held by several; cached: free, but "
              "its content can still be hit by a prompt that begins alike; free: empty.\n%1")
        .arg(counted);
  }
  const int block = grid().blockAt(point);
  return block < 0 ? QString() : blockText(block);
}

QString KvMapView::blockText(int index) const {
  const core::BlockInfo& block = m_snapshot->blocks[static_cast<std::size_t>(index)];
  QString text = tr("Block %1: %2").arg(countText(index), blockStateWord(block.state));
  if (block.owner.valid()) text += tr("\nowner: %1").arg(requestName(m_snapshot.get(), block.owner));
  text += tr("\ntokens: %1 of %2 slots").arg(countText(block.num_tokens), countText(m_snapshot->block_size));
  text += tr("\nref count: %1").arg(block.ref_count);
  return text;
}

}  // namespace inferoscope::gui
