// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/paint/number_format.h"

#include <QCoreApplication>

#include <algorithm>
#include <array>
#include <cmath>

namespace inferoscope::gui {

namespace {

// `units[0]` for values under `base`, each next one `base` times as large.
template <std::size_t N>
QString scaledText(double value, double base, const std::array<const char*, N>& units) {
  std::size_t unit = 0;
  // 999.6 would print as 1,000 of the smaller unit.
  while (unit + 1 < N && std::abs(value) >= base - 0.5) {
    value /= base;
    ++unit;
  }
  return significantText(value) + QStringLiteral(" ") + QString::fromUtf8(units[unit]);
}

}  // namespace

QLocale displayLocale() {
  const QLocale locale;
  return locale.language() == QLocale::C ? QLocale(QLocale::English, QLocale::UnitedStates) : locale;
}

QString nothing() {
  return QStringLiteral("–");
}

QString significantText(double value) {
  if (!std::isfinite(value)) return nothing();
  const double size = std::abs(value);
  if (size == 0) return QStringLiteral("0");
  // 9.996 has to become 10.0, not 10.00.
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return displayLocale().toString(value, 'f', decimals);
}

QString countText(std::int64_t count) {
  return displayLocale().toString(static_cast<qlonglong>(count));
}

QString shareText(double share) {
  if (!std::isfinite(share)) return nothing();
  const double percent = share * 100;
  return displayLocale().toString(percent, 'f', percent >= 9.95 || percent == 0 ? 0 : 1) + QStringLiteral("%");
}

QString bytesText(std::int64_t bytes) {
  if (bytes < 1024) return countText(bytes) + QStringLiteral(" B");
  return scaledText(static_cast<double>(bytes), 1024, std::array{"B", "KiB", "MiB", "GiB", "TiB"});
}

QString movedBytesText(double bytes) {
  return scaledText(bytes / 1e6, 1000, std::array{"MB", "GB", "TB"});
}

QString operationsText(double operations) {
  return scaledText(operations / 1e6, 1000, std::array{"M", "G", "T"});
}

QString byteRateText(double bytes_per_s) {
  return scaledText(bytes_per_s / 1e6, 1000, std::array{"MB/s", "GB/s", "TB/s"});
}

QString flopRateText(double flop_per_s) {
  return scaledText(flop_per_s / 1e6, 1000, std::array{"MFLOP/s", "GFLOP/s", "TFLOP/s"});
}

QString opRateText(double op_per_s) {
  return scaledText(op_per_s / 1e6, 1000, std::array{"MOP/s", "GOP/s", "TOP/s"});
}

QString tokenRateText(double tokens_per_s) {
  return significantText(tokens_per_s) + QStringLiteral(" tok/s");
}

QString durationText(std::int64_t ns) {
  return scaledText(static_cast<double>(ns) / 1e3, 1000, std::array{"µs", "ms", "s"});
}

QString millisecondsText(const std::optional<double>& milliseconds) {
  if (!milliseconds) return nothing();
  return durationText(std::llround(*milliseconds * 1e6));
}

QString floatPeakText(const core::MachineLimits& limits) {
  return QStringLiteral("%1 %2").arg(QString::fromLatin1(limits.floatPeakName()), flopRateText(limits.floatPeak()));
}

QString peakText(const core::MachineLimits& limits, bool int8) {
  if (int8 && limits.int8_op_per_s > 0) {
    return QCoreApplication::translate("Limits", "%1 int8").arg(opRateText(limits.int8_op_per_s));
  }
  const QString rate = flopRateText(limits.floatPeak());
  return limits.fp32_flop_per_s > 0 ? rate : QCoreApplication::translate("Limits", "%1 f16").arg(rate);
}

}  // namespace inferoscope::gui
