// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/cache/shadow_pool.h"
#include "gui/paint/legend_bar.h"
#include "gui/session/frame.h"

#include <QVector>
#include <QWidget>

#include <vector>

class QCPGraph;
class QCustomPlot;

namespace inferoscope::gui {

// What other allocators would make of the requests that run, had they the same KV memory: the share of the slots held
// that is not written, over lane time. Bookkeeping alone; the model runs once.
class AllocatorsPanel : public QWidget {
  Q_OBJECT

 public:
  explicit AllocatorsPanel(QWidget* parent = nullptr);

  void showModel(const ModelInfo& model);  // forgets all before
  void showFrame(const Frame& frame);

 protected:
  void changeEvent(QEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  struct Curve {
    core::ShadowPolicy policy;
    QCPGraph* graph;
    QVector<double> waste;  // %, by m_seconds
    int num_held = 0;       // sequences, now
  };
  void forget();
  void addPoint(const core::Snapshot& snapshot);
  void thin();
  void applyTheme();
  void refresh();

  core::ModelConfig m_config;
  core::ShadowAllocators m_shadow;
  QVector<double> m_seconds;
  std::vector<Curve> m_curves;
  int m_num_running = 0;
  QCustomPlot* m_plot = nullptr;
  LegendBar* m_legend = nullptr;
};

}  // namespace inferoscope::gui
