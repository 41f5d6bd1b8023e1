// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/requests_view.h"

#include "gui/paint/empty_stack.h"
#include "gui/paint/marks.h"
#include "gui/paint/theme.h"
#include "gui/views/requests_layout.h"
#include "gui/views/words.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

namespace inferoscope::gui {

namespace {

constexpr int kPauseMs = 200;  // five updates a second are as many as eyes can read

// The widest texts to expect, beside the headings. Measuring all cells instead would take 20 ms an update.
constexpr std::array<const char*, RequestsModel::kNumColumns> kWidest = {
    "shared-prompt 99", "preempted", "99,999",  "99,999",  "99,999",           "9,999",
    "99,999",           "99",        "99.9 ms", "99.9 ms", "the batch is full"};
constexpr int kPadding = 10;

}  // namespace

RequestsView::RequestsView(Selection& selection, QWidget* parent)
    : View(selection, parent),
      m_model(new RequestsModel(this)),
      m_table(new QTableView),
      m_stack(new EmptyStack(m_table, noModelWords(), this)) {
  setAccessibleName(tr("Requests"));
  setAccessibleDescription(tr("All requests with their state, tokens, blocks and times"));
  m_model->setTheme(themeOf(palette()));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(m_stack);
  m_pause.setSingleShot(true);
  m_pause.setInterval(kPauseMs);
  buildTable();
  connectTable();
}

void RequestsView::buildTable() {
  m_table->setModel(m_model);
  m_table->setAccessibleName(tr("Requests"));
  m_table->setFrameShape(QFrame::NoFrame);
  m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
  m_table->setSelectionMode(QAbstractItemView::ExtendedSelection);
  m_table->setWordWrap(false);
  m_table->setTextElideMode(Qt::ElideMiddle);  // labels end in numbers
  m_table->setShowGrid(false);
  m_table->setAlternatingRowColors(true);
  m_table->setMouseTracking(true);
  m_table->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  m_table->verticalHeader()->hide();
  QHeaderView* header = m_table->horizontalHeader();
  header->setHighlightSections(false);
  header->setStretchLastSection(true);
  header->setSortIndicatorClearable(true);
  header->setSortIndicator(-1, Qt::AscendingOrder);
  m_table->setSortingEnabled(true);
  sizeColumns();
}

void RequestsView::sizeColumns() {
  m_table->setFont(smallFont(font()));
  const QFontMetrics metrics = m_table->fontMetrics();
  m_table->verticalHeader()->setDefaultSectionSize(metrics.height() + 6);
  for (int column = 0; column < RequestsModel::kNumColumns; ++column) {
    const QString heading = m_model->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
    const int text = metrics.horizontalAdvance(QString::fromLatin1(kWidest[static_cast<std::size_t>(column)]));
    const bool marked = column == RequestsModel::kRequest || column == RequestsModel::kState;
    const int mark = marked ? metrics.height() : 0;
    m_table->setColumnWidth(column, std::max(text + mark, metrics.horizontalAdvance(heading)) + kPadding);
  }
}

void RequestsView::connectTable() {
  auto* copy = new QAction(tr("Copy rows"), m_table);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetShortcut);
  copy->setToolTip(tr("Copies the chosen rows, or all of them, as tab-separated text"));
  m_table->addAction(copy);
  m_table->setContextMenuPolicy(Qt::ActionsContextMenu);
  connect(copy, &QAction::triggered, this, &RequestsView::copyRows);
  // Not the current row: a table takes its first one when it gets the focus.
  connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
    const QModelIndexList rows = m_table->selectionModel()->selectedRows();
    if (rows.size() == 1) m_selection.setRequest(m_model->requestAt(rows.front().row()));
  });
  connect(m_table, &QTableView::entered, this,
          [this](const QModelIndex& index) { m_selection.setHovered(m_model->requestAt(index.row())); });
  m_table->viewport()->installEventFilter(this);
  connect(&m_selection, &Selection::changed, this, &RequestsView::obeySelection);
  connect(&m_pause, &QTimer::timeout, this, &RequestsView::refresh);
}

void RequestsView::showModel(const ModelInfo&) {
  m_snapshot.reset();
  m_in_table.reset();
  m_model->setRequests({});
  m_stack->showWords(tr("No request yet"));
}

void RequestsView::showLimits(const core::MachineLimits&) {}

void RequestsView::showFrame(const Frame& frame) {
  if (frame.snapshot) m_snapshot = frame.snapshot;
  if (!m_pause.isActive()) refresh();
}

void RequestsView::refresh() {
  if (!inSight() || !m_snapshot || m_snapshot == m_in_table) return;
  m_in_table = m_snapshot;
  m_model->setRequests(m_snapshot->requests);
  m_pause.start();
  if (m_snapshot->requests.empty()) {
    m_stack->showWords(tr("No request yet"));
    return;
  }
  m_stack->showContent();
  obeySelection();
}

void RequestsView::obeySelection() {
  const int row = m_model->rowOf(m_selection.request());
  if (row < 0) {
    if (!m_selection.request().valid()) m_table->clearSelection();
    return;
  }
  if (m_table->selectionModel()->isRowSelected(row)) return;
  const QSignalBlocker quiet(m_table->selectionModel());
  m_table->selectRow(row);
  m_table->scrollTo(m_model->index(row, 0));
  m_table->viewport()->update();
}

void RequestsView::copyRows() const {
  std::vector<int> rows;
  for (const QModelIndex& index : m_table->selectionModel()->selectedRows()) rows.push_back(index.row());
  std::ranges::sort(rows);
  for (int row = 0; row < m_model->rowCount() && m_table->selectionModel()->selectedRows().isEmpty(); ++row) {
    rows.push_back(row);
  }
  QGuiApplication::clipboard()->setText(tableText(*m_model, rows));
}

void RequestsView::changeEvent(QEvent* event) {
  View::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) m_model->setTheme(themeOf(palette()));
  if (event->type() == QEvent::FontChange) sizeColumns();
}

bool RequestsView::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Leave) m_selection.setHovered({});
  return View::eventFilter(watched, event);
}

}  // namespace inferoscope::gui
