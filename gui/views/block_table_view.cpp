// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/block_table_view.h"

#include "gui/paint/empty_stack.h"
#include "gui/paint/marks.h"
#include "gui/paint/number_format.h"
#include "gui/paint/tables.h"
#include "gui/paint/theme.h"
#include "gui/views/block_table_layout.h"
#include "gui/views/followed.h"
#include "gui/views/words.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

namespace inferoscope::gui {

namespace {

constexpr int kPauseMs = 200;  // five updates a second are as many as eyes can read
constexpr std::array<const char*, BlockTableModel::kNumColumns> kWidest = {
    "9,999", "99,999 – 99,999", "MMMMM", "999,999", "×99", "0123456789abcdef"};

// The bar of a block's filled slots, in the colour of the request.
class FillDelegate : public QStyledItemDelegate {
 public:
  explicit FillDelegate(QObject* parent) : QStyledItemDelegate(parent) {}
  void setColors(const QColor& ink, const QColor& well) {
    m_ink = ink;
    m_well = well;
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyledItemDelegate::paint(painter, option, index);
    const auto* table = static_cast<const BlockTableModel*>(index.model());
    const int filled = index.data(kValueRole).toInt();
    const FillBar bar = layoutFillBar(option.rect, filled, table->blockSize());
    painter->fillRect(bar.whole, m_well);
    painter->fillRect(bar.filled, m_ink);
  }

 private:
  QColor m_ink;
  QColor m_well;
};

}  // namespace

BlockTableView::BlockTableView(Selection& selection, QWidget* parent)
    : View(selection, parent),
      m_page(new QWidget),
      m_header(new QLabel(m_page)),
      m_table(new QTableView(m_page)),
      m_token(new QSpinBox(m_page)),
      m_slider(new QSlider(Qt::Horizontal, m_page)),
      m_explanation(new QLabel(m_page)),
      m_model(new BlockTableModel(this)),
      m_stack(new EmptyStack(m_page, noModelWords(), this)) {
  setAccessibleName(tr("Block table"));
  setAccessibleDescription(tr("Which physical block holds each logical block of the chosen request"));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(m_stack);
  m_pause.setSingleShot(true);
  m_pause.setInterval(kPauseMs);
  buildPage();
  connectPage();
  applyTheme();
}

void BlockTableView::buildPage() {
  m_page->setAutoFillBackground(true);
  m_page->setBackgroundRole(QPalette::Base);
  m_header->setTextFormat(Qt::PlainText);
  m_header->setWordWrap(true);
  m_header->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  m_table->setModel(m_model);
  m_table->setAccessibleName(tr("Block table"));
  setUpTable(*m_table);
  m_table->setSelectionMode(QAbstractItemView::SingleSelection);  // the block of the token that is explained
  m_table->setAlternatingRowColors(false);                        // it reads as one run of blocks
  addCopyRows(*m_table);
  m_table->setItemDelegateForColumn(BlockTableModel::kFill, new FillDelegate(this));
  m_token->setAccessibleName(tr("Token to explain"));
  m_slider->setAccessibleName(tr("Token to explain"));
  for (QWidget* widget : std::initializer_list<QWidget*>{m_token, m_slider}) {
    widget->setToolTip(tr("A token of the request, counted from 0: where are its keys and values?"));
  }
  m_explanation->setWordWrap(true);
  m_explanation->setTextFormat(Qt::PlainText);
  m_explanation->setTextInteractionFlags(Qt::TextSelectableByMouse);

  auto* title = new QLabel(tr("T&oken"), m_page);
  title->setBuddy(m_token);
  auto* chooser = new QHBoxLayout;
  chooser->addWidget(title);
  chooser->addWidget(m_token);
  chooser->addWidget(m_slider, 1);
  auto* layout = new QVBoxLayout(m_page);
  layout->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  layout->setSpacing(kSpacing);
  layout->addWidget(m_header);
  layout->addWidget(m_table, 1);
  layout->addLayout(chooser);
  layout->addWidget(m_explanation);
}

void BlockTableView::connectPage() {
  connect(m_token, &QSpinBox::valueChanged, this, &BlockTableView::pointAt);
  connect(m_slider, &QSlider::valueChanged, m_token, &QSpinBox::setValue);
  connect(m_table, &QTableView::clicked, this, [this](const QModelIndex& index) {
    m_token->setValue(m_model->rows()[static_cast<std::size_t>(index.row())].first_token);
    pointAt(m_token->value());  // also where that was the token already
  });
  connect(&m_selection, &Selection::changed, this, &BlockTableView::obeySelection);
  connect(&m_pause, &QTimer::timeout, this, &BlockTableView::refresh);
}

void BlockTableView::applyTheme() {
  const Theme theme = themeOf(palette());
  m_model->setTheme(theme);
  auto* bars = static_cast<FillDelegate*>(m_table->itemDelegateForColumn(BlockTableModel::kFill));
  bars->setColors(ownerColor(m_request, theme), theme.well);
  sizeColumns(*m_table, font(), kWidest);
}

void BlockTableView::changeEvent(QEvent* event) {
  View::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) applyTheme();
}

void BlockTableView::showModel(const ModelInfo&) {
  m_snapshot.reset();
  m_beside.reset();
  m_request = {};
  m_model->setRows({}, 0);
  const QSignalBlocker quiet[] = {QSignalBlocker(m_token), QSignalBlocker(m_slider)};
  m_token->setValue(0);
  m_slider->setValue(0);
  m_stack->showWords(tr("No request yet"));
}

void BlockTableView::showLimits(const core::MachineLimits&) {}

void BlockTableView::showBeside(const LaneFrame* other) {
  m_beside = other != nullptr ? other->snapshot : nullptr;
}

void BlockTableView::showFrame(const Frame& frame) {
  if (frame.snapshot) m_snapshot = frame.snapshot;
  if (!m_pause.isActive()) refresh();
}

void BlockTableView::refresh() {
  if (!inSight() || !m_snapshot) return;
  const core::SeqId request = followed(*m_snapshot, m_selection.request(), m_request, m_beside.get());
  const std::optional<TokenAddress> before = address();
  const bool pointed = request == m_request && before && before->block == m_selection.block();
  if (request != m_request) {
    m_request = request;
    applyTheme();
  }
  m_model->setRows(blockRows(*m_snapshot, request), m_snapshot->block_size);
  m_pause.start();
  if (m_model->rows().empty()) {
    m_stack->showWords(whyEmpty());
    return;
  }
  {
    const QSignalBlocker quiet[] = {QSignalBlocker(m_token), QSignalBlocker(m_slider)};
    const int last = std::max(0, numTokens(m_model->rows()) - 1);
    m_token->setRange(0, last);
    m_slider->setRange(0, last);
    m_slider->setPageStep(m_snapshot->block_size);
    m_slider->setValue(m_token->value());
  }
  m_header->setText(headerText());
  m_stack->showContent();
  // A preemption moves a request to other blocks: what is pointed at is the token.
  const std::optional<TokenAddress> now = address();
  if (pointed && now) m_selection.setBlock(now->block);
  showAddress();
}

// A request chosen elsewhere, or a block: then the block's first token is the one to explain.
void BlockTableView::obeySelection() {
  if (!inSight() || !m_snapshot) return;
  if (m_selection.request().valid() && m_selection.request() != m_request) refresh();
  const int row = rowOf(m_model->rows(), m_selection.block());
  if (row < 0) return;
  const std::optional<TokenAddress> at = address();
  if (!at || at->logical != row) {
    const QSignalBlocker quiet[] = {QSignalBlocker(m_token), QSignalBlocker(m_slider)};
    m_token->setValue(m_model->rows()[static_cast<std::size_t>(row)].first_token);
    m_slider->setValue(m_token->value());
  }
  showAddress();
}

void BlockTableView::pointAt(int token) {
  m_slider->setValue(token);
  showAddress();
  if (const std::optional<TokenAddress> at = address()) m_selection.setBlock(at->block);
}

std::optional<TokenAddress> BlockTableView::address() const {
  return addressOf(m_model->rows(), m_model->blockSize(), m_token->value());
}

void BlockTableView::showAddress() {
  const std::optional<TokenAddress> at = address();
  if (!at) {
    m_explanation->setText(tr("No token is computed yet: its blocks are taken, their slots still empty."));
    return;
  }
  m_explanation->setText(tr("Token %1: logical block %1 ÷ %2 = %3, slot %1 mod %2 = %4. The table says: logical block "
                            "%3 is physical block %5. So its keys and values are in slot %5 × %2 + %4 = %6 of the "
                            "cache, in every layer.")
                             .arg(countText(at->token), countText(at->block_size), countText(at->logical),
                                  countText(at->slot), countText(at->block.value), countText(at->cacheSlot())));
  if (m_table->selectionModel()->isRowSelected(at->logical)) return;
  m_table->selectRow(at->logical);
  m_table->scrollTo(m_model->index(at->logical, 0));
}

QString BlockTableView::headerText() const {
  const auto num_blocks = static_cast<std::int64_t>(m_model->rows().size());
  const QString blocks = num_blocks == 1 ? tr("1 block") : tr("%1 blocks").arg(countText(num_blocks));
  return tr("%1 · %2 tokens in %3 of %4 slots")
      .arg(requestName(m_snapshot.get(), m_request), countText(numTokens(m_model->rows())), blocks,
           countText(m_model->blockSize()));
}

QString BlockTableView::whyEmpty() const {
  const core::RequestInfo* request = findRequest(m_snapshot.get(), m_request);
  if (request == nullptr) return m_request.valid() ? tr("This request is no longer listed") : tr("No request yet");
  const QString name = requestName(m_snapshot.get(), m_request);
  switch (request->state) {
    case core::SeqState::kWaiting:
      return tr("%1 is waiting: it holds no block yet").arg(name);
    case core::SeqState::kPreempted:
      return tr("%1 was preempted: its blocks were taken, and it will be computed again").arg(name);
    case core::SeqState::kFinished:
      return tr("%1 has ended: its blocks went back").arg(name);
    case core::SeqState::kRunning:
      break;
  }
  return tr("%1 holds no block yet").arg(name);
}

}  // namespace inferoscope::gui
