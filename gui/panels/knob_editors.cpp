// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/panels/knob_editors.h"

#include <QComboBox>
#include <QSignalBlocker>
#include <QSpinBox>

namespace inferoscope::gui {
namespace {

void showChoices(QComboBox& combo, const std::vector<std::string>& choices, const std::string& value) {
  QStringList texts;
  for (const std::string& choice : choices) texts << QString::fromStdString(choice);
  const QString chosen = QString::fromStdString(value);
  if (!texts.contains(chosen)) texts << chosen;  // not offered, but in force
  QStringList shown;
  for (int i = 0; i < combo.count(); ++i) shown << combo.itemText(i);
  if (texts != shown) {
    combo.clear();
    combo.addItems(texts);
  }
  combo.setCurrentText(chosen);
}

}  // namespace

QString knobWords(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QString knobTip(const core::Knob& knob, const QString& note) {
  const QString more = note.isEmpty() ? QString() : QStringLiteral("<p>%1</p>").arg(note);
  return QStringLiteral("<p>%1</p>%2<p><code>--%3</code></p>")
      .arg(knobWords(knob.explanation).toHtmlEscaped(), more, knobWords(knob.id));
}

// Ctrl+1 to Ctrl+9, Ctrl+0, then the same with Alt.
QKeySequence knobShortcut(const core::Knob& knob) {
  const auto index = static_cast<int>(&knob - core::knobs().data());
  const auto key = static_cast<Qt::Key>(Qt::Key_0 + (index + 1) % 10);
  const auto with = index < 10 ? Qt::KeyboardModifiers(Qt::ControlModifier) : Qt::ControlModifier | Qt::AltModifier;
  return QKeySequence(QKeyCombination(with, key));
}

QWidget* makeKnobEditor(const core::Knob& knob, const std::function<void(const std::string&)>& changed) {
  if (!knob.choices.empty()) {
    auto* combo = new QComboBox;
    showChoices(*combo, knob.choices, knob.choices.front());
    QObject::connect(combo, &QComboBox::currentTextChanged, combo,
                     [changed](const QString& value) { changed(value.toStdString()); });
    return combo;
  }
  auto* spin = new QSpinBox;
  spin->setRange(knob.min, knob.max);
  spin->setKeyboardTracking(false);                       // a number counts once it is typed in full
  spin->setSpecialValueText(knobWords(knob.zero_means));  // Qt shows it for the least value
  QObject::connect(spin, &QSpinBox::valueChanged, spin, [changed](int value) { changed(std::to_string(value)); });
  return spin;
}

void showKnob(QWidget* editor, const core::Knob& knob, const core::EngineOptions& options) {
  const QSignalBlocker blocker(editor);
  const std::string value = knob.get(options);
  if (auto* combo = qobject_cast<QComboBox*>(editor)) showChoices(*combo, core::choicesOn(knob, options), value);
  if (auto* spin = qobject_cast<QSpinBox*>(editor)) spin->setValue(std::stoi(value));
}

}  // namespace inferoscope::gui
