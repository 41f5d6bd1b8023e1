// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/panels/prompt_panel.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QVBoxLayout>

namespace inferoscope::gui {

PromptPanel::PromptPanel(QWidget* parent) : QWidget(parent) {
  m_text = new QPlainTextEdit;
  m_text->setObjectName(QStringLiteral("prompt"));
  m_text->setAccessibleName(tr("Prompt"));
  m_text->setPlaceholderText(tr("Ask the model something, beside the workload"));
  m_text->setTabChangesFocus(true);
  m_text->setMinimumHeight(m_text->fontMetrics().lineSpacing() * 2 + 12);
  m_text->installEventFilter(this);
  m_max_tokens = new QSpinBox;
  m_max_tokens->setRange(1, 8192);
  m_max_tokens->setValue(128);
  m_max_tokens->setSuffix(tr(" tokens"));
  m_max_tokens->setToolTip(tr("Most tokens of the answer"));
  m_temperature = new QDoubleSpinBox;
  m_temperature->setRange(0, 2);
  m_temperature->setSingleStep(0.1);
  m_temperature->setDecimals(1);
  m_temperature->setPrefix(tr("T "));
  m_temperature->setSpecialValueText(tr("greedy"));
  m_temperature->setToolTip(tr("Temperature: 0 always takes the likeliest token"));
  m_send = new QPushButton(tr("Se&nd"));
  m_send->setObjectName(QStringLiteral("send"));
  m_hint = new QLabel;
  m_hint->setWordWrap(true);
  m_hint->hide();

  auto* row = new QHBoxLayout;
  row->addWidget(m_max_tokens);
  row->addWidget(m_temperature);
  row->addStretch();
  row->addWidget(m_send);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 4, 8, 4);
  layout->addWidget(m_text, 1);
  layout->addWidget(m_hint);
  layout->addLayout(row);
  connect(m_send, &QPushButton::clicked, this, &PromptPanel::send);
}

void PromptPanel::showHint(const QString& text) {
  m_hint->setText(text);
  m_hint->setVisible(!text.isEmpty());
}

bool PromptPanel::eventFilter(QObject* watched, QEvent* event) {
  if (watched != m_text || event->type() != QEvent::KeyPress) return QWidget::eventFilter(watched, event);
  const auto* key = static_cast<QKeyEvent*>(event);
  const bool enter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
  if (!enter || key->modifiers().testFlag(Qt::ShiftModifier)) return QWidget::eventFilter(watched, event);
  send();
  return true;
}

void PromptPanel::send() {
  const QString text = m_text->toPlainText();
  if (text.trimmed().isEmpty()) return showHint(tr("Nothing to send: type a question first."));
  core::Request rest;
  rest.label = tr("you %1").arg(++m_num_sent).toStdString();
  rest.max_new_tokens = m_max_tokens->value();
  rest.sampling.temperature = static_cast<float>(m_temperature->value());
  rest.sampling.seed = static_cast<std::uint64_t>(m_num_sent);
  showHint({});
  m_text->clear();
  emit sent(text, rest);
}

}  // namespace inferoscope::gui
