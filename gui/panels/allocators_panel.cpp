// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/panels/allocators_panel.h"

#include "core/engine/kv_plan.h"
#include "gui/paint/marks.h"
#include "gui/paint/number_format.h"
#include "gui/paint/plot_style.h"
#include "gui/paint/theme.h"

#include <qcustomplot.h>
#include <QEvent>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace inferoscope::gui {
namespace {

constexpr qsizetype kMostPoints = 2000;
constexpr double kShortestSpanS = 5;

QString explain(core::ShadowKind kind) {
  switch (kind) {
    case core::ShadowKind::kContiguousMax:
      return AllocatorsPanel::tr("One piece for each sequence, with room for the longest possible text");
    case core::ShadowKind::kPowerOfTwo:
      return AllocatorsPanel::tr("One piece: the prompt, and the next power of two of what may be answered");
    case core::ShadowKind::kOracle:
      return AllocatorsPanel::tr("One piece of exactly what will be written, as if that were known");
    case core::ShadowKind::kPaged:
      return AllocatorsPanel::tr("Blocks of this many slots, taken as tokens come");
  }
  return {};
}

// Pieces in hues of their own; pages in one, the paler the larger their blocks.
QColor colorOf(std::size_t index, const core::ShadowPolicy& policy, const Theme& theme) {
  if (policy.kind != core::ShadowKind::kPaged) return theme.owners[index % theme.owners.size()];
  const double log2_over_8 = std::log2(policy.block_size / 8.0);
  return mix(theme.compute, theme.surface, 0.12 * log2_over_8);
}

}  // namespace

AllocatorsPanel::AllocatorsPanel(QWidget* parent) : QWidget(parent), m_plot(new QCustomPlot), m_legend(new LegendBar) {
  setAccessibleDescription(tr("The share of KV slots held and not written, by allocator, over time"));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(m_plot, 1);
  layout->addWidget(m_legend);
  m_plot->setMinimumSize(160, 60);
  m_legend->setFont(smallFont(font()));
  m_plot->yAxis->setRange(0, 100);
  m_plot->yAxis->setTicker(QSharedPointer<UnitTicker>::create(tr("%"), 5));
  m_plot->xAxis->setTicker(QSharedPointer<UnitTicker>::create(tr(" s"), 6));
  for (const core::ShadowPolicy& policy : core::shadowPolicies()) {
    m_curves.push_back({.policy = policy, .graph = m_plot->addGraph(), .waste = {}});
  }
  applyTheme();
  refresh();
}

void AllocatorsPanel::forget() {
  m_shadow = {};
  m_seconds.clear();
  m_num_running = 0;
  for (Curve& curve : m_curves) {
    curve.waste.clear();
    curve.num_held = 0;
  }
}

void AllocatorsPanel::showModel(const ModelInfo& model) {
  m_config = model.config;
  forget();
  refresh();
}

void AllocatorsPanel::showFrame(const Frame& frame) {
  const core::Snapshot& snapshot = *frame.snapshot;
  const double seconds = static_cast<double>(snapshot.lane_ns) * 1e-9;
  if (!m_seconds.empty() && seconds <= m_seconds.back()) return;
  addPoint(snapshot);
  refresh();
}

void AllocatorsPanel::addPoint(const core::Snapshot& snapshot) {
  m_shadow.add(snapshot, core::planKv(m_config, snapshot.options).max_len);
  const std::vector<core::ShadowAllocators::Point> points = m_shadow.now();
  m_seconds.push_back(static_cast<double>(snapshot.lane_ns) * 1e-9);
  m_num_running =
      static_cast<int>(std::ranges::count(snapshot.requests, core::SeqState::kRunning, &core::RequestInfo::state));
  for (std::size_t i = 0; i < m_curves.size(); ++i) {
    const core::KvUse& use = points[i].use;
    m_curves[i].waste.push_back(use.held() > 0 ? 100 * use.waste() : std::nan(""));  // a gap: it holds nothing
    m_curves[i].num_held = points[i].num_held;
  }
  if (m_seconds.size() > kMostPoints) thin();
}

// Every second point goes.
void AllocatorsPanel::thin() {
  const auto halve = [](QVector<double>& values) {
    for (qsizetype i = 0; 2 * i < values.size(); ++i) values[i] = values[2 * i];
    values.resize((values.size() + 1) / 2);
  };
  halve(m_seconds);
  for (Curve& curve : m_curves) halve(curve.waste);
}

void AllocatorsPanel::refresh() {
  if (!isVisible()) return;
  const Theme theme = themeOf(palette());
  std::vector<LegendBar::Item> items;
  for (std::size_t i = 0; i < m_curves.size(); ++i) {
    const Curve& curve = m_curves[i];
    curve.graph->setData(m_seconds, curve.waste, true);
    const QString name = QString::fromStdString(curve.policy.name());
    const QString held = tr("Now it would hold %1 of the %2 sequences that run.")
                             .arg(countText(curve.num_held), countText(m_num_running));
    items.push_back({.color = colorOf(i, curve.policy, theme),
                     .words = curve.waste.empty() ? name : tr("%1: %2").arg(name, shareText(curve.waste.back() / 100)),
                     .explanation = explain(curve.policy.kind) + QStringLiteral(". ") + held});
  }
  m_legend->setItems(std::move(items));
  m_plot->xAxis->setRange(m_seconds.empty() ? 0 : m_seconds.front(),
                          std::max(kShortestSpanS, m_seconds.empty() ? 0 : m_seconds.back()));
  m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void AllocatorsPanel::applyTheme() {
  const Theme theme = themeOf(palette());
  stylePlot(*m_plot, theme, font());
  for (std::size_t i = 0; i < m_curves.size(); ++i) {
    m_curves[i].graph->setPen(QPen(colorOf(i, m_curves[i].policy, theme), 1.5));
  }
}

void AllocatorsPanel::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  const QEvent::Type type = event->type();
  if (type != QEvent::PaletteChange && type != QEvent::FontChange && type != QEvent::StyleChange) return;
  applyTheme();
  refresh();
}

void AllocatorsPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  refresh();
}

}  // namespace inferoscope::gui
