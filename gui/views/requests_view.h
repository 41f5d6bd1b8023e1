// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/views/view.h"

#include <QTimer>

#include <array>
#include <memory>

class QTableView;

namespace inferoscope::gui {

class EmptyStack;
class RequestsModel;

// All requests as a table: state, tokens, blocks, times, and why one waits or how it ended.
class RequestsView : public View {
  Q_OBJECT

 public:
  RequestsView(Selection& selection, QWidget* parent);

  void showModel(const ModelInfo& model) override;
  void showLimits(const core::MachineLimits& limits) override;
  void showFrame(const Frame& frame) override;
  void refresh() override;

  QSize sizeHint() const override { return {800, 220}; }

 protected:
  void changeEvent(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void buildTable();
  void sizeColumns() const;
  void connectTable();
  void obeySelection();

  RequestsModel* m_model;
  QTableView* m_table;
  EmptyStack* m_stack;
  QTimer m_pause;                                                      // while it runs, the table stays as it is
  using Lanes = std::array<std::shared_ptr<const core::Snapshot>, 2>;  // B: null but in a comparison
  Lanes m_lanes;
  Lanes m_in_table;
};

}  // namespace inferoscope::gui
