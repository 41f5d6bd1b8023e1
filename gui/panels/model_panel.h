// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/memory_estimate.h"
#include "core/observe/limits.h"
#include "core/options.h"
#include "gui/session/frame.h"

#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QStringList>
#include <QWidget>

#include <optional>

namespace inferoscope::gui {

// Models to open, with the memory they would take; what the loaded one is, what it weighs, what to know about it; and
// the machine's ceilings with their age.
class ModelPanel : public QWidget {
  Q_OBJECT

 public:
  explicit ModelPanel(QWidget* parent = nullptr);
  void showModel(const ModelInfo& model);
  void showOptions(const core::EngineOptions& options);  // in force: the KV format decides what a token takes
  void showLimits(const core::MachineLimits& limits);
  void showRecent(const QStringList& sources);  // newest first; files that are gone can't be chosen
  void showEstimate(const QString& source, const core::MemoryEstimate& estimate);
  void showEstimateFailure(const QString& source, const QString& reason);

 signals:
  void sourceChosen(const QString& source);  // what would it take?
  void openClicked(const QString& source);
  void probeClicked();

 private:
  QWidget* makeRecent();
  QString chosenSource() const;
  void refresh();

  std::optional<ModelInfo> m_info;
  QListWidget* m_recent = nullptr;
  QPushButton* m_open = nullptr;
  QLabel* m_estimate = nullptr;
  QLabel* m_notices = nullptr;
  QLabel* m_model = nullptr;
  QLabel* m_limits = nullptr;
};

}  // namespace inferoscope::gui
