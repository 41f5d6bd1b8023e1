// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/kv_map_view.h"

#include "gui/paint/marks.h"
#include "gui/paint/metrics.h"
#include "gui/paint/number_format.h"
#include "gui/paint/theme.h"
#include "gui/views/kv_map_raster.h"
#include "gui/views/words.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <unordered_map>

namespace inferoscope::gui {

namespace {

constexpr int kLeastRing = 9;    // around the block that is pointed at
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
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("KV block map"));
  connect(&selection, &Selection::changed, this, &KvMapView::obeySelection);
  obeySelection();
}

// What is pointed at is said to those who don't see it.
void KvMapView::obeySelection() {
  const int block = m_selection.block().value;
  const bool there = m_snapshot && block >= 0 && block < static_cast<int>(m_snapshot->blocks.size());
  setAccessibleDescription(there ? blockText(block)
                                 : tr("One cell for each block of the KV cache, coloured by the request that holds it. "
                                      "The arrow keys go from block to block, Enter chooses the request that holds "
                                      "one."));
  update();
}

void KvMapView::showModel(const ModelInfo&) {
  m_has_model = true;
  m_snapshot.reset();
  m_beside.reset();
  m_scale = {};
  m_parts.clear();
  update();
}

void KvMapView::showLimits(const core::MachineLimits&) {}

void KvMapView::showBeside(const LaneFrame* other) {
  m_beside = other != nullptr ? other->snapshot : nullptr;
}

void KvMapView::showFrame(const Frame& frame) {
  if (frame.snapshot) m_snapshot = frame.snapshot;
  if (m_snapshot) m_scale = scaleOf(*m_snapshot, m_beside.get());
  m_parts.clear();
  if (m_scale.parts > 1) m_parts = cutBlocks(m_snapshot->blocks, m_scale.cell_slots, m_scale.parts);
  update();
}

std::span<const core::BlockInfo> KvMapView::cells() const {
  if (m_scale.parts > 1) return m_parts;
  return m_snapshot->blocks;
}

int KvMapView::blockAt(const QPoint& point) const {
  const int cell = grid().blockAt(point);
  return cell >= 0 && m_snapshot && cell < std::ssize(cells()) ? cell / m_scale.parts : -1;
}

KvMapLayout KvMapView::parts() const {
  return layoutKvMap(size(), gaugeHeight(fontMetrics()), QFontMetrics(smallFont(font())).height());
}

KvMapGrid KvMapView::grid() const {
  return m_snapshot ? gridFor(parts().map, m_scale.num_cells) : KvMapGrid{};
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
  if (!m_by_keyboard) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
  painter.drawRect(rect().adjusted(1, 1, -1, -1));
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
  const QImage image = rasterBlocks(places, cells(), m_scale.cell_slots, m_selection.shown(), theme);
  painter.drawImage(places.area, image);  // scaled to the nearest pixel
  if (places.cell >= kLabelCell) paintLabels(painter, places, image);
  paintOutlines(painter, places, theme);
  paintPointed(painter, places, theme);
}

// The block that is pointed at: a ring around it, of a size that can be found at any density.
void KvMapView::paintPointed(QPainter& painter, const KvMapGrid& places, const Theme& theme) const {
  const int block = m_selection.block().value;
  if (block < 0 || block >= std::ssize(m_snapshot->blocks)) return;
  const QRect cell = places.cellRect(block * m_scale.parts);
  const int wider = std::max(0, (kLeastRing - std::min(cell.width(), cell.height()) + 1) / 2);
  const QRect ring = cell.adjusted(-wider, -wider, wider, wider);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme.surface, 1));
  painter.drawRect(ring.adjusted(1, 1, -2, -2));
  painter.drawRect(ring.adjusted(-3, -3, 2, 2));
  painter.setPen(QPen(theme.outline, 3));
  painter.drawRect(ring.adjusted(-1, -1, 0, 0));
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
  for (int i = 0; i < std::ssize(m_snapshot->blocks); ++i) {
    const QRect cell = places.cellRect(i * m_scale.parts).adjusted(2, 1, -3, -2);
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
  for (int i = 0; i < std::ssize(cells()); ++i) {
    if (cells()[static_cast<std::size_t>(i)].owner != shown) continue;
    painter.drawRect(places.cellRect(i).adjusted(-1, -1, -1, -1));
  }
}

void KvMapView::paintLegend(QPainter& painter, const QRect& area, const BlockCounts& counts, const Theme& theme) const {
  painter.setFont(smallFont(font()));
  const QFontMetrics metrics = painter.fontMetrics();
  const int side = std::max(9, metrics.ascent());
  int x = area.left();
  const auto put = [&](const core::BlockInfo& block, const QString& words) {
    const int width = side + 5 + metrics.horizontalAdvance(words);
    if (x + width > area.right() + 1) return;
    painter.drawImage(QPoint(x, area.center().y() - side / 2 + 1), rasterSample(block, 4, side, theme));
    painter.setPen(theme.dim);
    painter.drawText(QRect(x + side + 5, area.top(), width, area.height()), Qt::AlignLeft | Qt::AlignVCenter, words);
    x += width + 2 * kMargin;
  };
  const auto stateWords = [&](core::BlockState state) {
    return tr("%1 %2").arg(blockStateWord(state), countText(counts.count(state)));
  };
  put(sample(core::BlockState::kUsed), stateWords(core::BlockState::kUsed));
  if (m_beside) {
    const std::int64_t unwritten = counts.held() * m_snapshot->block_size - counts.held_slots;
    put({.owner = core::SeqId{1}, .num_tokens = 0, .state = core::BlockState::kUsed},
        tr("unwritten %1 slots").arg(countText(unwritten)));
  }
  for (const auto state : {core::BlockState::kShared, core::BlockState::kCached, core::BlockState::kFree}) {
    put(sample(state), stateWords(state));
  }
}

core::SeqId KvMapView::ownerOf(int block) const {
  const bool there = m_snapshot && block >= 0 && block < static_cast<int>(m_snapshot->blocks.size());
  return there ? m_snapshot->blocks[static_cast<std::size_t>(block)].owner : core::SeqId{};
}

void KvMapView::mouseMoveEvent(QMouseEvent* event) {
  m_selection.setHovered(ownerOf(blockAt(event->position().toPoint())));
}

void KvMapView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  const int block = blockAt(event->position().toPoint());
  m_selection.setBlock(core::BlockId{block});
  m_selection.setRequest(ownerOf(block));
}

void KvMapView::keyPressEvent(QKeyEvent* event) {
  const KvMapGrid places = grid();
  const int block = m_selection.block().value;
  const int num_blocks = m_snapshot ? static_cast<int>(m_snapshot->blocks.size()) : 0;
  const auto go = [&](int to) { m_selection.setBlock(core::BlockId{to}); };
  const auto step = [&](int right, int down) {
    const int to = places.moved(block < 0 ? -1 : block * m_scale.parts, right * m_scale.parts, down) / m_scale.parts;
    go(to < num_blocks ? to : block);
  };
  switch (event->key()) {
    case Qt::Key_Left:
      return step(-1, 0);
    case Qt::Key_Right:
      return step(1, 0);
    case Qt::Key_Up:
      return step(0, -1);
    case Qt::Key_Down:
      return step(0, 1);
    case Qt::Key_Home:
      return go(num_blocks > 0 ? 0 : -1);
    case Qt::Key_End:
      return go(num_blocks - 1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      return m_selection.setRequest(ownerOf(block));
    case Qt::Key_Escape:
      return m_selection.clear();
    default:
      return View::keyPressEvent(event);
  }
}

// The ring is for those who came by keyboard: who clicked knows where he is.
void KvMapView::focusInEvent(QFocusEvent* event) {
  View::focusInEvent(event);
  m_by_keyboard = event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason;
  update();
}

void KvMapView::focusOutEvent(QFocusEvent* event) {
  View::focusOutEvent(event);
  m_by_keyboard = false;
  update();
}

void KvMapView::leaveEvent(QEvent*) {
  m_selection.setHovered({});
}

bool KvMapView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return View::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QString words = explain(help->pos());
  words.isEmpty() ? QToolTip::hideText() : QToolTip::showText(help->globalPos(), tipText(words), this);
  return true;
}

QString KvMapView::explain(const QPoint& point) const {
  if (!m_snapshot || m_snapshot->blocks.empty()) return {};
  const KvMapLayout layout = parts();
  const BlockCounts counts = countBlocks(m_snapshot->blocks);
  const auto quotient = [](std::int64_t part, std::int64_t all) {
    return tr("%1 ÷ %2 = %3").arg(countText(part), countText(all), shareText(share(part, all)));
  };
  if (layout.block_gauge.contains(point)) {
    return explainMetric(Metric::kBlockUse, quotient(counts.held(), counts.all())) +
           tr("\nA block has %1 slots and %2.")
               .arg(countText(m_snapshot->block_size), bytesText(m_snapshot->kv_block_bytes));
  }
  if (layout.slot_gauge.contains(point)) {
    const std::int64_t held = counts.held() * m_snapshot->block_size;
    return explainMetric(Metric::kSlotUse, quotient(counts.held_slots, counts.all() * m_snapshot->block_size)) +
           tr("\nWithin the held blocks: %1; the rest is reserved or lost to fragmentation.")
               .arg(quotient(counts.held_slots, held));
  }
  if (layout.legend.contains(point)) {
    return tr(
        "used: held by one request, filled from below by its tokens; shared: held by several; cached: free, but "
        "its content can still be hit by a prompt that begins alike; free: empty.\nIn a comparison a cell is as many "
        "token slots in both lanes: a reservation for a whole context is a long strip, and what is not written of it "
        "a hole.\nCounted from the cache's own "
        "tables after a step.");
  }
  const int block = blockAt(point);
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
