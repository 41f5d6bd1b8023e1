// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/roofline_table.h"

#include "gui/paint/number_format.h"
#include "gui/paint/tables.h"
#include "gui/views/lanes.h"
#include "gui/views/work_words.h"

#include <QCoreApplication>
#include <QStringList>

#include <utility>

namespace inferoscope::gui {

void RooflineTable::setTheme(const Theme& theme) {
  m_theme = theme;
  if (!m_points.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, kNumColumns - 1));
}

void RooflineTable::setPoints(std::vector<LanePoint> points, const core::MachineLimits& limits) {
  m_limits = limits;
  if (points.size() != m_points.size()) {
    beginResetModel();
    m_points = std::move(points);
    endResetModel();
    return;
  }
  m_points = std::move(points);
  if (!m_points.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, kNumColumns - 1));
}

int RooflineTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_points.size());
}

int RooflineTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kNumColumns;
}

QVariant RooflineTable::data(const QModelIndex& index, int role) const {
  const auto& [lane, point] = m_points[static_cast<std::size_t>(index.row())];
  const core::OpWork& work = point.work;
  if (role == Qt::ToolTipRole) return explainPoint(point, m_limits);
  if (role == Qt::DecorationRole && index.column() == kPhase) return phaseColor(point.phase, m_theme);
  if (role == Qt::TextAlignmentRole && index.column() >= kShareOfTime) {
    return int(Qt::AlignRight | Qt::AlignVCenter);
  }
  if (role == kValueRole) return value({lane, point}, index.column());
  if (role == Qt::ForegroundRole && index.column() == kLane) return readable(laneColor(lane, m_theme), m_theme.surface);
  if (role != Qt::DisplayRole) return {};
  switch (index.column()) {
    case kLane:
      return laneName(lane);
    case kOp:
      return opKindWord(point.kind);
    case kPhase:
      return phaseWord(point.phase);
    case kShareOfTime:
      return shareText(point.time_share);
    case kIntensity:
      return intensityText(work);
    case kFlopRate:
      return flopRateText(work);
    case kByteRate:
      return byteRateText(work.bytesPerSecond().value_or(0));
    case kShareOfRoof:
      return shareOfRoofText(work);
    case kHeadroom:
      return headroomText(work);
    case kBound:
      return boundWords(point.bound);
    default:
      return {};
  }
}

// Plain numbers; nothing where there is none.
QVariant RooflineTable::value(const LanePoint& of, int column) {
  const core::RooflinePoint& point = of.point;
  const auto optional = [](const std::optional<double>& number, double scale = 1) {
    return number ? QVariant(*number * scale) : QVariant();
  };
  switch (column) {
    case kShareOfTime:
      return point.time_share;
    case kIntensity:
      return optional(point.work.intensity());
    case kFlopRate:
      return optional(point.work.flopPerSecond(), 1e-9);
    case kByteRate:
      return optional(point.work.bytesPerSecond(), 1e-9);
    case kShareOfRoof:
      return optional(point.work.shareOfRoof());
    case kHeadroom: {
      const std::optional<double> share = point.work.shareOfRoof();
      return share && *share > 0 ? QVariant(1 / *share) : QVariant();
    }
    case kLane:
      return laneName(of.lane);
    case kPhase:
      return phaseWord(point.phase);
    case kBound:
      return boundWords(point.bound);
    default:
      return opKindWord(point.kind);
  }
}

QVariant RooflineTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) {
    return int((section >= kShareOfTime ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  if (role == kValueRole && section == kFlopRate) return tr("Computes (GFLOP/s)");
  if (role == kValueRole && section == kByteRate) return tr("Moves (GB/s)");
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  const bool title = role == Qt::DisplayRole;
  switch (section) {
    case kLane:
      return title ? tr("Lane") : tr("Of which lane of the comparison these figures are");
    case kOp:
      return title ? tr("Op") : tr("All ops of this kind in the recent steps of the phase");
    case kPhase:
      return title ? tr("Phase") : tr("A step with prompt tokens is a prefill step, also if others decode beside them");
    case kShareOfTime:
      return title ? tr("Of time") : tr("Measured time of these ops ÷ measured time of the phase's steps");
    case kIntensity:
      return title ? tr("FLOP/byte") : tr("Intensity = FLOPs ÷ bytes moved. Counted from the shapes.");
    case kFlopRate:
      return title ? tr("Computes") : tr("FLOPs (counted) ÷ time (measured); a multiply-add is two");
    case kByteRate:
      return title ? tr("Moves") : tr("Bytes (counted) ÷ time (measured)");
    case kShareOfRoof:
      return title ? tr("Of its roof")
                   : tr("Floor ÷ measured time. Floor: the larger of bytes ÷ bandwidth and "
                        "FLOPs ÷ peak, op by op. Above 100%: the bytes came from a cache.");
    case kHeadroom:
      return title ? tr("Headroom") : tr("Measured time ÷ floor: how much faster these ops could be at their roof");
    case kBound:
      return title ? tr("Bound") : tr("Which ceiling is nearest; overhead-bound: under half of the roof");
    default:
      return {};
  }
}

QString explainPoint(const core::RooflinePoint& point, const core::MachineLimits& limits) {
  const QString title =
      QCoreApplication::translate("RooflineTable", "%1, %2: %3 of the steps' time, %4")
          .arg(opKindWord(point.kind), phaseWord(point.phase), shareText(point.time_share), boundWords(point.bound));
  return QStringList{title, opKindExplanation(point.kind), explainWork(point.work, limits)}.join(QLatin1Char('\n'));
}

}  // namespace inferoscope::gui
