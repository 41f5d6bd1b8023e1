// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/experiment.h"
#include "core/observe/snapshot.h"
#include "gui/paint/theme.h"

#include <QAbstractTableModel>

#include <map>
#include <utility>
#include <vector>

namespace inferoscope::gui {

// The requests of a snapshot as rows, or those of both lanes of a comparison, each with its lane. Rows keep their
// order: new requests come on top, sorting happens when asked for and not again by itself, so that nothing moves under
// the reader's eyes.
class RequestsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
    kRequest,
    kLane,
    kState,
    kPrompt,
    kComputed,
    kOutput,
    kBlocks,
    kHits,
    kPreemptions,
    kTtft,
    kTpot,
    kReason,
    kNumColumns
  };

  using QAbstractTableModel::QAbstractTableModel;

  void setTheme(const Theme& theme);
  void setRequests(const std::vector<core::RequestInfo>& lane_a, const std::vector<core::RequestInfo>& lane_b = {});
  core::SeqId requestAt(int row) const;                // none beyond the rows
  std::vector<int> rowsOf(core::SeqId request) const;  // one of each lane that has it

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;

 private:
  struct Row {
    core::LaneId lane{};
    core::RequestInfo request;
  };
  using Key = std::pair<core::SeqId, core::LaneId>;
  using ByKey = std::map<Key, const core::RequestInfo*>;

  static Key keyOf(const Row& row) { return {row.request.seq, row.lane}; }
  static QVariant valueOf(const Row& row, int column);
  static QString textOf(const Row& row, int column);
  void removeGone(const ByKey& now);
  void insertNew(const ByKey& fresh);

  Theme m_theme;
  std::vector<Row> m_rows;
};

}  // namespace inferoscope::gui
