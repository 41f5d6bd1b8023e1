// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/work_tree_model.h"

#include "gui/paint/number_format.h"
#include "gui/paint/tables.h"
#include "gui/views/work_words.h"

#include <QStringList>

#include <algorithm>
#include <utility>

namespace inferoscope::gui {

namespace {

bool sameShape(const std::vector<WorkNode>& a, const std::vector<WorkNode>& b) {
  return std::ranges::equal(a, b, [](const WorkNode& x, const WorkNode& y) {
    return x.title == y.title && sameShape(x.children, y.children);
  });
}

}  // namespace

void WorkTreeModel::setTree(std::vector<WorkNode> nodes, std::int64_t step_ns, const core::MachineLimits& limits) {
  m_step_ns = step_ns;
  m_limits = limits;
  if (!sameShape(nodes, m_nodes)) {
    beginResetModel();
    m_nodes = std::move(nodes);
    endResetModel();
    return;
  }
  m_nodes = std::move(nodes);
  if (m_nodes.empty()) return;
  emit dataChanged(index(0, 0), index(rowCount() - 1, kNumColumns - 1));
  for (int row = 0; row < rowCount(); ++row) {
    const QModelIndex parent = index(row, 0);
    if (const int count = rowCount(parent)) {
      emit dataChanged(index(0, 0, parent), index(count - 1, kNumColumns - 1, parent));
    }
  }
}

// The id of a child is the row of its parent plus one; of a top node 0.
QModelIndex WorkTreeModel::index(int row, int column, const QModelIndex& parent) const {
  if (row < 0 || row >= rowCount(parent) || column < 0 || column >= kNumColumns) return {};
  return createIndex(row, column, parent.isValid() ? static_cast<quintptr>(parent.row()) + 1 : quintptr{0});
}

QModelIndex WorkTreeModel::parent(const QModelIndex& index) const {
  if (!index.isValid() || index.internalId() == 0) return {};
  return createIndex(static_cast<int>(index.internalId()) - 1, 0, quintptr{0});
}

int WorkTreeModel::rowCount(const QModelIndex& parent) const {
  if (!parent.isValid()) return static_cast<int>(m_nodes.size());
  if (parent.internalId() != 0 || parent.column() != 0) return 0;
  return static_cast<int>(m_nodes[static_cast<std::size_t>(parent.row())].children.size());
}

int WorkTreeModel::columnCount(const QModelIndex&) const {
  return kNumColumns;
}

const WorkNode& WorkTreeModel::nodeOf(const QModelIndex& index) const {
  const auto row = static_cast<std::size_t>(index.row());
  return index.internalId() == 0 ? m_nodes[row] : m_nodes[index.internalId() - 1].children[row];
}

double WorkTreeModel::shareOfStep(const WorkNode& node) const {
  return m_step_ns > 0 ? static_cast<double>(node.work.measured_ns) / static_cast<double>(m_step_ns) : 0.0;
}

QVariant WorkTreeModel::data(const QModelIndex& index, int role) const {
  const WorkNode& node = nodeOf(index);
  switch (role) {
    case Qt::DisplayRole:
      return text(node, index.column());
    case kValueRole:
      return value(node, index.column());
    case kShareRole:
      return index.column() == kShareOfStep ? QVariant(shareOfStep(node)) : QVariant();
    case Qt::TextAlignmentRole:
      if (index.column() == kTitle || index.column() == kBound) return int(Qt::AlignLeft | Qt::AlignVCenter);
      return int(Qt::AlignRight | Qt::AlignVCenter);
    case Qt::ToolTipRole:
      if (node.software) {
        return tr("Measured time of the step − measured time of its ops. %1 of the step.")
            .arg(shareText(shareOfStep(node)));
      }
      return QStringList{node.kernel.isEmpty() ? node.title : tr("%1, kernel %2").arg(node.title, node.kernel),
                         explainWork(node.work, m_limits)}
          .join(QLatin1Char('\n'));
    default:
      return {};
  }
}

QString WorkTreeModel::text(const WorkNode& node, int column) const {
  const core::OpWork& work = node.work;
  if (node.software && (column > kShareOfStep || column == kBound)) return {};
  switch (column) {
    case kTitle:
      return node.title;
    case kTime:
      return durationText(work.measured_ns);
    case kShareOfStep:
      return shareText(shareOfStep(node));
    case kBytes:
      return movedText(static_cast<double>(work.cost.bytes()));
    case kFlops:
      return flopText(work);
    case kByteRate:
      return work.bytesPerSecond() ? byteRateText(*work.bytesPerSecond()) : nothing();
    case kFlopRate:
      return flopRateText(work);
    case kIntensity:
      return intensityText(work);
    case kShareOfRoof:
      return shareOfRoofText(work);
    case kBound:
      return boundWords(node.bound);
    default:
      return {};
  }
}

QVariant WorkTreeModel::value(const WorkNode& node, int column) const {
  const core::OpWork& work = node.work;
  switch (column) {
    case kTime:
      return static_cast<double>(work.measured_ns) / 1e6;
    case kShareOfStep:
      return shareOfStep(node);
    case kBytes:
      return static_cast<qulonglong>(work.cost.bytes());
    case kFlops:
      return static_cast<qulonglong>(work.cost.flops);
    case kByteRate:
      return work.bytesPerSecond().value_or(0) / 1e9;
    case kFlopRate:
      return work.flopPerSecond().value_or(0) / 1e9;
    case kIntensity:
      return work.intensity().value_or(0);
    case kShareOfRoof:
      return work.shareOfRoof().value_or(0);
    default:
      return text(node, column);
  }
}

QVariant WorkTreeModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) {
    return int((section == kTitle || section == kBound ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  }
  if (role == kValueRole && section == kTime) return tr("Time (ms)");
  if (role == kValueRole && section == kByteRate) return tr("Moves (GB/s)");
  if (role == kValueRole && section == kFlopRate) return tr("Computes (GFLOP/s)");
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  const bool title = role == Qt::DisplayRole;
  switch (section) {
    case kTitle:
      return title ? tr("Op") : tr("Ops of the step in the order in which they ran; what is not an op stands last");
    case kTime:
      return title ? tr("Time") : tr("Measured on the device, from the start of an op to its end");
    case kShareOfStep:
      return title ? tr("Of step") : tr("Measured time of the op ÷ measured time of the step");
    case kBytes:
      return title ? tr("Bytes") : tr("Bytes that the op must move at least once. Counted from its shapes.");
    case kFlops:
      return title ? tr("FLOPs") : tr("Arithmetic, a multiply-add is two. Counted from the op's shapes.");
    case kByteRate:
      return title ? tr("Moves") : tr("Bytes (counted) ÷ time (measured)");
    case kFlopRate:
      return title ? tr("Computes") : tr("FLOPs (counted) ÷ time (measured)");
    case kIntensity:
      return title ? tr("FLOP/byte") : tr("Intensity = FLOPs ÷ bytes. Counted.");
    case kShareOfRoof:
      return title ? tr("Of its roof")
                   : tr("Floor ÷ measured time. Floor: the larger of bytes ÷ bandwidth and FLOPs ÷ "
                        "peak, op by op. Above 100%: the bytes came from a cache.");
    case kBound:
      return title ? tr("Bound") : tr("Which ceiling is nearest; overhead-bound: under half of the roof");
    default:
      return {};
  }
}

}  // namespace inferoscope::gui
