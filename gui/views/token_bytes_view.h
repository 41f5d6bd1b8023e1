// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/views/token_bytes_layout.h"
#include "gui/views/view.h"

#include <QTimer>

#include <array>
#include <memory>

class QCPGraph;
class QCustomPlot;
class QToolButton;

namespace inferoscope::gui {

class EmptyStack;
class LayerTape;
class LegendBar;

// Bytes moved a generated token, stacked by class over lane time: where batching, quantization, flash attention and
// the growth of the KV cache all show. Beside it the tensors that the latest step read.
class TokenBytesView : public View {
  Q_OBJECT

 public:
  TokenBytesView(Selection& selection, QWidget* parent);

  void showModel(const ModelInfo& model) override;
  void showLimits(const core::MachineLimits& limits) override;
  void showFrame(const Frame& frame) override;

  QSize sizeHint() const override { return {720, 420}; }
  QSize minimumSizeHint() const override { return {240, 200}; }

 protected:
  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget* buildChart();
  QWidget* buildTape();
  void applyTheme();
  void refresh();
  void showLegend();
  void showStack();
  void zoom(int direction);
  QString explain(const QPoint& point) const;
  QString explainTotal(double bytes) const;

  LegendBar* m_legend;
  QCustomPlot* m_plot;
  LayerTape* m_tape;
  QToolButton* m_replay;
  EmptyStack* m_stack = nullptr;
  QTimer m_pause;                                        // while it runs, the picture stays as it is
  std::array<QCPGraph*, core::kNumByteKinds> m_areas{};  // each up to the sum of its class and those below
  TokenBytesHistory m_history;
  TokenBytesSeries m_series;
  std::shared_ptr<const core::StepRecord> m_latest;
  core::MachineLimits m_limits;
  double m_span_s = 30;
};

}  // namespace inferoscope::gui
