// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/lane_panes.h"

#include "gui/paint/marks.h"
#include "gui/paint/metrics.h"
#include "gui/paint/number_format.h"
#include "gui/views/lanes.h"

#include <QEvent>
#include <QPainter>

#include <algorithm>

namespace inferoscope::gui {

// The name of a lane, what sets it apart, and its clock.
class LaneHeader : public QWidget {
 public:
  LaneHeader(core::LaneId lane, QWidget* parent) : QWidget(parent), m_lane(lane) {}

  void showLane(const core::Snapshot& lane, const core::Snapshot& other) {
    m_settings = laneSettings(lane.options, other.options);
    m_clock = durationText(lane.lane_ns);
    setAccessibleName(LanePanes::tr("Lane %1: %2").arg(laneName(m_lane), m_settings));
    setToolTip(tipText(LanePanes::tr("Lane %1: %2\nIts clock stands at %3: the sum of its own steps and of what it "
                                     "waited for requests. The lane that is behind steps next.")
                           .arg(laneName(m_lane), m_settings, m_clock)));
    update();
  }

  int heightWanted() const { return QFontMetrics(font()).height() + kSpacing; }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    const Theme theme = themeOf(palette());
    painter.fillRect(rect(), theme.surface);
    const QRect inner = rect().adjusted(kMargin, kSpacing / 2, -kMargin, 0);
    const int tag = paintLaneTag(painter, inner, laneName(m_lane), laneColor(m_lane, theme));
    painter.setFont(smallFont(font()));
    const int clock = painter.fontMetrics().horizontalAdvance(m_clock);
    const QRect words = inner.adjusted(tag + kSpacing, 0, -clock - kSpacing, 0);
    painter.setPen(theme.text);
    painter.drawText(words, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(m_settings, Qt::ElideRight, words.width()));
    painter.setPen(theme.dim);
    painter.drawText(inner, Qt::AlignRight | Qt::AlignVCenter, m_clock);
  }

 private:
  core::LaneId m_lane;
  QString m_settings;
  QString m_clock;
};

PanesLayout layoutPanes(const QSize& size, int header_height, bool two) {
  PanesLayout layout;
  auto& [a, b] = layout.panes;
  if (!two) {
    a.view = QRect(QPoint(), size);
    return layout;
  }
  const bool beside = size.width() > 1.5 * size.height();
  const QSize share = beside ? QSize((size.width() - 1) / 2, size.height()) : QSize(size.width(), size.height() / 2);
  const QPoint second = beside ? QPoint(size.width() - share.width(), 0) : QPoint(0, size.height() - share.height());
  a.header = QRect(0, 0, share.width(), std::min(header_height, share.height()));
  a.view = QRect(0, a.header.height(), share.width(), share.height() - a.header.height());
  b.header = a.header.translated(second);
  b.view = a.view.translated(second);
  return layout;
}

LanePanes::LanePanes(Make make, Selection& selection, QWidget* parent) : View(selection, parent), m_make(make) {
  m_panes[0] = {.header = new LaneHeader(core::LaneId::kA, this), .view = m_make(selection, this)};
  m_panes[0].header->hide();
  setAccessibleName(m_panes[0].view->accessibleName());
  setAccessibleDescription(m_panes[0].view->accessibleDescription());
  setFocusProxy(m_panes[0].view);
  const auto mirror = [](const Selection& from, Selection& to) {
    to.setRequest(from.request());
    to.setHovered(from.hovered());
  };
  connect(&m_selection, &Selection::changed, this, [this, mirror] { mirror(m_selection, m_selection_b); });
  connect(&m_selection_b, &Selection::changed, this, [this, mirror] { mirror(m_selection_b, m_selection); });
}

void LanePanes::showModel(const ModelInfo& model) {
  m_model = model;
  removeLaneB();
  m_panes[0].view->showModel(model);
}

void LanePanes::showLimits(const core::MachineLimits& limits) {
  m_limits = limits;
  for (const Pane& pane : m_panes) {
    if (pane.view != nullptr) pane.view->showLimits(limits);
  }
}

void LanePanes::showFrame(const Frame& frame) {
  const bool compares = frame.b && frame.b->snapshot && frame.snapshot;
  if (compares && !two()) addLaneB();
  if (!compares && two()) removeLaneB();
  m_panes[0].view->showBeside(compares ? &*frame.b : nullptr);
  m_panes[0].view->showFrame({frame, std::nullopt});
  if (!compares) return;
  m_panes[1].view->showBeside(&frame);
  m_panes[1].view->showFrame({*frame.b, std::nullopt});
  m_panes[0].header->showLane(*frame.snapshot, *frame.b->snapshot);
  m_panes[1].header->showLane(*frame.b->snapshot, *frame.snapshot);
}

void LanePanes::refresh() {
  for (const Pane& pane : m_panes) {
    if (pane.view != nullptr) pane.view->refresh();
  }
}

void LanePanes::addLaneB() {
  m_panes[1] = {.header = new LaneHeader(core::LaneId::kB, this), .view = m_make(m_selection_b, this)};
  View& view = *m_panes[1].view;
  view.setAccessibleName(tr("%1, lane B").arg(accessibleName()));
  if (m_model) view.showModel(*m_model);
  if (m_limits.measured()) view.showLimits(m_limits);
  place();
  for (const Pane& pane : m_panes) {
    pane.header->show();
    pane.view->show();
  }
}

void LanePanes::removeLaneB() {
  if (!two()) return;
  delete m_panes[1].view;
  delete m_panes[1].header;
  m_panes[1] = {};
  m_panes[0].header->hide();
  place();
}

void LanePanes::place() {
  const PanesLayout layout = layoutPanes(size(), m_panes[0].header->heightWanted(), two());
  for (std::size_t i = 0; i < m_panes.size(); ++i) {
    if (m_panes[i].view == nullptr) continue;
    m_panes[i].header->setGeometry(layout.panes[i].header);
    m_panes[i].view->setGeometry(layout.panes[i].view);
  }
}

void LanePanes::resizeEvent(QResizeEvent* event) {
  View::resizeEvent(event);
  place();
}

void LanePanes::changeEvent(QEvent* event) {
  View::changeEvent(event);
  if (event->type() == QEvent::FontChange) place();
}

}  // namespace inferoscope::gui
