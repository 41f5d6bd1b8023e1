// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/views/plot_view.h"
#include "gui/views/token_bytes_layout.h"

#include <array>
#include <memory>

class QCPGraph;
class QToolButton;

namespace inferoscope::gui {

class LayerTape;
class LegendBar;

// Bytes moved a generated token, stacked by class over lane time: where batching, quantization, flash attention and
// the growth of the KV cache all show. Beside it the tensors that the latest step read.
class TokenBytesView : public PlotView {
  Q_OBJECT

 public:
  TokenBytesView(Selection& selection, QWidget* parent);

  void showModel(const ModelInfo& model) override;
  void showFrame(const Frame& frame) override;
  void refresh() override;

  QSize sizeHint() const override { return {720, 420}; }
  QSize minimumSizeHint() const override { return {240, 200}; }

 protected:
  void applyTheme() override;
  QString explain(const QPoint& point) const override;
  void zoom(int direction) override;

 private:
  QWidget* buildChart();
  QWidget* buildTape();
  void showLegend();
  void showStack();
  QString explainTotal(double bytes) const;

  LegendBar* m_legend;
  LayerTape* m_tape;
  QToolButton* m_replay;
  std::array<QCPGraph*, core::kNumByteKinds> m_areas{};  // each up to the sum of its class and those below
  TokenBytesHistory m_history;
  TokenBytesSeries m_series;
  std::shared_ptr<const core::StepRecord> m_latest;
  double m_span_s = 30;
};

}  // namespace inferoscope::gui
