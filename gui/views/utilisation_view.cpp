// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/utilisation_view.h"

#include "gui/paint/empty_stack.h"
#include "gui/paint/marks.h"
#include "gui/paint/number_format.h"
#include "gui/paint/plot_style.h"
#include "gui/views/words.h"

#include <qcustomplot.h>
#include <QHelpEvent>
#include <QToolTip>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace inferoscope::gui {

namespace {

constexpr double kShortestSpanS = 5;
constexpr double kLongestSpanS = 3600;

QVector<double> vector(const std::vector<double>& values, double scale = 1) {
  QVector<double> scaled(static_cast<qsizetype>(values.size()));
  std::ranges::transform(values, scaled.begin(), [scale](double value) { return value * scale; });
  return scaled;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values) {
    if (std::isfinite(value)) most = std::max(most, value);
  }
  return most;
}

double lastOf(const std::vector<double>& values) {
  return values.empty() ? std::nan("") : values.back();
}

QColor translucent(QColor color, int alpha) {
  color.setAlpha(alpha);
  return color;
}

}  // namespace

UtilisationView::UtilisationView(Selection& selection, QWidget* parent)
    : View(selection, parent), m_plot(new QCustomPlot), m_stack(new EmptyStack(m_plot, noModelWords(), this)) {
  setAccessibleName(tr("Utilisation"));
  setAccessibleDescription(tr("Tokens per second, memory bandwidth, compute and KV blocks used over time"));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(m_stack);
  m_plot->setMinimumSize(minimumSizeHint());
  m_plot->installEventFilter(this);
  connect(m_plot, &QCustomPlot::mouseWheel, this, [this](QWheelEvent* event) { zoom(event->angleDelta().y()); });
  buildStrips();
  applyTheme();
}

void UtilisationView::buildStrips() {
  m_plot->plotLayout()->clear();
  m_plot->plotLayout()->setRowSpacing(0);
  auto* margins = new QCPMarginGroup(m_plot);
  for (int i = 0; i < kNumStrips; ++i) {
    Strip& strip = m_strips[static_cast<std::size_t>(i)];
    strip.title = new QCPTextElement(m_plot);
    strip.title->setTextFlags(Qt::AlignLeft | Qt::AlignVCenter);
    strip.title->setMargins(QMargins(kMargin, 2, kMargin, 0));
    strip.rect = new QCPAxisRect(m_plot, false);
    strip.rect->addAxes(QCPAxis::atLeft | QCPAxis::atBottom | QCPAxis::atRight);
    strip.rect->setMarginGroup(QCP::msLeft | QCP::msRight, margins);
    strip.rect->setMinimumMargins(QMargins(kMargin, 2, kMargin, 2));
    m_plot->plotLayout()->addElement(2 * i, 0, strip.title);
    m_plot->plotLayout()->addElement(2 * i + 1, 0, strip.rect);
    QCPAxis* x = strip.rect->axis(QCPAxis::atBottom);
    QCPAxis* y = strip.rect->axis(QCPAxis::atLeft);
    QCPAxis* band = strip.rect->axis(QCPAxis::atRight);
    x->setTickLabels(i + 1 == kNumStrips);
    band->setVisible(false);
    band->setRange(0, 1);
    y->ticker()->setTickCount(3);
    strip.phase = m_plot->addGraph(x, band);
    strip.phase->setLineStyle(QCPGraph::lsStepCenter);
    strip.main = m_plot->addGraph(x, y);
    if (i == kTokens) strip.second = m_plot->addGraph(x, y);
  }
  m_strips[kCache].rect->axis(QCPAxis::atBottom)->setLabel(tr("lane time, s"));
}

void UtilisationView::applyTheme() {
  const Theme theme = themeOf(palette());
  stylePlot(*m_plot, theme, font());
  const std::array<QColor, kNumStrips> colors = {theme.decode, theme.bandwidth, theme.compute, theme.cache};
  for (std::size_t i = 0; i < m_strips.size(); ++i) {
    m_strips[i].phase->setPen(Qt::NoPen);
    m_strips[i].phase->setBrush(translucent(theme.prefill, theme.dark ? 34 : 40));
    m_strips[i].main->setPen(QPen(colors[i], 1));
    m_strips[i].main->setBrush(translucent(colors[i], 40));
  }
  m_strips[kTokens].second->setPen(QPen(theme.prefill, 1));
}

void UtilisationView::changeEvent(QEvent* event) {
  View::changeEvent(event);
  const QEvent::Type type = event->type();
  if (type != QEvent::PaletteChange && type != QEvent::FontChange && type != QEvent::StyleChange) return;
  applyTheme();
  m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void UtilisationView::showModel(const ModelInfo&) {
  m_history.clear();
  m_stack->showWords(firstStepWords());
}

void UtilisationView::showLimits(const core::MachineLimits& limits) {
  m_limits = limits;
  refresh();
}

void UtilisationView::showFrame(const Frame& frame) {
  for (const auto& step : frame.steps) m_history.add(*step);
  if (!frame.steps.empty()) refresh();
}

void UtilisationView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  refresh();
}

void UtilisationView::refresh() {
  if (!isVisible() || m_history.empty()) return;
  m_stack->showContent();
  const double to_s = std::max(m_span_s, static_cast<double>(m_history.endNs()) / 1e9);
  const double from_s = to_s - m_span_s;
  const RateSeries rates = ratesOf(m_history, from_s, to_s, m_plot->width());
  const double byte_scale = m_limits.measured() ? 100 / m_limits.read_bytes_per_s : 1e-9;
  const double flop_scale = m_limits.measured() ? 100 / m_limits.fp32_flop_per_s : 1e-9;
  const QVector<double> seconds = vector(rates.seconds);
  m_strips[kTokens].main->setData(seconds, vector(rates.decode_per_s), true);
  m_strips[kTokens].second->setData(seconds, vector(rates.prefill_per_s), true);
  m_strips[kBandwidth].main->setData(seconds, vector(rates.bytes_per_s, byte_scale), true);
  m_strips[kCompute].main->setData(seconds, vector(rates.flop_per_s, flop_scale), true);
  m_strips[kCache].main->setData(seconds, vector(rates.kv_share, 100), true);
  for (const Strip& strip : m_strips) strip.phase->setData(seconds, vector(rates.prefill_phase), true);
  setTitles(rates);
  setScales(rates, from_s, to_s);
  m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void UtilisationView::setTitles(const RateSeries& rates) {
  const double bytes = lastOf(rates.bytes_per_s);
  const double flops = lastOf(rates.flop_per_s);
  const auto ofLimit = [this](const QString& now, double value, double limit, const QString& limit_text) {
    if (!m_limits.measured()) return now;
    return tr("%1 · %2 of %3").arg(now, shareText(value / limit), limit_text);
  };
  m_strips[kTokens].title->setText(
      tr("Decode %1 · prefill %2")
          .arg(tokenRateText(lastOf(rates.decode_per_s)), tokenRateText(lastOf(rates.prefill_per_s))));
  m_strips[kBandwidth].title->setText(tr("Bandwidth %1")
                                          .arg(ofLimit(byteRateText(bytes), bytes, m_limits.read_bytes_per_s,
                                                       byteRateText(m_limits.read_bytes_per_s))));
  m_strips[kCompute].title->setText(
      tr("Compute %1")
          .arg(ofLimit(flopRateText(flops), flops, m_limits.fp32_flop_per_s, flopRateText(m_limits.fp32_flop_per_s))));
  m_strips[kCache].title->setText(tr("KV blocks used %1").arg(shareText(lastOf(rates.kv_share))));
}

void UtilisationView::setScales(const RateSeries& rates, double from_s, double to_s) {
  const auto upTo = [](double most) { return most > 0 ? most * 1.12 : 1.0; };
  const auto setTop = [this](StripIndex strip, double top) {
    m_strips[strip].rect->axis(QCPAxis::atLeft)->setRange(0, top);
  };
  for (const Strip& strip : m_strips) strip.rect->axis(QCPAxis::atBottom)->setRange(from_s, to_s);
  setTop(kTokens, upTo(std::max(largest(rates.decode_per_s), largest(rates.prefill_per_s))));
  setTop(kBandwidth, m_limits.measured() ? 100 : upTo(largest(rates.bytes_per_s) / 1e9));
  setTop(kCompute, m_limits.measured() ? 100 : upTo(largest(rates.flop_per_s) / 1e9));
  setTop(kCache, 100);
  m_strips[kTokens].rect->axis(QCPAxis::atLeft)->setLabel(tr("tok/s"));
  m_strips[kBandwidth].rect->axis(QCPAxis::atLeft)->setLabel(m_limits.measured() ? tr("%") : tr("GB/s"));
  m_strips[kCompute].rect->axis(QCPAxis::atLeft)->setLabel(m_limits.measured() ? tr("%") : tr("GFLOP/s"));
  m_strips[kCache].rect->axis(QCPAxis::atLeft)->setLabel(tr("%"));
}

// The wheel: more or less time at once.
void UtilisationView::zoom(int direction) {
  if (direction == 0) return;
  m_span_s = std::clamp(m_span_s * (direction > 0 ? 0.8 : 1.25), kShortestSpanS, kLongestSpanS);
  refresh();
}

bool UtilisationView::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::ToolTip) return View::eventFilter(watched, event);
  const auto* help = static_cast<QHelpEvent*>(event);
  QToolTip::showText(help->globalPos(), explain(help->pos()), m_plot);
  return true;
}

QString UtilisationView::explain(const QPoint& point) const {
  const QString over = tr("\nAveraged over windows of at least %1 of lane time (pauses don't count); shaded: mostly "
                          "prefill. The wheel shows more or less time.")
                           .arg(durationText(WorkHistory::kBinNs));
  const auto within = [&](StripIndex strip) {
    return point.y() >= m_strips[strip].title->outerRect().top() &&
           point.y() <= m_strips[strip].rect->outerRect().bottom();
  };
  if (within(kTokens)) return tr("Tokens computed ÷ time, prompt and output tokens apart. Counted.") + over;
  if (within(kBandwidth)) {
    return tr("Bytes that the steps had to move at least once (weights, KV, activations, scores; counted from the "
              "shapes) ÷ measured time. 100% is the read bandwidth that the probe reached on this machine.") +
           over;
  }
  if (within(kCompute)) {
    return tr("FLOPs of the steps (a multiply-add is two; counted from the shapes) ÷ measured time. 100% is the fp32 "
              "rate that the probe reached on this machine.") +
           over;
  }
  return tr("KV blocks held by a request ÷ all blocks, after each step. Counted.") + over;
}

}  // namespace inferoscope::gui
