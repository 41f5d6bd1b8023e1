// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/random_weights.h"

#include "core/model/parallel.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace inferoscope::core {
namespace {

constexpr int kPoolElems = 1 << 19;           // its encoded form fits a core's cache
constexpr int kPieceElems = 256;              // a multiple of every format's block
constexpr std::size_t kChunkBytes = 4 << 20;  // a stop request is seen after each

// SplitMix64 (Steele, Lea, Flood 2014): any counter gives a well mixed number, so each row has its own stream.
std::uint64_t mixed(std::uint64_t counter) {
  std::uint64_t z = counter * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

// FNV-1a: a tensor's weights depend on its name alone, not on where a device keeps it.
std::uint64_t hashOf(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

// Unlike std::normal_distribution, the same in every standard library: the sum of 4 uniform values is near enough.
std::vector<float> normalValues(int count, float deviation, std::uint64_t seed = 0) {
  std::vector<float> values(static_cast<std::size_t>(count));
  const float scale =
      deviation * std::sqrt(3.0F) / 65536.0F;  // a sum of 4 16-bit values has the deviation 65536 / sqrt(3)
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = mixed(seed + i + 1);
    const std::uint64_t sum = (bits & 0xFFFFU) + (bits >> 16U & 0xFFFFU) + (bits >> 32U & 0xFFFFU) + (bits >> 48U);
    values[i] = (static_cast<float>(sum) - 2 * 65535.0F) * scale;
  }
  return values;
}

// The rows of one matrix, each made from its own stream of random numbers.
struct Rows {
  Rows(const PlacedWeight& weight, const std::vector<std::byte>& encoded)
      : pool(encoded),
        row_bytes(static_cast<std::size_t>(kernels::storedBytes(*weight.format, weight.slot.num_cols))),
        block_bytes(static_cast<std::size_t>(weight.format->block_bytes)),
        piece_bytes(static_cast<std::size_t>(kernels::storedBytes(*weight.format, kPieceElems))),
        num_places((pool.size() - piece_bytes) / block_bytes + 1),
        seed(hashOf(weight.slot.name)) {}

  void make(int row, std::byte* out) const {
    const std::uint64_t stream = mixed(seed + static_cast<std::uint64_t>(row));
    for (std::size_t start = 0; start < row_bytes; start += piece_bytes) {
      const std::uint64_t place = mixed(stream + start) % num_places;
      std::memcpy(out + start, pool.data() + place * block_bytes, std::min(piece_bytes, row_bytes - start));
    }
  }

  const std::vector<std::byte>& pool;
  std::size_t row_bytes, block_bytes, piece_bytes;
  std::uint64_t num_places;  // where in the pool a piece may begin
  std::uint64_t seed;
};

}  // namespace

const std::vector<std::byte>& RandomWeights::pool(const kernels::Format& format, float deviation) {
  std::vector<std::byte>& pool = m_pools[{format.id, deviation}];
  if (pool.empty()) {
    const std::vector<float> values = normalValues(kPoolElems, deviation);
    pool.resize(static_cast<std::size_t>(kernels::storedBytes(format, kPoolElems)));
    format.encode(values.data(), pool.data(), kPoolElems);
  }
  return pool;
}

void RandomWeights::fill(const PlacedWeight& weight, float deviation, const std::function<void(std::size_t)>& done) {
  const Rows rows{weight, pool(*weight.format, deviation)};
  const int rows_per_chunk =
      std::max(1, static_cast<int>(kChunkBytes / rows.row_bytes) / Backend::kUploadRows) * Backend::kUploadRows;
  for (int first = 0; first < weight.slot.num_rows; first += rows_per_chunk) {
    const int num_rows = std::min(rows_per_chunk, weight.slot.num_rows - first);
    m_chunk.resize(static_cast<std::size_t>(num_rows) * rows.row_bytes);
    inParallel(num_rows, [&](int begin, int end) {
      for (int i = begin; i < end; ++i)
        rows.make(first + i, m_chunk.data() + static_cast<std::size_t>(i) * rows.row_bytes);
    });
    m_backend.uploadRows(m_memory, weight.offset, weight.matrix(), first, m_chunk);
    done(m_chunk.size());
  }
}

void RandomWeights::fillVector(const PlacedWeight& weight, float mean, float deviation) {
  std::vector<float> values = normalValues(weight.slot.num_cols, deviation, hashOf(weight.slot.name));
  for (float& value : values) value += mean;
  m_backend.upload(m_memory, weight.offset, std::as_bytes(std::span(values)));
}

}  // namespace inferoscope::core
