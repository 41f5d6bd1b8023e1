// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/paint/theme.h"
#include "gui/views/roofline_layout.h"

#include <QAbstractTableModel>

#include <vector>

namespace inferoscope::gui {

// The points of the roofline as rows: the same numbers for those who would rather read, copies without arithmetic too.
class RooflineTable : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
    kLane,
    kOp,
    kPhase,
    kBound,
    kShareOfTime,
    kIntensity,
    kFlopRate,
    kByteRate,
    kShareOfRoof,
    kHeadroom,
    kNumColumns
  };

  using QAbstractTableModel::QAbstractTableModel;

  void setTheme(const Theme& theme);
  void setPoints(std::vector<LanePoint> points, const core::MachineLimits& limits);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  static QVariant value(const LanePoint& point, int column);

  Theme m_theme;
  std::vector<LanePoint> m_points;
  core::MachineLimits m_limits;
};

// Of one point: what it is, and all its formulas.
QString explainPoint(const core::RooflinePoint& point, const core::MachineLimits& limits);

}  // namespace inferoscope::gui
