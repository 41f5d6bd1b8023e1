// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/experiment.h"
#include "gui/paint/theme.h"
#include "gui/session/frame.h"

#include <QString>

#include <array>

namespace inferoscope::gui {

// How the two lanes of a comparison are told apart in all views: by a letter, a colour, and solid against dashed.
inline constexpr std::array kLanes = {core::LaneId::kA, core::LaneId::kB};

QString laneName(core::LaneId lane);  // "A", "B"
QColor laneColor(core::LaneId lane, const Theme& theme);
Qt::PenStyle lanePen(core::LaneId lane);

// What sets a lane's knobs apart from the other's: "KV layout paged, Block size 16".
QString laneSettings(const core::EngineOptions& lane, const core::EngineOptions& other);

}  // namespace inferoscope::gui
