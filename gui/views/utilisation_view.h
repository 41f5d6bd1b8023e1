// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/paint/metrics.h"
#include "gui/views/plot_view.h"
#include "gui/views/utilisation_layout.h"

#include <array>

class QCPAxisRect;
class QCPGraph;
class QCPMarginGroup;
class QCPTextElement;

namespace inferoscope::gui {

// How much of the machine is used, over lane time: tokens/s, bandwidth and compute of what the probe reached, KV
// blocks.
class UtilisationView : public PlotView {
  Q_OBJECT

 public:
  UtilisationView(Selection& selection, QWidget* parent);

  void showModel(const ModelInfo& model) override;
  void showFrame(const Frame& frame) override;
  void refresh() override;

  QSize sizeHint() const override { return {520, 480}; }
  QSize minimumSizeHint() const override { return {240, 200}; }

 protected:
  void applyTheme() override;
  QString explain(const QPoint& point) const override;
  void zoom(int direction) override;

 private:
  enum StripIndex { kTokens, kBandwidth, kCompute, kCache, kNumStrips };
  struct Strip {
    QCPTextElement* title = nullptr;
    QCPAxisRect* rect = nullptr;
    QCPGraph* graph = nullptr;
  };

  void buildStrips();
  void buildStrip(StripIndex index);
  QCPGraph* addPhaseBand(StripIndex index);
  void setData(const RateSeries& rates);
  void setTitles(const RateSeries& rates);
  void setScales(const RateSeries& rates);
  Strip& strip(StripIndex index) { return m_strips[static_cast<std::size_t>(index)]; }
  QString valuesAt(StripIndex index, int x) const;
  static Metric metricOf(StripIndex index);

  QCPMarginGroup* m_margins;
  std::array<Strip, kNumStrips> m_strips;
  QCPTextElement* m_prefill_title = nullptr;  // beside that of the first strip
  QCPGraph* m_prefill = nullptr;              // in the first strip
  std::array<QCPGraph*, 2> m_phase_bands{};   // where most of the work is prefill
  WorkHistory m_history;
  double m_span_s = 30;
};

}  // namespace inferoscope::gui
