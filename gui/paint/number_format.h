// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/limits.h"

#include <QLocale>
#include <QString>

#include <cstdint>
#include <optional>

namespace inferoscope::gui {

// Numbers for people's eyes: three significant digits where that is enough, a unit, a dash for nothing.
// Files and exports use the C locale instead.

QLocale displayLocale();  // the program's; English where that is "C", so that thousands are grouped
QString nothing();        // "–"

QString countText(std::int64_t count);                                // "1,024"
QString shareText(double share);                                      // 0.061 -> "6.1%"
QString bytesText(std::int64_t bytes);                                // "504 MiB": memory
QString movedBytesText(double bytes);                                 // "21.4 GB": traffic, powers of ten as its rates
QString operationsText(double operations);                            // "194 G"
QString byteRateText(double bytes_per_s);                             // "34.0 GB/s": powers of ten
QString flopRateText(double flop_per_s);                              // "194 GFLOP/s"
QString opRateText(double op_per_s);                                  // "400 GOP/s"
QString tokenRateText(double tokens_per_s);                           // "1,230 tok/s"
QString durationText(std::int64_t ns);                                // "12.3 ms"
QString millisecondsText(const std::optional<double>& milliseconds);  // "12.3 ms", dash if none
QString significantText(double value);                                // "34.0", "194", "1,230"

QString floatPeakText(const core::MachineLimits& limits);  // "fp32 200 GFLOP/s"
// The ceiling that arithmetic is held against, named where it isn't fp32: "800 GOP/s int8".
QString peakText(const core::MachineLimits& limits, bool int8);

}  // namespace inferoscope::gui
