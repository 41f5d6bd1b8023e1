// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/snapshot.h"
#include "gui/paint/theme.h"

#include <QAbstractTableModel>
#include <QRect>

#include <cstdint>
#include <optional>
#include <vector>

namespace inferoscope::gui {

// One logical block of a request.
struct BlockRow {
  int first_token = 0;
  int num_tokens = 0;  // computed, in this block
  core::BlockId block;
  int ref_count = 0;
  std::optional<std::uint64_t> prefix;  // names the content of a full block and of all before it

  friend bool operator==(const BlockRow&, const BlockRow&) = default;
};

// By logical block; none for a request that doesn't run or isn't there.
std::vector<BlockRow> blockRows(const core::Snapshot& snapshot, core::SeqId request);

// Where a token's keys and values are, in each layer.
struct TokenAddress {
  int token = 0;
  int block_size = 0;
  int logical = 0;  // token / block_size
  int slot = 0;     // token % block_size
  core::BlockId block;

  std::int64_t cacheSlot() const { return static_cast<std::int64_t>(block.value) * block_size + slot; }
};
// None beyond the blocks.
std::optional<TokenAddress> addressOf(const std::vector<BlockRow>& rows, int block_size, int token);

int numTokens(const std::vector<BlockRow>& rows);
// The logical block that `block` is; -1: none of them.
int rowOf(const std::vector<BlockRow>& rows, core::BlockId block);

// How many slots of a block are filled, as a bar in a table's cell.
struct FillBar {
  QRect whole;
  QRect filled;
};
FillBar layoutFillBar(const QRect& cell, int num_tokens, int block_size);

// The rows as a table. Rows come and go at its end.
class BlockTableModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kLogical, kTokens, kFill, kBlock, kRefCount, kPrefix, kNumColumns };

  using QAbstractTableModel::QAbstractTableModel;

  void setRows(std::vector<BlockRow> rows, int block_size);
  void setTheme(const Theme& theme) { m_theme = theme; }
  const std::vector<BlockRow>& rows() const { return m_rows; }
  int blockSize() const { return m_block_size; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString text(const BlockRow& row, int index, int column) const;
  QVariant value(const BlockRow& row, int index, int column) const;

  Theme m_theme;
  std::vector<BlockRow> m_rows;
  int m_block_size = 0;
};

}  // namespace inferoscope::gui
