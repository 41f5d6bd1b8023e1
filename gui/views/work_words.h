// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/op_work.h"
#include "gui/paint/theme.h"

#include <QString>

namespace inferoscope::gui {

// What ops do and what it costs, in the user's language and the theme's colours.
QString opKindWord(kernels::OpKind kind);
QString opKindExplanation(kernels::OpKind kind);  // one sentence
QString phaseWord(core::Phase phase);
QColor phaseColor(core::Phase phase, const Theme& theme);
QString boundWords(core::Bound bound);  // dash where it is not known
QString byteKindWord(core::ByteKind byte_kind);
QString byteKindExplanation(core::ByteKind byte_kind);  // one sentence
QColor byteKindColor(core::ByteKind byte_kind, const Theme& theme);

QString movedText(double bytes);                  // "105 MB": powers of ten, as rates of them
QString flopText(double flops);                   // "1.61 GFLOP"
QString flopText(const core::OpWork& work);       // dash where there is no arithmetic
QString flopRateText(const core::OpWork& work);   // likewise
QString intensityText(const core::OpWork& work);  // "1.96", dash where nothing is moved
QString headroomText(const core::OpWork& work);   // "1.3×": how much faster at the roof
QString shareOfRoofText(const core::OpWork& work);
QString computeCeilingText(const core::OpWork& work, const core::MachineLimits& limits);  // "400 GOP/s int8"

// How the figures of some ops come about: formulas with their numbers, which of them are measured and which counted.
QString explainWork(const core::OpWork& work, const core::MachineLimits& limits);

}  // namespace inferoscope::gui
