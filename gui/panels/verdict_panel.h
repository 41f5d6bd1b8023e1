// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/comparison.h"

#include <QAction>
#include <QLabel>
#include <QList>
#include <QPushButton>
#include <QString>
#include <QTreeWidget>
#include <QWidget>

#include <memory>
#include <optional>
#include <vector>

namespace inferoscope::gui {

// What the difference of two settings is worth: each figure of A and B with what may be said of it, and how far their
// answers lie apart. Saved to one file, opened again, exported.
class VerdictPanel : public QWidget {
  Q_OBJECT

 public:
  explicit VerdictPanel(QWidget* parent = nullptr);

  void showComparison(std::shared_ptr<const core::Comparison> comparison, bool finished);
  void showProgress(const QString& doing);
  void showEnded();  // before its end: what was found so far stays, and is said to be that
  const std::shared_ptr<const core::Comparison>& comparison() const { return m_comparison; }

  void open(const QString& file);  // a comparison that was saved
  void save(const QString& file);  // .json, .csv or .html
  void pin(bool lane_b);           // one lane's figures as a column beside all later comparisons
  void pinRun(const core::RunSummary& run, const QString& name);
  QString sentence() const { return m_answer->text(); }

 signals:
  void failed(const QString& reason);
  void runWanted();  // the run with one lane is to be pinned: pinRun()

 private:
  struct Pinned {
    QString name;
    core::RunSummary run;
  };
  void buildUi();
  QLayout* makeButtons();
  void chooseAndOpen();
  void chooseAndSave();
  void refresh();
  void fillTable();
  std::vector<core::Difference> rows() const;
  QString answer() const;
  QString details() const;
  QString notes() const;

  std::shared_ptr<const core::Comparison> m_comparison;
  bool m_finished = false;
  QString m_doing;
  std::optional<Pinned> m_pinned;
  QLabel* m_answer = nullptr;
  QLabel* m_details = nullptr;
  QLabel* m_quality = nullptr;
  QTreeWidget* m_table = nullptr;
  QPushButton* m_save = nullptr;
  QPushButton* m_pin = nullptr;
  QList<QAction*> m_pin_lanes;
};

}  // namespace inferoscope::gui
