// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/probe.h"

#include "kernels/cpu/linear_interleaved.h"
#include "kernels/cpu/probe_loops.h"
#include "kernels/cpu/row_parts.h"
#include "kernels/interleave.h"
#include "kernels/quant/q8_0.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

namespace inferoscope::kernels::cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kChunkBytes = 1 << 20;  // a task of the bandwidth probe
constexpr std::int64_t kRoundsAtOnce = 20000;  // some microseconds between looks at the clock
constexpr std::int64_t kPanelsAtOnce = 100;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The plain loops, for CPUs without AVX2: what the plain kernels would reach.

std::uint64_t sumBytesPlain(const std::byte* memory, std::int64_t num_bytes) {
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < num_bytes; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, memory + i, sizeof(word));
    sum += word;
  }
  return sum;
}

constexpr double kPlainOpsPerRound = 8 * 2;

float fmaRoundsPlain(std::int64_t num_rounds) {
  float sums[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  for (std::int64_t round = 0; round < num_rounds; ++round) {
    for (float& sum : sums) sum = sum * 0.5F + 1.0F;
  }
  return sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
}

// Runs `rounds(number, thread)` on all threads until the time is over; operations per second.
template <class Rounds>
double rate(Pool& pool, int milliseconds, const std::stop_token& stop, double ops_per_round,
            std::int64_t rounds_at_once, const Rounds& rounds) {
  std::atomic<std::int64_t> num_rounds = 0;
  std::atomic<float> sink = 0.0F;
  const Clock::time_point start = Clock::now();
  const Clock::time_point end = start + std::chrono::milliseconds(milliseconds);
  pool.parallelFor(pool.numThreads(), stop, [&](int task, int) {
    while (Clock::now() < end && !stop.stop_requested()) {
      sink.store(rounds(rounds_at_once, task), std::memory_order_relaxed);
      num_rounds.fetch_add(rounds_at_once, std::memory_order_relaxed);
    }
  });
  if (stop.stop_requested()) return 0.0;
  return static_cast<double>(num_rounds.load()) * ops_per_round / secondsSince(start);
}

GroupLinear fastestLinear(FormatId format) {
  if (whyNoAvx512().empty()) return groupLinearAvx512(format);
  if (whyNoAvxVnni().empty()) return groupLinearAvxVnni(format);
  return groupLinearAvx2(format);
}

}  // namespace

double readBandwidth(Pool& pool, std::span<const std::byte> memory, const std::stop_token& stop) {
  const auto sum_bytes = whyNoAvx512().empty() ? sumBytesAvx512 : whyNoAvx2().empty() ? sumBytesAvx2 : sumBytesPlain;
  // Whole vectors from the first aligned one on.
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::byte* first = memory.data() + (256 - address % 256) % 256;
  const std::int64_t num_bytes = (memory.data() + memory.size() - first) / 256 * 256;
  if (num_bytes <= 0) return 0.0;

  std::atomic<std::uint64_t> sink = 0;
  const auto num_chunks = static_cast<int>((num_bytes + kChunkBytes - 1) / kChunkBytes);
  const Clock::time_point start = Clock::now();
  pool.parallelFor(num_chunks, stop, [&](int chunk, int) {
    const std::int64_t begin = chunk * kChunkBytes;
    sink.fetch_add(sum_bytes(first + begin, std::min(kChunkBytes, num_bytes - begin)), std::memory_order_relaxed);
  });
  if (stop.stop_requested()) return 0.0;
  return static_cast<double>(num_bytes) / secondsSince(start);
}

double fp32Rate(Pool& pool, int milliseconds, const std::stop_token& stop) {
  const auto measured = [&](double flops_per_round, float (*rounds)(std::int64_t)) {
    return rate(pool, milliseconds, stop, flops_per_round, kRoundsAtOnce,
                [rounds](std::int64_t number, int) { return rounds(number); });
  };
  if (whyNoAvx512().empty()) return measured(kFlopsPerRoundAvx512, fmaRoundsAvx512);
  if (whyNoAvx2().empty()) return measured(kFlopsPerRoundAvx2, fmaRoundsAvx2);
  return measured(kPlainOpsPerRound, fmaRoundsPlain);
}

// The kernel itself, on one group of rows and one tile of tokens: 20 KB that stay in the first-level cache.
double int8DotRate(Pool& pool, int milliseconds, const std::stop_token& stop) {
  // The plain linear kernel has no integer dots: it decodes to fp32.
  if (!whyNoAvx2().empty()) return fp32Rate(pool, milliseconds, stop);
  constexpr int kNumCols = 256;
  const Format& format = formatOf(quant::Q8_0::kId);
  const GroupLinear linear = fastestLinear(format.id);
  const int num_tokens = linear.most_tokens;
  const std::vector<std::byte> weights(static_cast<std::size_t>(storedBytes(format, kGroupRows * kNumCols)));
  const std::vector<float> x(static_cast<std::size_t>(num_tokens * kNumCols), 1.0F);
  const std::int64_t token_bytes = kNumCols / linear.block_cols * linear.block_token_bytes;
  std::vector<std::byte> tile(static_cast<std::size_t>(num_tokens * token_bytes));
  linear.packTile(x.data(), num_tokens, kNumCols, tile.data());

  std::vector<std::vector<float>> outs(static_cast<std::size_t>(pool.numThreads()),
                                       std::vector<float>(static_cast<std::size_t>(num_tokens * kGroupRows)));
  return rate(pool, milliseconds, stop, 2.0 * num_tokens * kGroupRows * kNumCols, kPanelsAtOnce,
              [&](std::int64_t number, int task) {
                float* out = outs[static_cast<std::size_t>(task)].data();
                for (std::int64_t i = 0; i < number; ++i) {
                  linear.run({.groups = weights.data(),
                              .group_bytes = static_cast<std::int64_t>(weights.size()),
                              .num_rows = kGroupRows,
                              .num_cols = kNumCols,
                              .x = tile.data(),
                              .x_token_bytes = token_bytes,
                              .num_tokens = num_tokens,
                              .out = out,
                              .out_stride = kGroupRows});
                }
                return out[0];
              });
}

}  // namespace inferoscope::kernels::cpu
