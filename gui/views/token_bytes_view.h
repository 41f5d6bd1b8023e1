// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/views/plot_view.h"
#include "gui/views/token_bytes_layout.h"

#include <array>
#include <memory>

class QCPAxisRect;
class QCPGraph;
class QCPMarginGroup;
class QCPTextElement;
class QSplitter;
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
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Lane {
    QCPTextElement* title = nullptr;
    QCPAxisRect* rect = nullptr;
    std::array<QCPGraph*, core::kNumByteKinds> areas{};  // each up to the sum of its class and those below
    LayerTape* tape = nullptr;
    TokenBytesHistory history;
    TokenBytesSeries series;
    std::shared_ptr<const core::StepRecord> latest;

    double lastOf(std::size_t byte_kind) const { return series.empty() ? 0.0 : series.per_token[byte_kind].back(); }
    double lastTotal() const { return series.empty() ? 0.0 : series.total(series.seconds.size() - 1); }
  };

  QWidget* buildChart();
  void buildLane(Lane& lane);
  QWidget* buildTapes();
  void arrange();
  void showLegend();
  void showTapes();
  void showStack(Lane& lane) const;
  QString explainTotal(double bytes) const;

  LegendBar* m_legend;
  QToolButton* m_replay;
  QSplitter* m_content;
  QCPMarginGroup* m_margins;
  std::array<Lane, 2> m_lanes;
  bool m_two = false;  // lanes
  double m_span_s = 30;
};

}  // namespace inferoscope::gui
