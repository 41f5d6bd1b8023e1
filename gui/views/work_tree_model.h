// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/views/step_time_layout.h"

#include <QAbstractItemModel>

#include <vector>

namespace inferoscope::gui {

// The ops of a step as a tree with all their figures. A step of the same shape changes figures only: what is unfolded
// stays unfolded.
class WorkTreeModel : public QAbstractItemModel {
  Q_OBJECT

 public:
  enum Column {
    kTitle,
    kBound,
    kTime,
    kShareOfStep,
    kShareOfRoof,
    kBytes,
    kFlops,
    kByteRate,
    kFlopRate,
    kIntensity,
    kNumColumns
  };
  static constexpr int kShareRole = Qt::UserRole + 1;  // 0..1: length of the cell's bar

  using QAbstractItemModel::QAbstractItemModel;

  void setTree(std::vector<WorkNode> nodes, std::int64_t step_ns, const core::MachineLimits& limits);

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& index) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  const WorkNode& nodeOf(const QModelIndex& index) const;
  double shareOfStep(const WorkNode& node) const;
  QString text(const WorkNode& node, int column) const;
  QVariant value(const WorkNode& node, int column) const;

  std::vector<WorkNode> m_nodes;
  std::int64_t m_step_ns = 0;
  core::MachineLimits m_limits;
};

}  // namespace inferoscope::gui
