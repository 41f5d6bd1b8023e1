// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/panels/knob_pair_grid.h"

#include "gui/panels/knob_editors.h"

#include <QGridLayout>

namespace inferoscope::gui {
KnobPairGrid::KnobPairGrid(QWidget* parent) : QWidget(parent) {
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setVerticalSpacing(2);
  grid->addWidget(new QLabel(tr("<b>A</b>")), 0, 1);
  grid->addWidget(new QLabel(tr("<b>B</b>")), 0, 2);
  for (const core::Knob& knob : core::knobs()) {
    Row row{&knob, new QLabel, {makeEditor(knob, 0), makeEditor(knob, 1)}};
    row.label->setToolTip(knobTip(knob));
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

QWidget* KnobPairGrid::makeEditor(const core::Knob& knob, int lane) {
  QWidget* editor = makeKnobEditor(knob, [this, &knob, lane](const std::string& value) { set(knob, lane, value); });
  editor->setObjectName(
      QStringLiteral("%1-%2").arg(knobWords(knob.id), lane == 0 ? QStringLiteral("a") : QStringLiteral("b")));
  editor->setAccessibleName(tr("%1 of lane %2").arg(knobWords(knob.label), lane == 0 ? tr("A") : tr("B")));
  editor->setToolTip(knobTip(knob));
  return editor;
}

void KnobPairGrid::set(const core::Knob& knob, int lane, const std::string& value) {
  core::EngineOptions& options = m_options[static_cast<std::size_t>(lane)];
  core::setKnob(options, knob.id, value);
  core::settleChoices(options);
  refresh();
  emit changed();
}

void KnobPairGrid::setOptions(const core::EngineOptions& a, const core::EngineOptions& b) {
  m_options = {a, b};
  refresh();
}

void KnobPairGrid::refresh() {
  for (const Row& row : m_rows) {
    for (std::size_t lane = 0; lane < 2; ++lane) showKnob(row.editors[lane], *row.knob, m_options[lane]);
    const bool differs = row.knob->get(m_options[0]) != row.knob->get(m_options[1]);
    row.label->setText(differs ? QStringLiteral("<b>%1</b>").arg(knobWords(row.knob->label))
                               : knobWords(row.knob->label));
  }
}

}  // namespace inferoscope::gui
