// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/panels/knob_pair_grid.h"

#include <QComboBox>
#include <QGridLayout>
#include <QSignalBlocker>
#include <QSpinBox>

namespace inferoscope::gui {
namespace {

QString words(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

void showValue(QWidget* editor, const std::string& value) {
  const QSignalBlocker blocker(editor);
  const QString text = QString::fromStdString(value);
  if (auto* combo = qobject_cast<QComboBox*>(editor)) {
    if (combo->findText(text) < 0) combo->addItem(text);  // one that is not offered, but in force
    combo->setCurrentText(text);
  }
  if (auto* spin = qobject_cast<QSpinBox*>(editor)) spin->setValue(text.toInt());
}

}  // namespace

KnobPairGrid::KnobPairGrid(QWidget* parent) : QWidget(parent) {
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setVerticalSpacing(2);
  grid->addWidget(new QLabel(tr("<b>A</b>")), 0, 1);
  grid->addWidget(new QLabel(tr("<b>B</b>")), 0, 2);
  for (const core::Knob& knob : core::knobs()) {
    Row row{&knob, new QLabel, {makeEditor(knob, 0), makeEditor(knob, 1)}};
    row.label->setToolTip(tipOf(knob));
    const int at = grid->rowCount();
    grid->addWidget(row.label, at, 0);
    grid->addWidget(row.editors[0], at, 1);
    grid->addWidget(row.editors[1], at, 2);
    m_rows.push_back(row);
  }
  grid->setColumnStretch(1, 1);
  grid->setColumnStretch(2, 1);
  refresh();
}

QString KnobPairGrid::tipOf(const core::Knob& knob) {
  return QStringLiteral("<p>%1</p><p><code>--%2</code></p>")
      .arg(words(knob.explanation).toHtmlEscaped(), words(knob.id));
}

QWidget* KnobPairGrid::makeEditor(const core::Knob& knob, int lane) {
  QWidget* editor = nullptr;
  if (knob.choices.empty()) {
    auto* spin = new QSpinBox;
    spin->setRange(knob.min, knob.max);
    spin->setKeyboardTracking(false);
    spin->setSpecialValueText(words(knob.zero_means));
    connect(spin, &QSpinBox::valueChanged, this,
            [this, &knob, lane](int value) { set(knob, lane, std::to_string(value)); });
    editor = spin;
  } else {
    auto* combo = new QComboBox;
    for (const std::string& choice : knob.choices) combo->addItem(QString::fromStdString(choice));
    connect(combo, &QComboBox::currentTextChanged, this,
            [this, &knob, lane](const QString& value) { set(knob, lane, value.toStdString()); });
    editor = combo;
  }
  editor->setObjectName(
      QStringLiteral("%1-%2").arg(words(knob.id), lane == 0 ? QStringLiteral("a") : QStringLiteral("b")));
  editor->setAccessibleName(tr("%1 of lane %2").arg(words(knob.label), lane == 0 ? tr("A") : tr("B")));
  editor->setToolTip(tipOf(knob));
  return editor;
}

void KnobPairGrid::set(const core::Knob& knob, int lane, const std::string& value) {
  core::setKnob(m_options[static_cast<std::size_t>(lane)], knob.id, value);
  refresh();
  emit changed();
}

void KnobPairGrid::setOptions(const core::EngineOptions& a, const core::EngineOptions& b) {
  m_options = {a, b};
  refresh();
}

void KnobPairGrid::refresh() {
  for (const Row& row : m_rows) {
    for (std::size_t lane = 0; lane < 2; ++lane) showValue(row.editors[lane], row.knob->get(m_options[lane]));
    const bool differs = row.knob->get(m_options[0]) != row.knob->get(m_options[1]);
    row.label->setText(differs ? QStringLiteral("<b>%1</b>").arg(words(row.knob->label)) : words(row.knob->label));
  }
}

}  // namespace inferoscope::gui
