// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/views/view.h"

#include <QTimer>

#include <memory>
#include <optional>

class QLabel;
class QSlider;
class QSpinBox;
class QTableView;

namespace inferoscope::gui {

class BlockTableModel;
class EmptyStack;
struct TokenAddress;

// The block table of a request, and how a token's place in the cache is found through it.
class BlockTableView : public View {
  Q_OBJECT

 public:
  BlockTableView(Selection& selection, QWidget* parent);

  void showModel(const ModelInfo& model) override;
  void showLimits(const core::MachineLimits& limits) override;
  void showBeside(const LaneFrame* other) override;
  void showFrame(const Frame& frame) override;
  void refresh() override;

  QSize sizeHint() const override { return {420, 300}; }

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void buildPage();
  void connectPage();
  void applyTheme();
  void obeySelection();
  void showAddress();
  void pointAt(int token);
  QString whyEmpty() const;
  QString headerText() const;
  std::optional<TokenAddress> address() const;

  QWidget* m_page;
  QLabel* m_header;
  QTableView* m_table;
  QSpinBox* m_token;
  QSlider* m_slider;
  QLabel* m_explanation;
  BlockTableModel* m_model;
  EmptyStack* m_stack;
  QTimer m_pause;         // while it runs, the table stays as it is
  core::SeqId m_request;  // whose table is shown
  std::shared_ptr<const core::Snapshot> m_snapshot;
  std::shared_ptr<const core::Snapshot> m_beside;  // the other lane's
};

}  // namespace inferoscope::gui
