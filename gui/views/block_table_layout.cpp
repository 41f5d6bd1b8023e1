// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/block_table_layout.h"

#include "gui/paint/number_format.h"
#include "gui/paint/tables.h"
#include "gui/views/words.h"

#include <algorithm>
#include <utility>

namespace inferoscope::gui {

namespace {
constexpr int kBarHeight = 6;
constexpr int kBarMargin = 4;
}  // namespace

std::vector<BlockRow> blockRows(const core::Snapshot& snapshot, core::SeqId request) {
  const auto table = std::ranges::find(snapshot.tables, request, &core::BlockTableInfo::seq);
  const core::RequestInfo* info = findRequest(&snapshot, request);
  if (table == snapshot.tables.end() || info == nullptr) return {};
  std::vector<BlockRow> rows;
  rows.reserve(table->blocks.size());
  for (std::size_t i = 0; i < table->blocks.size(); ++i) {
    const core::BlockId block = table->blocks[i];
    BlockRow row{.first_token = static_cast<int>(i) * snapshot.block_size, .block = block, .prefix = {}};
    row.num_tokens = std::clamp(info->num_computed_tokens - row.first_token, 0, snapshot.block_size);
    if (const auto at = static_cast<std::size_t>(block.value); at < snapshot.blocks.size()) {
      row.ref_count = snapshot.blocks[at].ref_count;
    }
    if (i < table->prefixes.size()) row.prefix = table->prefixes[i];
    rows.push_back(row);
  }
  return rows;
}

std::optional<TokenAddress> addressOf(const std::vector<BlockRow>& rows, int block_size, int token) {
  if (token < 0 || token >= numTokens(rows)) return std::nullopt;
  TokenAddress address;
  address.token = token;
  address.block_size = block_size;
  address.logical = token / block_size;
  address.slot = token % block_size;
  address.block = rows[static_cast<std::size_t>(address.logical)].block;
  return address;
}

int numTokens(const std::vector<BlockRow>& rows) {
  return rows.empty() ? 0 : rows.back().first_token + rows.back().num_tokens;
}

int rowOf(const std::vector<BlockRow>& rows, core::BlockId block) {
  const auto found = std::ranges::find(rows, block, &BlockRow::block);
  return !block.valid() || found == rows.end() ? -1 : static_cast<int>(found - rows.begin());
}

FillBar layoutFillBar(const QRect& cell, int num_tokens, int block_size) {
  FillBar bar;
  bar.whole = QRect(cell.left() + kBarMargin, cell.center().y() - kBarHeight / 2,
                    std::max(0, cell.width() - 2 * kBarMargin), kBarHeight);
  bar.filled = bar.whole;
  const int share = block_size > 0 ? std::clamp(num_tokens, 0, block_size) : 0;
  bar.filled.setWidth(block_size > 0 ? bar.whole.width() * share / block_size : 0);
  return bar;
}

void BlockTableModel::setRows(std::vector<BlockRow> rows, int block_size) {
  const int before = rowCount();
  const auto now = static_cast<int>(rows.size());
  if (rows == m_rows && block_size == m_block_size) return;
  m_block_size = block_size;
  if (now < before) {
    beginRemoveRows({}, now, before - 1);
    m_rows = std::move(rows);
    endRemoveRows();
  } else if (now > before) {
    beginInsertRows({}, before, now - 1);
    m_rows = std::move(rows);
    endInsertRows();
  } else {
    m_rows = std::move(rows);
  }
  if (const int kept = std::min(before, now); kept > 0) {
    emit dataChanged(index(0, 0), index(kept - 1, kNumColumns - 1));
  }
}

int BlockTableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int BlockTableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kNumColumns;
}

QString BlockTableModel::text(const BlockRow& row, int index, int column) const {
  switch (column) {
    case kLogical:
      return countText(index);
    case kTokens:
      return row.num_tokens == 0
                 ? nothing()
                 : tr("%1 – %2").arg(countText(row.first_token), countText(row.first_token + row.num_tokens - 1));
    case kBlock:
      return countText(row.block.value);
    case kRefCount:
      return QStringLiteral("×%1").arg(row.ref_count);
    case kPrefix:
      return row.prefix ? QStringLiteral("%1").arg(*row.prefix, 16, 16, QLatin1Char('0')) : nothing();
    default:
      return {};
  }
}

QVariant BlockTableModel::value(const BlockRow& row, int index, int column) const {
  switch (column) {
    case kLogical:
      return index;
    case kFill:
      return row.num_tokens;
    case kBlock:
      return row.block.value;
    case kRefCount:
      return row.ref_count;
    case kPrefix:
      return row.prefix ? QVariant(text(row, index, column)) : QVariant();
    default:
      return text(row, index, column);
  }
}

QVariant BlockTableModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const BlockRow& row = m_rows[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
      return text(row, index.row(), index.column());
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::AlignVCenter | (index.column() == kPrefix ? Qt::AlignLeft : Qt::AlignRight));
    case Qt::ForegroundRole:
      return index.column() == kPrefix || (index.column() == kRefCount && row.ref_count < 2) ? QVariant(m_theme.dim)
                                                                                             : QVariant();
    case Qt::ToolTipRole:
      return index.column() == kFill
                 ? tr("%1 of %2 slots filled").arg(countText(row.num_tokens), countText(m_block_size))
                 : headerData(index.column(), Qt::Horizontal, role);
    case Qt::AccessibleTextRole:
      return index.column() == kFill ? tr("%1 of %2").arg(row.num_tokens).arg(m_block_size) : QVariant();
    case kValueRole:
      return value(row, index.row(), index.column());
    default:
      return {};
  }
}

QVariant BlockTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  struct Heading {
    QString title;
    QString explanation;
  };
  const auto heading = [section]() -> Heading {
    switch (section) {
      case kLogical:
        return {tr("Logical"), tr("The request's own numbering: token ÷ block size")};
      case kTokens:
        return {tr("Tokens"), tr("Positions whose keys and values the block holds, counted from 0")};
      case kFill:
        return {tr("Filled"), tr("Slots that hold a computed token, of the block's slots, counted")};
      case kBlock:
        return {tr("Physical"), tr("Where in the KV cache the block is: its cell in the KV block map")};
      case kRefCount:
        return {tr("Ref"), tr("How many requests hold the block; from ×2 on it is shared")};
      case kPrefix:
        return {tr("Prefix hash"),
                tr("Half of the key that names the tokens of this block and of all before it. Only full, computed "
                   "blocks have one: a prompt that begins alike can take them")};
      default:
        return {};
    }
  };
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::DisplayRole) return heading().title;
  if (role == Qt::ToolTipRole) return heading().explanation;
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue(Qt::AlignVCenter | (section == kPrefix ? Qt::AlignLeft : Qt::AlignRight));
  }
  return {};
}

}  // namespace inferoscope::gui
