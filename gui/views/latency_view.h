// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/request_metrics.h"
#include "gui/paint/metrics.h"
#include "gui/views/latency_layout.h"
#include "gui/views/plot_view.h"

#include <qcustomplot.h>

#include <array>

namespace inferoscope::gui {

// How long requests wait for their first token and for each further one: distributions, with p50, p90 and p99.
class LatencyView : public PlotView {
  Q_OBJECT

 public:
  LatencyView(Selection& selection, QWidget* parent);

  void showModel(const ModelInfo& model) override;
  void showFrame(const Frame& frame) override;
  void refresh() override;

  QSize sizeHint() const override { return {420, 420}; }
  QSize minimumSizeHint() const override { return {240, 220}; }

 protected:
  void applyTheme() override;
  QString explain(const QPoint& point) const override;

 private:
  static constexpr std::size_t kNumPercentiles = 3;
  struct Lane {
    QCPTextElement* title = nullptr;
    QCPGraph* curve = nullptr;
    std::array<QCPGraph*, kNumPercentiles> drops{};  // from the curve down to the time
  };
  struct Chart {
    Metric metric;
    QCPAxisRect* rect = nullptr;
    std::array<Lane, 2> lanes{};
    double ms_per_unit = 1;  // of the axis
  };

  void buildChart(Chart& chart);
  void arrange(bool side_by_side);
  void showSamples(Chart& chart);
  void showLane(Chart& chart, std::size_t lane);
  QString titleOf(Metric metric, std::size_t lane, std::size_t num_samples, const core::Percentiles& marks) const;
  void setTicks(Chart& chart, double longest);
  int chartWidth() const;
  const std::deque<double>& samplesOf(Metric metric, std::size_t lane) const;
  static QString countOf(Metric metric, std::size_t num_samples);  // "14 requests"

  QCPMarginGroup* m_margins;
  std::array<Chart, 3> m_charts;
  bool m_side_by_side = false;
  std::array<LatencySamples, 2> m_samples;  // by lane
  bool m_two = false;                       // lanes
};

}  // namespace inferoscope::gui
