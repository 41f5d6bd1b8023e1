// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/panels/knobs_panel.h"

#include "gui/panels/knob_editors.h"
#include "gui/panels/scroll_column.h"

#include <QFormLayout>
#include <QHBoxLayout>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

namespace inferoscope::gui {
namespace {

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

}  // namespace

KnobsPanel::KnobsPanel(QWidget* parent) : QWidget(parent) {
  auto* inner = new QWidget;
  auto* form = new QFormLayout(inner);
  form->setContentsMargins(8, 4, 8, 4);
  for (const core::Knob& knob : core::knobs()) {
    m_rows.push_back(makeRow(knob));
    form->addRow(m_rows.back().label, m_rows.back().editor);
  }
  m_message = new QLabel;
  m_message->setObjectName(QStringLiteral("knob-message"));
  m_message->setWordWrap(true);
  m_message->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_message->hide();
  auto* defaults = new QPushButton(tr("Restore &defaults"));
  connect(defaults, &QPushButton::clicked, this, &KnobsPanel::restoreDefaults);

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 4);
  layout->addWidget(makeScrollColumn(inner), 1);
  layout->addWidget(makeProgress());
  layout->addWidget(m_message);
  layout->addWidget(defaults, 0, Qt::AlignHCenter);
}

KnobsPanel::Row KnobsPanel::makeRow(const core::Knob& knob) {
  QWidget* editor = makeKnobEditor(knob, [this, &knob](const std::string& value) { set(knob, value); });
  if (auto* spin = qobject_cast<QSpinBox*>(editor); spin != nullptr && !knob.unit.empty()) {
    spin->setSuffix(QStringLiteral(" ") + knobWords(knob.unit));
  }
  const Row row{&knob, new QLabel(knobWords(knob.label)), editor, new QAction(knobWords(knob.label), this)};
  const QKeySequence key = knobShortcut(knob);
  const QString tip = knobTip(
      knob, rebuildNote(knob.rebuilds) + tr(" %1: the next value.").arg(key.toString(QKeySequence::NativeText)));
  for (QWidget* widget : {static_cast<QWidget*>(row.label), editor}) widget->setToolTip(tip);
  row.label->setBuddy(editor);
  editor->setObjectName(knobWords(knob.id));
  editor->setAccessibleName(knobWords(knob.label));
  row.turn->setObjectName(QStringLiteral("turn-") + knobWords(knob.id));
  row.turn->setToolTip(tip);
  row.turn->setShortcut(key);
  connect(row.turn, &QAction::triggered, this, [this, &knob] { set(knob, core::nextValue(knob, m_wanted)); });
  return row;
}

QList<QAction*> KnobsPanel::turns() const {
  QList<QAction*> actions;
  for (const Row& row : m_rows) actions << row.turn;
  return actions;
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
    showKnob(row.editor, *row.knob, m_wanted);
    const bool pending = row.knob->get(m_wanted) != row.knob->get(m_in_force);
    row.label->setText(pending ? tr("%1 (pending)").arg(knobWords(row.knob->label)) : knobWords(row.knob->label));
  }
  if (!weightsPending()) m_progress->hide();
}

}  // namespace inferoscope::gui
