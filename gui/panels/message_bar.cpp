// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/panels/message_bar.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>

namespace inferoscope::gui {

MessageBar::MessageBar(QWidget* parent) : QWidget(parent), m_text(new QLabel) {
  setObjectName(QStringLiteral("message-bar"));
  m_text->setWordWrap(true);
  m_text->setTextFormat(Qt::PlainText);
  m_text->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* copy = new QPushButton(tr("Copy"));
  auto* close = new QPushButton(tr("Close"));
  connect(copy, &QPushButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(m_text->text()); });
  connect(close, &QPushButton::clicked, this, &QWidget::hide);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(12, 4, 12, 4);
  layout->addWidget(m_text, 1);
  layout->addWidget(copy);
  layout->addWidget(close);
  hide();
}

void MessageBar::showMessage(const QString& text) {
  m_text->setText(text);
  setVisible(!text.isEmpty());
}

LoadBar::LoadBar(QWidget* parent) : QWidget(parent), m_stage(new QLabel), m_bar(new QProgressBar) {
  setObjectName(QStringLiteral("load-bar"));
  m_bar->setRange(0, 1000);
  auto* cancel = new QPushButton(tr("Cancel"));
  connect(cancel, &QPushButton::clicked, this, &LoadBar::cancelled);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(12, 4, 12, 4);
  layout->addWidget(m_stage);
  layout->addWidget(m_bar, 1);
  layout->addWidget(cancel);
  hide();
}

void LoadBar::showProgress(const QString& stage, double fraction) {
  m_stage->setText(tr("Loading: %1").arg(stage));
  m_bar->setValue(static_cast<int>(fraction * 1000));
}

}  // namespace inferoscope::gui
