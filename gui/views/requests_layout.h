// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/snapshot.h"
#include "gui/paint/theme.h"

#include <QAbstractTableModel>

#include <unordered_map>
#include <vector>

namespace inferoscope::gui {

// The requests of a snapshot as rows. Rows keep their order: new requests come on top, sorting happens when asked for
// and not again by itself, so that nothing moves under the reader's eyes.
class RequestsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
    kRequest,
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
  void setRequests(const std::vector<core::RequestInfo>& requests);
  core::SeqId requestAt(int row) const;  // none beyond the rows
  int rowOf(core::SeqId request) const;  // -1: not there

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;

 private:
  using ById = std::unordered_map<core::SeqId, const core::RequestInfo*>;

  void removeGone(const ById& now);
  void insertNew(const ById& fresh);

  Theme m_theme;
  std::vector<core::RequestInfo> m_rows;
};

}  // namespace inferoscope::gui
