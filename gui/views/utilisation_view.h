// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/paint/metrics.h"
#include "gui/views/plot_view.h"
#include "gui/views/utilisation_layout.h"

#include <array>

class QCPAxisRect;
class QCPGraph;
class QCPLayoutGrid;
class QCPMarginGroup;
class QCPTextElement;

namespace inferoscope::gui {

// How much of the machine is used, over lane time: tokens/s, bandwidth and compute of what the probe reached (beside it
// the "utilisation" of a GPU whose driver tells it), KV blocks.
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
    QCPAxisRect* rect = nullptr;
    QCPLayoutGrid* titles = nullptr;
    QCPTextElement* title = nullptr;  // of lane A or, alone, of the strip
    QCPTextElement* title_b = nullptr;
    QCPGraph* graph = nullptr;
    QCPGraph* graph_b = nullptr;
  };
  struct Lane {
    WorkHistory history;
    RateSeries rates;
  };

  void buildStrips();
  void buildStrip(StripIndex index);
  QCPGraph* addPhaseBand(StripIndex index);
  void arrangeTitles();
  bool titlesNeedRows() const;
  void setData();
  void setSharesOrRates(StripIndex index, const Lane& lane, QCPGraph& graph) const;
  void setTitles();
  QStringList titlesOf(StripIndex index, const RateSeries& rates) const;
  void setScales();
  Strip& strip(StripIndex index) { return m_strips[static_cast<std::size_t>(index)]; }
  QString valuesAt(StripIndex index, int x) const;
  QString valueText(StripIndex index, double value) const;
  QString gpuText(double share) const;
  static Metric metricOf(StripIndex index);

  QCPMarginGroup* m_margins;
  std::array<Strip, kNumStrips> m_strips;
  QCPTextElement* m_prefill_title = nullptr;  // beside that of the first strip; alone
  std::array<QCPGraph*, 2> m_prefill{};       // in the first strip, by lane
  QCPGraph* m_gpu = nullptr;                  // what a GPU's driver says, beside the compute use; alone
  std::array<QCPGraph*, 2> m_phase_bands{};   // where most of the work is prefill; alone
  std::array<Lane, 2> m_lanes;
  bool m_two = false;  // lanes
  bool m_titles_in_rows = false;
  double m_span_s = 30;
};

}  // namespace inferoscope::gui
