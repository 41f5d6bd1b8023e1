// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/paint/tables.h"

#include "gui/paint/marks.h"

#include <QAction>
#include <QClipboard>
#include <QCoreApplication>
#include <QGuiApplication>
#include <QHeaderView>
#include <QLocale>
#include <QTableView>
#include <QTreeView>

#include <algorithm>
#include <cstddef>

namespace inferoscope::gui {

namespace {

constexpr int kPadding = 10;

class Tables {
  Q_DECLARE_TR_FUNCTIONS(Tables)
};

QString plainText(const QVariant& value) {
  if (!value.isValid()) return {};
  if (value.typeId() == QMetaType::Double) return QLocale::c().toString(value.toDouble(), 'f', 3);
  return value.toString().replace(QLatin1Char('\t'), QLatin1Char(' '));
}

QString headingText(const QAbstractItemModel& model, int column) {
  const QVariant with_unit = model.headerData(column, Qt::Horizontal, kValueRole);
  return (with_unit.isValid() ? with_unit : model.headerData(column, Qt::Horizontal, Qt::DisplayRole)).toString();
}

QString cellText(const QModelIndex& row, int column) {
  const QString text = plainText(row.siblingAtColumn(column).data(kValueRole));
  if (column > 0 || !row.parent().isValid()) return text;
  return plainText(row.parent().siblingAtColumn(0).data(kValueRole)) + QStringLiteral(" / ") + text;
}

// In the order in which they stand, the unfolded ones of a tree below their parents.
void addRows(QModelIndexList& rows, const QAbstractItemView& view, const QModelIndex& parent) {
  const auto* tree = qobject_cast<const QTreeView*>(&view);
  for (int i = 0; i < view.model()->rowCount(parent); ++i) {
    rows << view.model()->index(i, 0, parent);
    if (tree != nullptr && tree->isExpanded(rows.back())) addRows(rows, view, rows.back());
  }
}

// Where a single row is chosen, that is to point at something else: all are copied.
void copyRows(const QAbstractItemView& view) {
  QModelIndexList all;
  addRows(all, view, {});
  QModelIndexList chosen;
  const bool by_rows = view.selectionMode() == QAbstractItemView::ExtendedSelection;
  std::ranges::copy_if(all, std::back_inserter(chosen), [&](const QModelIndex& row) {
    return by_rows && view.selectionModel()->isRowSelected(row.row(), row.parent());
  });
  QGuiApplication::clipboard()->setText(tableText(*view.model(), chosen.isEmpty() ? all : chosen));
}

}  // namespace

void setUpTable(QTableView& table) {
  table.setFrameShape(QFrame::NoFrame);
  table.setSelectionBehavior(QAbstractItemView::SelectRows);
  table.setSelectionMode(QAbstractItemView::ExtendedSelection);
  table.setWordWrap(false);
  table.setShowGrid(false);
  table.setAlternatingRowColors(true);
  table.setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  table.verticalHeader()->hide();
  table.horizontalHeader()->setHighlightSections(false);
  table.horizontalHeader()->setStretchLastSection(true);
}

void sizeColumns(QTableView& table, const QFont& font, std::span<const char* const> widest,
                 const std::function<int(int)>& mark) {
  table.setFont(smallFont(font));
  const QFontMetrics metrics = table.fontMetrics();
  table.verticalHeader()->setDefaultSectionSize(metrics.height() + 6);
  for (int column = 0; column < static_cast<int>(widest.size()); ++column) {
    const QString heading = table.model()->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
    const int text = metrics.horizontalAdvance(QString::fromUtf8(widest[static_cast<std::size_t>(column)]));
    table.setColumnWidth(column, std::max(text + mark(column), metrics.horizontalAdvance(heading)) + kPadding);
  }
}

QString tableText(const QAbstractItemModel& model, const QModelIndexList& rows) {
  QStringList lines;
  QStringList cells;
  for (int column = 0; column < model.columnCount(); ++column) cells << headingText(model, column);
  lines << cells.join(QLatin1Char('\t'));
  for (const QModelIndex& row : rows) {
    cells.clear();
    for (int column = 0; column < model.columnCount(); ++column) cells << cellText(row, column);
    lines << cells.join(QLatin1Char('\t'));
  }
  return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

void addCopyRows(QAbstractItemView& view) {
  auto* copy = new QAction(Tables::tr("Copy rows"), &view);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetShortcut);
  copy->setToolTip(Tables::tr("Copies the chosen rows, or all of them, as tab-separated text"));
  view.addAction(copy);
  view.setContextMenuPolicy(Qt::ActionsContextMenu);
  QObject::connect(copy, &QAction::triggered, &view, [&view] { copyRows(view); });
}

}  // namespace inferoscope::gui
