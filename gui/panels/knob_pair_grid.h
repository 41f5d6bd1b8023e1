// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/knobs.h"
#include "core/options.h"

#include <QLabel>
#include <QWidget>

#include <array>
#include <vector>

namespace inferoscope::gui {

// Every knob of the table, with a value for lane A and one for lane B; those in which they differ stand out.
class KnobPairGrid : public QWidget {
  Q_OBJECT

 public:
  explicit KnobPairGrid(QWidget* parent = nullptr);

  void setOptions(const core::EngineOptions& a, const core::EngineOptions& b);
  const core::EngineOptions& options(int lane) const { return m_options[static_cast<std::size_t>(lane)]; }  // 0: A

 signals:
  void changed();

 private:
  struct Row {
    const core::Knob* knob;
    QLabel* label;
    std::array<QWidget*, 2> editors;
  };
  QWidget* makeEditor(const core::Knob& knob, int lane);
  void set(const core::Knob& knob, int lane, const std::string& value);
  void refresh();

  std::vector<Row> m_rows;
  std::array<core::EngineOptions, 2> m_options;
};

}  // namespace inferoscope::gui
