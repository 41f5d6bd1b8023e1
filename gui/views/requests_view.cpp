// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/requests_view.h"

#include "gui/paint/empty_stack.h"
#include "gui/paint/tables.h"
#include "gui/paint/theme.h"
#include "gui/views/requests_layout.h"
#include "gui/views/words.h"

#include <QEvent>
#include <QHeaderView>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

namespace inferoscope::gui {

namespace {

constexpr int kPauseMs = 200;  // five updates a second are as many as eyes can read

// The widest texts to expect, beside the headings.
constexpr std::array<const char*, RequestsModel::kNumColumns> kWidest = {"shared-prompt 99",
                                                                         "B",
                                                                         "preempted",
                                                                         "99,999",
                                                                         "99,999",
                                                                         "99,999",
                                                                         "9,999",
                                                                         "99,999",
                                                                         "99",
                                                                         "99.9 ms",
                                                                         "99.9 ms",
                                                                         "behind another request"};

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
  setUpTable(*m_table);
  m_table->setTextElideMode(Qt::ElideMiddle);  // labels end in numbers
  m_table->setMouseTracking(true);
  QHeaderView* header = m_table->horizontalHeader();
  header->setSortIndicatorClearable(true);
  header->setSortIndicator(-1, Qt::AscendingOrder);
  m_table->setSortingEnabled(true);
  m_table->setColumnHidden(RequestsModel::kLane, true);  // until two lanes are compared
  sizeColumns();
}

void RequestsView::sizeColumns() const {
  gui::sizeColumns(*m_table, font(), kWidest, [this](int column) {
    const bool marked = column == RequestsModel::kRequest || column == RequestsModel::kState;
    return marked ? m_table->fontMetrics().height() : 0;
  });
}

void RequestsView::connectTable() {
  addCopyRows(*m_table);
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
  m_lanes = {};
  m_in_table = {};
  m_model->setRequests({});
  m_stack->showWords(tr("No request yet"));
}

void RequestsView::showLimits(const core::MachineLimits&) {}

void RequestsView::showFrame(const Frame& frame) {
  if (frame.snapshot) m_lanes = {frame.snapshot, frame.b ? frame.b->snapshot : nullptr};
  if (!m_pause.isActive()) refresh();
}

void RequestsView::refresh() {
  const auto& [lane_a, lane_b] = m_lanes;
  if (!inSight() || !lane_a || m_lanes == m_in_table) return;
  m_in_table = m_lanes;
  m_model->setRequests(lane_a->requests, lane_b ? lane_b->requests : std::vector<core::RequestInfo>());
  m_table->setColumnHidden(RequestsModel::kLane, !lane_b);
  m_pause.start();
  if (m_model->rowCount() == 0) {
    m_stack->showWords(tr("No request yet"));
    return;
  }
  m_stack->showContent();
  obeySelection();
}

void RequestsView::obeySelection() {
  const std::vector<int> rows = m_model->rowsOf(m_selection.request());
  if (rows.empty()) {
    if (!m_selection.request().valid()) m_table->clearSelection();
    return;
  }
  const auto isSelected = [this](int row) { return m_table->selectionModel()->isRowSelected(row); };
  if (std::ranges::any_of(rows, isSelected)) return;
  const QSignalBlocker quiet(m_table->selectionModel());
  m_table->clearSelection();
  for (const int row : rows) {
    m_table->selectionModel()->select(m_model->index(row, 0), QItemSelectionModel::Select | QItemSelectionModel::Rows);
  }
  m_table->scrollTo(m_model->index(rows.front(), 0));
  m_table->viewport()->update();
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
