// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/step_time_view.h"

#include "core/observe/verdict.h"
#include "gui/paint/empty_stack.h"
#include "gui/paint/marks.h"
#include "gui/paint/number_format.h"
#include "gui/paint/share_bar_delegate.h"
#include "gui/paint/tables.h"
#include "gui/paint/theme.h"
#include "gui/views/waterfall.h"
#include "gui/views/words.h"
#include "gui/views/work_tree_model.h"
#include "gui/views/work_words.h"

#include <QComboBox>
#include <QEvent>
#include <QGridLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QTreeView>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

namespace inferoscope::gui {

namespace {

constexpr int kPauseMs = 250;  // four updates a second are as many as eyes can read

// The widest texts to expect, beside the headings.
constexpr std::array<const char*, WorkTreeModel::kNumColumns> kWidest = {
    "schedule, sample", "bandwidth-bound", "99.9 ms",   "99.9%",        "999%",
    "99.9 MB",          "99.9 MFLOP",      "99.9 GB/s", "99.9 GFLOP/s", "99.9"};
constexpr int kPadding = 12;
constexpr int kFewestRows = 5;  // of text: the headings, a scroll bar, and some ops

enum Which { kLatest, kLatestPrefill, kLatestDecode };

QString describe(const core::StepRecord& step) {
  const QString requests = step.entries.size() == 1
                               ? StepTimeView::tr("1 request")
                               : StepTimeView::tr("%1 requests").arg(countText(std::ssize(step.entries)));
  return StepTimeView::tr("Step %1, %2 of %3: %4")
      .arg(countText(step.step_index), phaseWord(core::phaseOf(step)), requests, durationText(step.duration_ns));
}

}  // namespace

StepTimeView::StepTimeView(Selection& selection, QWidget* parent)
    : View(selection, parent),
      m_which(new QComboBox),
      m_grouping(new QComboBox),
      m_title(new QLabel),
      m_choices(new QWidget),
      m_waterfall(new Waterfall),
      m_model(new WorkTreeModel(this)),
      m_sorted(new QSortFilterProxyModel(this)),
      m_tree(new QTreeView),
      m_bars(new ShareBarDelegate(WorkTreeModel::kShareRole, this)) {
  setAccessibleName(tr("Where the time went"));
  setAccessibleDescription(tr("The time of a step: its floor, what each op took above it, software, and all its ops"));
  auto* content = new QWidget;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  buildChoices();
  column->addWidget(m_choices);
  column->addWidget(m_waterfall);
  column->addWidget(m_tree, 1);
  m_stack = new EmptyStack(content, noModelWords(), this);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(m_stack);
  m_pause.setSingleShot(true);
  m_pause.setInterval(kPauseMs);
  connect(&m_pause, &QTimer::timeout, this, &StepTimeView::refresh);
  buildTree();
}

void StepTimeView::buildChoices() {
  m_which->addItems({tr("Latest step"), tr("Latest prefill step"), tr("Latest decode step")});
  m_which->setToolTip(tr("A step with prompt tokens is a prefill step, also if others decode beside them."));
  m_which->setAccessibleName(tr("Step"));
  m_grouping->addItems({tr("By layer"), tr("By op")});
  m_grouping->setToolTip(tr("How the ops below are grouped"));
  m_grouping->setAccessibleName(tr("Grouping of ops"));
  m_title->setMinimumWidth(1);  // may be cut rather than widen the view
  for (QComboBox* box : {m_which, m_grouping})
    connect(box, &QComboBox::currentIndexChanged, this, &StepTimeView::refresh);
  m_choices->setBackgroundRole(QPalette::Base);
  m_choices->setAutoFillBackground(true);
  m_choices->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  auto* grid = new QGridLayout(m_choices);
  grid->setContentsMargins(kMargin, kSpacing, kMargin, 0);
  grid->setVerticalSpacing(kSpacing);
  grid->addWidget(m_which, 0, 0);
  grid->addWidget(m_grouping, 0, 2);
  grid->addWidget(m_title, 1, 0, 1, 3);
  grid->setColumnStretch(1, 1);
}

void StepTimeView::buildTree() {
  m_sorted->setSourceModel(m_model);
  m_sorted->setSortRole(kValueRole);
  m_sorted->setDynamicSortFilter(false);  // nothing moves under the reader's eyes
  m_tree->setModel(m_sorted);
  m_tree->setAccessibleName(tr("Ops of the step"));
  m_tree->setFrameShape(QFrame::NoFrame);
  m_tree->setMinimumHeight(1);
  m_tree->setAlternatingRowColors(true);
  m_tree->setUniformRowHeights(true);
  m_tree->setSelectionMode(QAbstractItemView::ExtendedSelection);
  addCopyRows(*m_tree);
  m_tree->setItemDelegateForColumn(WorkTreeModel::kShareOfStep, m_bars);
  m_bars->setColor(themeOf(palette()).prefill);
  QHeaderView* header = m_tree->header();
  header->setStretchLastSection(true);
  header->setSortIndicatorClearable(true);
  header->setSortIndicator(-1, Qt::AscendingOrder);
  m_tree->setSortingEnabled(true);
  sizeColumns();
}

void StepTimeView::sizeColumns() {
  m_tree->setFont(smallFont(font()));
  const QFontMetrics metrics = m_tree->fontMetrics();
  for (int column = 0; column < WorkTreeModel::kNumColumns; ++column) {
    const QString heading = m_model->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
    const int text = metrics.horizontalAdvance(QString::fromLatin1(kWidest[static_cast<std::size_t>(column)]));
    const int indent = column == WorkTreeModel::kTitle ? 2 * m_tree->indentation() : 0;
    m_tree->setColumnWidth(column, std::max(text + indent, metrics.horizontalAdvance(heading)) + kPadding);
  }
}

void StepTimeView::changeEvent(QEvent* event) {
  View::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) m_bars->setColor(themeOf(palette()).prefill);
  if (event->type() == QEvent::FontChange) sizeColumns();
}

void StepTimeView::resizeEvent(QResizeEvent* event) {
  View::resizeEvent(event);
  shareRoom();
}

// The waterfall has the first claim on a little room: a tree without a row in sight would be a riddle.
void StepTimeView::shareRoom() {
  const int left = height() - m_choices->sizeHint().height() - m_waterfall->sizeHint().height();
  m_tree->setVisible(left >= kFewestRows * m_tree->fontMetrics().height());
}

void StepTimeView::showModel(const ModelInfo&) {
  m_latest = {};
  m_beside = {};
  m_pause.stop();
  m_model->setTree({}, 0, m_limits);
  m_stack->showWords(firstStepWords());
}

void StepTimeView::showLimits(const core::MachineLimits& limits) {
  m_limits = limits;
  refresh();
}

void StepTimeView::Latest::add(const LaneFrame& frame) {
  for (const auto& step : frame.steps) (core::phaseOf(*step) == core::Phase::kPrefill ? prefill : decode) = step;
}

void StepTimeView::showBeside(const LaneFrame* other) {
  if (other == nullptr) {
    m_beside = {};
  } else {
    m_beside.add(*other);
  }
}

void StepTimeView::showFrame(const Frame& frame) {
  m_latest.add(frame);
  if (!frame.steps.empty() && !m_pause.isActive()) refresh();
}

const core::StepRecord* StepTimeView::chosenStep(const Latest& latest) const {
  const auto& [prefill, decode] = latest;
  const bool prefill_last = prefill && (!decode || prefill->start_ns > decode->start_ns);
  const bool wants_prefill =
      m_which->currentIndex() == kLatestPrefill || (m_which->currentIndex() == kLatest && prefill_last);
  return wants_prefill ? prefill.get() : decode.get();
}

void StepTimeView::refresh() {
  if (!inSight() || m_latest.empty()) return;
  m_stack->showContent();
  m_pause.start();
  const core::StepRecord* step = chosenStep(m_latest);
  const core::StepRecord* beside = chosenStep(m_beside);
  const core::StepTime time = step != nullptr ? core::stepTimeOf(*step, m_limits) : core::StepTime();
  m_title->setText(step != nullptr ? describe(*step) : tr("There was no such step yet"));
  const double scale_ns = beside != nullptr ? longestNs(waterfallOf(core::stepTimeOf(*beside, m_limits))) : 0.0;
  m_waterfall->showTime(time, m_limits, scale_ns);
  shareRoom();
  const auto grouping = m_grouping->currentIndex() == 0 ? WorkGrouping::kByLayer : WorkGrouping::kByOp;
  m_model->setTree(workTree(time, grouping, m_limits), time.measured_ns, m_limits);
}

}  // namespace inferoscope::gui
