// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/token_stream_view.h"

#include "gui/paint/elided_label.h"
#include "gui/paint/empty_stack.h"
#include "gui/paint/marks.h"
#include "gui/paint/metrics.h"
#include "gui/paint/number_format.h"
#include "gui/paint/theme.h"
#include "gui/views/followed.h"
#include "gui/views/words.h"

#include <QLabel>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QTextCursor>
#include <QVBoxLayout>

#include <algorithm>

namespace inferoscope::gui {

TokenStreamView::TokenStreamView(Selection& selection, QWidget* parent)
    : View(selection, parent),
      m_page(new QWidget),
      m_header(new ElidedLabel(m_page)),
      m_text(new QPlainTextEdit(m_page)),
      m_footer(new ElidedLabel(m_page)),
      m_stack(new EmptyStack(m_page, noModelWords(), this)) {
  setAccessibleName(tr("Token stream"));
  setAccessibleDescription(tr("The text of the chosen request, as it is sampled"));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(m_stack);
  buildPage();
  applyTheme();
  connect(&selection, &Selection::changed, this, &TokenStreamView::refresh);
}

void TokenStreamView::buildPage() {
  auto* layout = new QVBoxLayout(m_page);
  layout->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  layout->setSpacing(kSpacing);
  layout->addWidget(m_header);
  layout->addWidget(m_text, 1);
  layout->addWidget(m_footer);
  m_page->setAutoFillBackground(true);
  m_page->setBackgroundRole(QPalette::Base);
  m_text->setReadOnly(true);
  m_text->setUndoRedoEnabled(false);
  m_text->setFrameShape(QFrame::NoFrame);
  m_text->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);  // lines wrap
  m_text->document()->setDocumentMargin(0);
  m_text->setAccessibleName(tr("Text"));
  m_header->setTextFormat(Qt::PlainText);
  m_footer->setTextFormat(Qt::PlainText);
  const QString gap = QStringLiteral("\n\n");
  m_footer->setToolTip(tipText(explainMetric(Metric::kOutputTokens) + gap + explainMetric(Metric::kTtft) + gap +
                               explainMetric(Metric::kTpot)));
  for (QLabel* label : {m_header, m_footer}) label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
}

void TokenStreamView::applyTheme() {
  QPalette colors = m_footer->palette();
  colors.setColor(m_footer->foregroundRole(), themeOf(palette()).dim);
  m_footer->setPalette(colors);
  m_footer->setFont(smallFont(font()));
}

void TokenStreamView::changeEvent(QEvent* event) {
  View::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) applyTheme();
}

void TokenStreamView::showModel(const ModelInfo& model) {
  m_texts.clear();
  m_texts_beside.clear();
  m_snapshot.reset();
  m_beside.reset();
  m_request = {};
  m_shown_end = 0;
  m_random_weights = model.config.random_weights;
  m_text->clear();
  m_stack->showWords(tr("No request yet"));
}

void TokenStreamView::showLimits(const core::MachineLimits&) {}

void TokenStreamView::showBeside(const LaneFrame* other) {
  m_beside = other != nullptr ? other->snapshot : nullptr;
  if (other != nullptr) {
    m_texts_beside.add(other->texts);
  } else {
    m_texts_beside.clear();
  }
}

void TokenStreamView::showFrame(const Frame& frame) {
  const bool reset = m_snapshot && frame.snapshot && frame.snapshot->step_index < m_snapshot->step_index;
  if (reset) m_texts.clear();
  m_texts.add(frame.texts);
  if (frame.snapshot) m_snapshot = frame.snapshot;
  refresh();
}

void TokenStreamView::refresh() {
  if (!inSight() || !m_snapshot) return;
  const core::SeqId request = followed(*m_snapshot, m_selection.request(), m_request, m_beside.get());
  if (!request.valid()) {
    m_stack->showWords(tr("No request yet"));
    return;
  }
  static const StreamedText kSilent;
  const auto textIn = [request](const TextStore& texts) -> const StreamedText& {
    const StreamedText* found = texts.find(request);
    return found != nullptr ? *found : kSilent;
  };
  const StreamedText& stream = textIn(m_texts);
  const StreamedText& other = textIn(m_texts_beside);
  // Another request, a reset, or more new text than is kept: from the start.
  if (request != m_request || stream.end() < m_shown_end || stream.num_dropped > m_shown_end) {
    m_request = request;
    m_shown_begin = m_shown_end = stream.num_dropped;
    m_text->clear();
  }
  appendText(stream);
  const std::optional<std::size_t> num_equal = partAfter(stream, other);
  markWherePart(stream, num_equal);
  m_header->setText(headerText(stream, other, num_equal));
  m_footer->setText(footerText());
  m_stack->showContent();
}

// Follows the text only as long as its end is in sight: who scrolls back wants to read.
void TokenStreamView::appendText(const StreamedText& stream) {
  if (stream.end() == m_shown_end) return;
  QScrollBar* bar = m_text->verticalScrollBar();
  const bool at_end = bar->value() >= bar->maximum();
  QTextCursor cursor(m_text->document());
  cursor.movePosition(QTextCursor::End);
  cursor.insertText(stream.text.mid(m_shown_end - stream.num_dropped));
  m_shown_end = stream.end();
  if (at_end) bar->setValue(bar->maximum());
}

// The first token that is another one than the other lane's.
void TokenStreamView::markWherePart(const StreamedText& stream, std::optional<std::size_t> num_equal) {
  QList<QTextEdit::ExtraSelection> marks;
  if (num_equal) {
    const qsizetype from = *num_equal > 0 ? stream.tokens[*num_equal - 1].end : 0;
    const qsizetype to = stream.tokens[*num_equal].end;
    const auto placeOf = [this](qsizetype character) {
      return static_cast<int>(std::clamp(character, m_shown_begin, m_shown_end) - m_shown_begin);
    };
    QTextEdit::ExtraSelection mark;
    mark.cursor = QTextCursor(m_text->document());
    mark.cursor.setPosition(placeOf(from));
    mark.cursor.setPosition(placeOf(to), QTextCursor::KeepAnchor);
    const Theme theme = themeOf(palette());
    mark.format.setBackground(theme.text);
    mark.format.setForeground(theme.surface);
    marks << mark;
  }
  m_text->setExtraSelections(marks);
}

QString TokenStreamView::headerText(const StreamedText& stream, const StreamedText& other,
                                    std::optional<std::size_t> num_equal) const {
  QString text = requestName(m_snapshot.get(), m_request);
  if (num_equal) {
    text +=
        QStringLiteral(" · ") + tr("other after %1 equal tokens").arg(countText(static_cast<std::int64_t>(*num_equal)));
  } else if (const auto common = std::min(stream.tokens.size(), other.tokens.size()); common > 0) {
    text += QStringLiteral(" · ") + tr("%1 tokens, all equal").arg(countText(static_cast<std::int64_t>(common)));
  }
  if (const core::RequestInfo* request = findRequest(m_snapshot.get(), m_request)) {
    text += QStringLiteral(" · ") + seqStateWord(request->state);
  }
  if (m_random_weights) text += QStringLiteral(" · ") + tr("random weights: the text means nothing");
  return text;
}

QString TokenStreamView::footerText() const {
  const core::RequestInfo* request = findRequest(m_snapshot.get(), m_request);
  if (request == nullptr) return tr("This request is no longer listed");
  QString text = tr("%1 of at most %2 tokens · TTFT %3 · TPOT %4")
                     .arg(countText(request->num_output_tokens), countText(request->max_new_tokens),
                          millisecondsText(request->ttft_ms), millisecondsText(request->tpot_ms));
  const QString finish = finishWords(request->finish);
  if (!finish.isEmpty()) text += QStringLiteral(" · ") + finish;
  if (!request->error.empty()) text += QStringLiteral(": ") + QString::fromStdString(request->error);
  return text;
}

}  // namespace inferoscope::gui
