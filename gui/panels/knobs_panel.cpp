// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/panels/knobs_panel.h"

#include <QComboBox>
#include <QFormLayout>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QVBoxLayout>

namespace inferoscope::gui {
namespace {

QString words(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QString rebuildNote(core::Rebuilds rebuilds) {
  switch (rebuilds) {
    case core::Rebuilds::kNothing:
      return KnobsPanel::tr("In force from the next step.");
    case core::Rebuilds::kKvCache:
      return KnobsPanel::tr("Rebuilds the KV cache: running requests are computed again.");
    case core::Rebuilds::kWeights:
      return KnobsPanel::tr("Rebuilds the weights.");
  }
  return {};
}

void showValue(QWidget* editor, const std::string& value) {
  const QSignalBlocker blocker(editor);
  if (auto* combo = qobject_cast<QComboBox*>(editor)) combo->setCurrentText(QString::fromStdString(value));
  if (auto* spin = qobject_cast<QSpinBox*>(editor)) spin->setValue(std::stoi(value));
}

}  // namespace

KnobsPanel::KnobsPanel(QWidget* parent) : QWidget(parent) {
  auto* inner = new QWidget;
  auto* form = new QFormLayout(inner);
  form->setContentsMargins(8, 4, 8, 4);
  for (const core::Knob& knob : core::knobs()) {
    m_rows.push_back(makeRow(knob));
    form->addRow(m_rows.back().label, m_rows.back().editor);
  }
  auto* scroll = new QScrollArea;
  scroll->setWidget(inner);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setMinimumWidth(inner->minimumSizeHint().width() + 20);

  m_message = new QLabel;
  m_message->setObjectName(QStringLiteral("knob-message"));
  m_message->setWordWrap(true);
  m_message->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_message->hide();
  auto* defaults = new QPushButton(tr("Restore &defaults"));
  connect(defaults, &QPushButton::clicked, this, &KnobsPanel::restoreDefaults);

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 4);
  layout->addWidget(scroll, 1);
  layout->addWidget(m_message);
  layout->addWidget(defaults, 0, Qt::AlignHCenter);
}

KnobsPanel::Row KnobsPanel::makeRow(const core::Knob& knob) {
  const Row row{&knob, new QLabel(words(knob.label)), makeEditor(knob)};
  const QString tip = QStringLiteral("<p>%1</p><p>%2</p><p><code>--%3</code></p>")
                          .arg(words(knob.explanation).toHtmlEscaped(), rebuildNote(knob.rebuilds), words(knob.id));
  row.label->setToolTip(tip);
  row.label->setBuddy(row.editor);
  row.editor->setToolTip(tip);
  row.editor->setObjectName(words(knob.id));
  row.editor->setAccessibleName(words(knob.label));
  return row;
}

QWidget* KnobsPanel::makeEditor(const core::Knob& knob) {
  if (!knob.choices.empty()) {
    auto* combo = new QComboBox;
    for (const std::string& choice : knob.choices) combo->addItem(QString::fromStdString(choice));
    connect(combo, &QComboBox::currentTextChanged, this,
            [this, &knob](const QString& value) { set(knob, value.toStdString()); });
    return combo;
  }
  auto* spin = new QSpinBox;
  spin->setRange(knob.min, knob.max);
  spin->setKeyboardTracking(false);                   // a number counts once it is typed in full
  spin->setSpecialValueText(words(knob.zero_means));  // Qt shows it for the least value
  if (!knob.unit.empty()) spin->setSuffix(QStringLiteral(" ") + words(knob.unit));
  connect(spin, &QSpinBox::valueChanged, this, [this, &knob](int value) { set(knob, std::to_string(value)); });
  return spin;
}

void KnobsPanel::set(const core::Knob& knob, const std::string& value) {
  const std::string problem = core::setKnob(m_wanted, knob.id, value);
  if (!problem.empty()) return showRefusal(QString::fromStdString(problem));
  m_message->hide();
  refresh();
  emit changed(m_wanted);
}

void KnobsPanel::restoreDefaults() {
  m_wanted = core::EngineOptions{};
  m_message->hide();
  refresh();
  emit changed(m_wanted);
}

// What was changed after this came into force stays pending.
void KnobsPanel::showInForce(const core::EngineOptions& options) {
  core::EngineOptions wanted = options;
  for (const Row& row : m_rows) {
    const std::string value = row.knob->get(m_wanted);
    if (value != row.knob->get(m_in_force)) row.knob->set(wanted, value);
  }
  m_in_force = options;
  m_wanted = wanted;
  refresh();
}

void KnobsPanel::showRefusal(const QString& reason) {
  m_wanted = m_in_force;
  m_message->setText(tr("Not changed: %1").arg(reason));
  m_message->show();
  refresh();
}

// Pending knobs are marked until the engine says that they are in force.
void KnobsPanel::refresh() {
  for (const Row& row : m_rows) {
    const std::string wanted = row.knob->get(m_wanted);
    showValue(row.editor, wanted);
    const bool pending = wanted != row.knob->get(m_in_force);
    row.label->setText(pending ? tr("%1 (pending)").arg(words(row.knob->label)) : words(row.knob->label));
  }
}

}  // namespace inferoscope::gui
