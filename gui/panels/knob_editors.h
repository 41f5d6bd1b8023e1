// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/knobs.h"

#include <QKeySequence>
#include <QString>
#include <QWidget>

#include <functional>
#include <string>
#include <string_view>

namespace inferoscope::gui {

// What the panels make of a row of the knob table.

QString knobWords(std::string_view text);

// Explanation, note and flag.
QString knobTip(const core::Knob& knob, const QString& note = {});

// The key that turns a knob on, by its place in the table.
QKeySequence knobShortcut(const core::Knob& knob);

// A combo box for choices, a spin box for numbers. `changed` gets what a person chose.
QWidget* makeKnobEditor(const core::Knob& knob, const std::function<void(const std::string&)>& changed);
// The knob's value in `options`, and the choices that their device has. Calls nobody.
void showKnob(QWidget* editor, const core::Knob& knob, const core::EngineOptions& options);

}  // namespace inferoscope::gui
