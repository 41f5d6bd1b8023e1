// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/layer_tape.h"

#include "gui/paint/marks.h"
#include "gui/paint/number_format.h"
#include "gui/paint/theme.h"
#include "gui/views/lanes.h"
#include "gui/views/work_words.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>
#include <utility>

namespace inferoscope::gui {

namespace {

constexpr int kTickMs = 40;
constexpr double kReplayMs = 8000;  // of a whole step

}  // namespace

LayerTape::LayerTape(QWidget* parent) : QWidget(parent) {
  setAccessibleName(tr("Tensors that a step reads"));
  m_tick.setInterval(kTickMs);
  connect(&m_tick, &QTimer::timeout, this, &LayerTape::advance);
}

void LayerTape::showStep(std::shared_ptr<const core::StepRecord> step) {
  m_next = std::move(step);
  if (m_replay && m_step && m_next) return;
  m_step = m_next;
  m_lit = -1;
  update();
}

void LayerTape::setReplay(bool on) {
  m_replay = on;
  m_step = m_next;
  m_since.start();
  showTime(0);
  if (on && isVisible()) {
    m_tick.start();
  } else {
    m_tick.stop();
  }
  if (!on) m_lit = -1;
  update();
}

void LayerTape::setLane(std::optional<core::LaneId> lane, double whole_bytes) {
  m_lane = lane;
  m_whole_bytes = whole_bytes;
  update();
}

void LayerTape::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  m_tick.stop();
}

void LayerTape::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (m_replay) m_tick.start();
}

double LayerTape::slowness() const {
  return m_step ? kReplayMs * 1e6 / static_cast<double>(std::max<std::int64_t>(1, lengthNs(m_step->ops))) : 1.0;
}

void LayerTape::advance() {
  if (!m_step) return;
  if (static_cast<double>(m_since.elapsed()) >= kReplayMs) {
    m_since.restart();
    m_step = m_next;
  }
  showTime(std::llround(static_cast<double>(m_since.elapsed()) * 1e6 / slowness()));
}

void LayerTape::showTime(std::int64_t ns) {
  m_at_ns = ns;
  m_lit = m_step ? opAtTime(m_step->ops, ns) : -1;
  update();
}

Tape LayerTape::tape() const {
  std::vector<std::uint64_t> bytes;
  if (m_step) std::ranges::transform(m_step->ops, std::back_inserter(bytes), tapeBytes);
  const QFontMetrics metrics(smallFont(font()));
  const QRect area = rect().adjusted(kMargin, 2 * metrics.height() + kSpacing, -kMargin, -kMargin);
  return layoutTape(bytes, area, metrics.height() + 2, m_whole_bytes);
}

void LayerTape::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = themeOf(palette());
  painter.fillRect(rect(), theme.surface);
  if (!m_step) return;
  painter.setFont(smallFont(font()));
  painter.setPen(theme.dim);
  QRect words(kMargin, 0, width() - 2 * kMargin, 2 * painter.fontMetrics().height());
  if (m_lane) {
    const QRect first_line(words.topLeft(), QSize(words.width(), painter.fontMetrics().height()));
    words.setLeft(words.left() + paintLaneTag(painter, first_line, laneName(*m_lane), laneColor(*m_lane, theme)) +
                  kSpacing);
    painter.setPen(theme.dim);
  }
  painter.drawText(words, Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, caption());
  for (const TapePiece& piece : tape().pieces) paintPiece(painter, piece, theme);
}

// Read already: full colour; not yet: faint. Without a replay layers take turns in strength.
void LayerTape::paintPiece(QPainter& painter, const TapePiece& piece, const Theme& theme) const {
  const core::OpRecord& op = m_step->ops[piece.op];
  const bool keys = op.cost.kv_read > op.cost.weights;
  const bool lit = static_cast<int>(piece.op) == m_lit;
  const bool done = op.start_ns - m_step->ops.front().start_ns < m_at_ns;
  const QColor color = byteKindColor(keys ? core::ByteKind::kKvRead : core::ByteKind::kWeights, theme);
  const double strength = m_replay ? (lit ? 1.0 : done ? 0.6 : 0.22) : op.layer % 2 == 0 ? 0.75 : 0.5;
  const QColor ground = lit ? theme.text : mix(theme.surface, color, strength);
  const double gap = piece.place.width() > 3 ? 1 : 0;  // between neighbours, where there is room for it
  painter.fillRect(piece.place.adjusted(0, 0, -gap, 0), ground);
  if (!piece.first) return;
  const QString name = QString::fromLatin1(op.name.data(), static_cast<qsizetype>(op.name.size()));
  QString words = op.layer < 0 ? name : tr("L%1 %2").arg(op.layer).arg(name);
  const QFontMetrics metrics = painter.fontMetrics();
  if (metrics.horizontalAdvance(words) + 4 > piece.place.width()) words = name;
  if (metrics.horizontalAdvance(words) + 4 > piece.place.width()) return;
  painter.setPen(readable(ground, ground));
  painter.drawText(piece.place.adjusted(2, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, words);
}

QString LayerTape::opName(const core::OpRecord& op) const {
  const QString name = QString::fromLatin1(op.name.data(), static_cast<qsizetype>(op.name.size()));
  return op.layer < 0 ? name : tr("layer %1, %2").arg(op.layer).arg(name);
}

QString LayerTape::caption() const {
  if (m_replay) {
    const QString slowed = tr("Slowed %1 times.").arg(significantText(slowness()));
    if (m_lit < 0) return slowed + tr("\nbetween ops");
    const core::OpRecord& op = m_step->ops[static_cast<std::size_t>(m_lit)];
    const core::OpWork work = core::workOf(op, {});
    return slowed + tr("\n%1: %2 in %3, %4")
                        .arg(opName(op), movedText(static_cast<double>(tapeBytes(op))), durationText(op.duration_ns),
                             byteRateText(work.bytesPerSecond().value_or(0)));
  }
  const double bytes = static_cast<double>(m_step->cost.weights + m_step->cost.kv_read);
  return tr("Step %1 reads %2,\na line is %3.")
      .arg(countText(m_step->step_index), movedText(bytes), movedText(tape().bytes_per_line));
}

bool LayerTape::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int op = opAt(tape(), help->pos());
  QToolTip::showText(help->globalPos(),
                     op >= 0
                         ? explain(m_step->ops[static_cast<std::size_t>(op)])
                         : tr("The weights and keys that the step reads from memory, in the order in which it reads "
                              "them. Every pixel of a line is the same number of bytes, counted from the shapes."),
                     this);
  return true;
}

QString LayerTape::explain(const core::OpRecord& op) const {
  const core::OpWork work = core::workOf(op, {});
  QString text =
      tr("%1, kernel %2").arg(opName(op), QString::fromLatin1(op.kernel.data(), qsizetype(op.kernel.size())));
  text += tr("\nweights %1, keys and values %2 (counted)")
              .arg(movedText(static_cast<double>(op.cost.weights)), movedText(static_cast<double>(op.cost.kv_read)));
  text += tr("\n%1 (measured): all its bytes ÷ time = %2")
              .arg(durationText(op.duration_ns), byteRateText(work.bytesPerSecond().value_or(0)));
  return text;
}

}  // namespace inferoscope::gui
