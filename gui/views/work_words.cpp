// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/work_words.h"

#include "gui/paint/number_format.h"

#include <QCoreApplication>
#include <QStringList>

#include <array>
#include <cmath>

namespace inferoscope::gui {

namespace {

class Work {
  Q_DECLARE_TR_FUNCTIONS(Work)
};

QString scaled(double value, const std::array<const char*, 5>& units) {
  std::size_t unit = 0;
  while (unit + 1 < units.size() && value >= 999.5) {
    value /= 1000;
    ++unit;
  }
  const QString number = unit == 0 ? countText(std::llround(value)) : significantText(value);
  return number + QStringLiteral(" ") + QString::fromLatin1(units[unit]);
}

QString nsText(double ns) {
  return durationText(std::llround(ns));
}

}  // namespace

QString opKindWord(kernels::OpKind kind) {
  switch (kind) {
    case kernels::OpKind::kEmbed:
      return Work::tr("embedding");
    case kernels::OpKind::kRmsNorm:
      return Work::tr("norm");
    case kernels::OpKind::kLinear:
      return Work::tr("linear");
    case kernels::OpKind::kRope:
      return Work::tr("rope");
    case kernels::OpKind::kKvAppend:
      return Work::tr("KV append");
    case kernels::OpKind::kAttention:
      return Work::tr("attention");
    case kernels::OpKind::kSwiGlu:
      return Work::tr("SwiGLU");
    case kernels::OpKind::kAdd:
      return Work::tr("add");
    case kernels::OpKind::kSample:
      return Work::tr("sampling");
  }
  return {};
}

QString opKindExplanation(kernels::OpKind kind) {
  switch (kind) {
    case kernels::OpKind::kEmbed:
      return Work::tr("Looks up one row of the embedding matrix for each token.");
    case kernels::OpKind::kRmsNorm:
      return Work::tr("Scales each token's activations to a root mean square of one.");
    case kernels::OpKind::kLinear:
      return Work::tr("Multiplies activations with a weight matrix, which is read once for all tokens of the step.");
    case kernels::OpKind::kRope:
      return Work::tr("Rotates queries and keys by their position.");
    case kernels::OpKind::kKvAppend:
      return Work::tr("Stores the keys and values of new tokens in the KV cache.");
    case kernels::OpKind::kAttention:
      return Work::tr("Weighs the cached values by how well their keys answer the queries.");
    case kernels::OpKind::kSwiGlu:
      return Work::tr("Gates the hidden activations of the feed-forward part.");
    case kernels::OpKind::kAdd:
      return Work::tr("Adds a result to the residual stream.");
    case kernels::OpKind::kSample:
      return Work::tr("Picks the next tokens from the logits, on the device.");
  }
  return {};
}

QString phaseWord(core::Phase phase) {
  return phase == core::Phase::kPrefill ? Work::tr("prefill") : Work::tr("decode");
}

QColor phaseColor(core::Phase phase, const Theme& theme) {
  return phase == core::Phase::kPrefill ? theme.prefill : theme.decode;
}

QString boundWords(core::Bound bound) {
  switch (bound) {
    case core::Bound::kUnknown:
      return nothing();
    case core::Bound::kBandwidth:
      return Work::tr("bandwidth-bound");
    case core::Bound::kCompute:
      return Work::tr("compute-bound");
    case core::Bound::kOverhead:
      return Work::tr("overhead-bound");
    case core::Bound::kCache:
      return Work::tr("fits in cache");
  }
  return nothing();
}

QString byteKindWord(core::ByteKind byte_kind) {
  switch (byte_kind) {
    case core::ByteKind::kWeights:
      return Work::tr("weights");
    case core::ByteKind::kKvRead:
      return Work::tr("KV read");
    case core::ByteKind::kKvWrite:
      return Work::tr("KV write");
    case core::ByteKind::kActivations:
      return Work::tr("activations");
    case core::ByteKind::kScores:
      return Work::tr("scores");
  }
  return {};
}

QString byteKindExplanation(core::ByteKind byte_kind) {
  switch (byte_kind) {
    case core::ByteKind::kWeights:
      return Work::tr(
          "Weight matrices and norm vectors, once a step however many requests share it; of the embedding "
          "only the rows of the step's tokens.");
    case core::ByteKind::kKvRead:
      return Work::tr("Keys and values that attention reads: all tokens of each request so far.");
    case core::ByteKind::kKvWrite:
      return Work::tr("Keys and values of the step's tokens, written once.");
    case core::ByteKind::kActivations:
      return Work::tr("What each op reads from the op before it and writes for the next one.");
    case core::ByteKind::kScores:
      return Work::tr("Attention scores written to memory and read back: none with flash attention.");
  }
  return {};
}

QColor byteKindColor(core::ByteKind byte_kind, const Theme& theme) {
  switch (byte_kind) {
    case core::ByteKind::kWeights:
      return theme.owners[4];  // blue
    case core::ByteKind::kKvRead:
      return theme.owners[0];  // orange
    case core::ByteKind::kKvWrite:
      return theme.owners[3];  // vermilion
    case core::ByteKind::kActivations:
      return theme.owners[2];  // bluish green
    case core::ByteKind::kScores:
      return theme.owners[5];  // reddish purple
  }
  return theme.quiet;
}

QString movedText(double bytes) {
  return scaled(bytes, {"B", "kB", "MB", "GB", "TB"});
}

QString flopText(double flops) {
  return scaled(flops, {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"});
}

QString flopText(const core::OpWork& work) {
  return work.cost.flops > 0 ? flopText(static_cast<double>(work.cost.flops)) : nothing();
}

QString flopRateText(const core::OpWork& work) {
  return work.cost.flops > 0 && work.measured_ns > 0 ? flopRateText(*work.flopPerSecond()) : nothing();
}

QString intensityText(const core::OpWork& work) {
  return work.cost.flops > 0 && work.intensity() ? significantText(*work.intensity()) : nothing();
}

QString headroomText(const core::OpWork& work) {
  const auto share = work.shareOfRoof();
  return share && *share < 1 ? significantText(1 / *share) + QStringLiteral("×") : nothing();
}

QString shareOfRoofText(const core::OpWork& work) {
  return work.shareOfRoof() ? shareText(*work.shareOfRoof()) : nothing();
}

QString computeCeilingText(const core::OpWork& work, const core::MachineLimits& limits) {
  return peakText(limits, work.mostlyInt8());
}

QString explainWork(const core::OpWork& work, const core::MachineLimits& limits) {
  const auto bytes = static_cast<double>(work.cost.bytes());
  const auto flops = static_cast<double>(work.cost.flops);
  const QString time = nsText(static_cast<double>(work.measured_ns));
  QStringList lines;
  lines << (work.num_ops == 1 ? Work::tr("Measured: %1").arg(time)
                              : Work::tr("Measured: %1 in %2 ops").arg(time, countText(work.num_ops)));
  lines << Work::tr("Counted from the shapes: %1, %2").arg(movedText(bytes), flopText(flops));
  lines << Work::tr("Intensity = %1 ÷ %2 = %3 FLOP/byte").arg(flopText(flops), movedText(bytes), intensityText(work));
  if (work.measured_ns > 0) {
    lines << Work::tr("Rates = counted ÷ measured = %1, %2")
                 .arg(byteRateText(*work.bytesPerSecond()), flopRateText(*work.flopPerSecond()));
  }
  if (!limits.measured()) {
    lines << Work::tr("The machine's ceilings are not measured yet: no floor, no share");
    return lines.join(QLatin1Char('\n'));
  }
  lines << Work::tr("Floor = the larger of bytes ÷ %1 = %2 and FLOPs ÷ %3 = %4%5 = %6")
               .arg(byteRateText(limits.read_bytes_per_s), nsText(work.roof.memory_ns),
                    computeCeilingText(work, limits), nsText(work.roof.compute_ns),
                    work.num_ops == 1 ? QString() : Work::tr(", op by op"), nsText(work.floor_ns));
  const auto share = work.shareOfRoof();
  if (!share) return lines.join(QLatin1Char('\n'));
  lines << Work::tr("Share of the roof = floor ÷ measured = %1").arg(shareText(*share));
  lines << (*share < 1 ? Work::tr("Headroom: at the roof it would be %1 as fast").arg(headroomText(work))
                       : Work::tr("Faster than memory gives the bytes: they came from a cache"));
  return lines.join(QLatin1Char('\n'));
}

}  // namespace inferoscope::gui
