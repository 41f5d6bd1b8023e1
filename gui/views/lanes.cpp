// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/lanes.h"

#include "core/engine/knobs.h"

#include <QCoreApplication>
#include <QStringList>

namespace inferoscope::gui {

namespace {

class Lanes {
  Q_DECLARE_TR_FUNCTIONS(Lanes)
};

QString text(std::string_view utf8) {
  return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
}

}  // namespace

QString laneName(core::LaneId lane) {
  return lane == core::LaneId::kA ? QStringLiteral("A") : QStringLiteral("B");
}

QColor laneColor(core::LaneId lane, const Theme& theme) {
  return lane == core::LaneId::kA ? theme.lane_a : theme.lane_b;
}

Qt::PenStyle lanePen(core::LaneId lane) {
  return lane == core::LaneId::kA ? Qt::SolidLine : Qt::DashLine;
}

QString laneSettings(const core::EngineOptions& lane, const core::EngineOptions& other) {
  QStringList settings;
  for (const std::string_view id : core::changedKnobs(lane, other)) {
    const core::Knob& knob = *core::findKnob(id);
    QString setting = text(knob.label) + QLatin1Char(' ') + text(knob.get(lane));
    if (!knob.unit.empty()) setting += QLatin1Char(' ') + text(knob.unit);
    settings << setting;
  }
  return settings.isEmpty() ? Lanes::tr("the same knobs") : settings.join(QStringLiteral(", "));
}

}  // namespace inferoscope::gui
