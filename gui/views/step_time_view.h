// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/views/view.h"

#include <QTimer>

#include <memory>

class QComboBox;
class QLabel;
class QSortFilterProxyModel;
class QTreeView;

namespace inferoscope::gui {

class EmptyStack;
class ShareBarDelegate;
class Waterfall;
class WorkTreeModel;

// Where the time of a step went: a waterfall from its floor to its measured time, and all its ops.
class StepTimeView : public View {
  Q_OBJECT

 public:
  StepTimeView(Selection& selection, QWidget* parent);

  void showModel(const ModelInfo& model) override;
  void showLimits(const core::MachineLimits& limits) override;
  void showBeside(const LaneFrame* other) override;
  void showFrame(const Frame& frame) override;
  void refresh() override;

  QSize sizeHint() const override { return {760, 560}; }
  QSize minimumSizeHint() const override { return {240, 200}; }

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void buildTree();
  void buildChoices();
  void sizeColumns();
  void shareRoom();
  // The latest step of each phase.
  struct Latest {
    std::shared_ptr<const core::StepRecord> prefill;
    std::shared_ptr<const core::StepRecord> decode;
    bool empty() const { return !prefill && !decode; }
    void add(const LaneFrame& frame);
  };
  const core::StepRecord* chosenStep(const Latest& latest) const;

  QComboBox* m_which;     // step: latest, prefill, decode
  QComboBox* m_grouping;  // of the tree
  QLabel* m_title;
  QWidget* m_choices;
  Waterfall* m_waterfall;
  WorkTreeModel* m_model;
  QSortFilterProxyModel* m_sorted;
  QTreeView* m_tree;
  ShareBarDelegate* m_bars;
  EmptyStack* m_stack;
  QTimer m_pause;  // while it runs, the picture stays as it is
  Latest m_latest;
  Latest m_beside;  // of the other lane: the waterfall is drawn to the longer one's scale
  core::MachineLimits m_limits;
};

}  // namespace inferoscope::gui
