// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/limits.h"
#include "core/options.h"
#include "gui/session/frame.h"

#include <QLabel>
#include <QWidget>

#include <optional>

namespace inferoscope::gui {

// What the loaded model is, what it weighs, what to know about it; and the machine's ceilings with their age.
class ModelPanel : public QWidget {
  Q_OBJECT

 public:
  explicit ModelPanel(QWidget* parent = nullptr);
  void showModel(const ModelInfo& model);
  void showOptions(const core::EngineOptions& options);  // in force: the KV format decides what a token takes
  void showLimits(const core::MachineLimits& limits);

 signals:
  void probeClicked();

 private:
  void refresh();

  std::optional<ModelInfo> m_info;
  QLabel* m_notices = nullptr;
  QLabel* m_model = nullptr;
  QLabel* m_limits = nullptr;
};

}  // namespace inferoscope::gui
