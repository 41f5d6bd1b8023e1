// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFont>
#include <QModelIndexList>
#include <QString>

#include <functional>
#include <span>

class QAbstractItemView;
class QTableView;

namespace inferoscope::gui {

// What the tables of several views have alike.

// Role of what a cell is sorted by and copied as: a number or a text. Of a heading: the title with the unit of the
// numbers, where that is another than the shown one.
inline constexpr int kValueRole = Qt::UserRole;

// Rows without a grid that are chosen as a whole, in the small font.
void setUpTable(QTableView& table);

// The small font of a view's font, heights of rows and widths of columns by the widest texts to expect and the
// headings: measuring all cells instead would take 20 ms an update. `mark`: room beside the text of a column.
void sizeColumns(
    QTableView& table, const QFont& font, std::span<const char* const> widest,
    const std::function<int(int column)>& mark = [](int) { return 0; });

// Tab-separated, headings first, numbers as a program reads them. A row below another one bears the names of both.
QString tableText(const QAbstractItemModel& model, const QModelIndexList& rows);

// Ctrl+C and the context menu copy the chosen rows or, if none is chosen, all that are unfolded.
void addCopyRows(QAbstractItemView& view);

}  // namespace inferoscope::gui
