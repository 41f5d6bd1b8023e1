// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/views/utilisation_layout.h"
#include "gui/views/view.h"

#include <array>

class QCPAxisRect;
class QCPGraph;
class QCPTextElement;
class QCustomPlot;

namespace inferoscope::gui {

class EmptyStack;

// How much of the machine is used, over lane time: tokens/s, bandwidth and compute of what the probe reached, KV
// blocks.
class UtilisationView : public View {
  Q_OBJECT

 public:
  UtilisationView(Selection& selection, QWidget* parent);

  void showModel(const ModelInfo& model) override;
  void showLimits(const core::MachineLimits& limits) override;
  void showFrame(const Frame& frame) override;

  QSize sizeHint() const override { return {520, 480}; }
  QSize minimumSizeHint() const override { return {240, 200}; }

 protected:
  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  enum StripIndex { kTokens, kBandwidth, kCompute, kCache, kNumStrips };
  struct Strip {
    QCPTextElement* title = nullptr;
    QCPAxisRect* rect = nullptr;
    QCPGraph* phase = nullptr;  // a band where prefill is most of the work
    QCPGraph* main = nullptr;
    QCPGraph* second = nullptr;  // prefill tokens
  };

  void buildStrips();
  void applyTheme();
  void refresh();
  void setTitles(const RateSeries& rates);
  void setScales(const RateSeries& rates, double from_s, double to_s);
  void zoom(int direction);
  QString explain(const QPoint& point) const;

  QCustomPlot* m_plot;
  EmptyStack* m_stack;
  std::array<Strip, kNumStrips> m_strips;
  WorkHistory m_history;
  core::MachineLimits m_limits;
  double m_span_s = 30;
};

}  // namespace inferoscope::gui
