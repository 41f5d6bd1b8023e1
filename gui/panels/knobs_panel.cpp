// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/panels/knobs_panel.h"

#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
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
      return KnobsPanel::tr("Rebuilds the weights: running requests are computed again.");
  }
  return {};
}

void showChoices(QComboBox& combo, const std::vector<std::string>& choices) {
  QStringList texts;
  for (const std::string& choice : choices) texts << QString::fromStdString(choice);
  QStringList shown;
  for (int i = 0; i < combo.count(); ++i) shown << combo.itemText(i);
  if (texts == shown) return;
  combo.clear();
  combo.addItems(texts);
}

void showValue(QWidget* editor, const core::Knob& knob, const core::EngineOptions& options) {
  const QSignalBlocker blocker(editor);
  const std::string value = knob.get(options);
  if (auto* combo = qobject_cast<QComboBox*>(editor)) {
    showChoices(*combo, core::choicesOn(knob, options));
    combo->setCurrentText(QString::fromStdString(value));
  }
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
  layout->addWidget(makeProgress());
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
    showChoices(*combo, core::choicesOn(knob, m_wanted));
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

QWidget* KnobsPanel::makeProgress() {
  m_progress = new QWidget;
  m_progress->setObjectName(QStringLiteral("weights-progress"));
  m_bar = new QProgressBar;
  m_bar->setRange(0, 1000);
  auto* cancel = new QPushButton(tr("Cancel"));
  connect(cancel, &QPushButton::clicked, this, [this] { set(*core::findKnob("weights"), m_in_force.weights); });
  auto* layout = new QHBoxLayout(m_progress);
  layout->setContentsMargins(8, 0, 8, 0);
  layout->addWidget(m_bar, 1);
  layout->addWidget(cancel);
  m_progress->hide();
  return m_progress;
}

void KnobsPanel::showProgress(const QString& stage, double fraction) {
  if (!weightsPending()) return;  // cancelled meanwhile
  m_bar->setFormat(tr("%1: %p%").arg(stage));
  m_bar->setValue(static_cast<int>(fraction * 1000));
  m_progress->show();
}

void KnobsPanel::set(const core::Knob& knob, const std::string& value) {
  const std::string problem = core::setKnob(m_wanted, knob.id, value);
  if (!problem.empty()) return showRefusal(QString::fromStdString(problem));
  core::settleChoices(m_wanted);
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
    showValue(row.editor, *row.knob, m_wanted);
    const bool pending = row.knob->get(m_wanted) != row.knob->get(m_in_force);
    row.label->setText(pending ? tr("%1 (pending)").arg(words(row.knob->label)) : words(row.knob->label));
  }
  if (!weightsPending()) m_progress->hide();
}

}  // namespace inferoscope::gui
