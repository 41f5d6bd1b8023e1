// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace inferoscope::kernels {

// What an op must do, counted from its shapes: not what caches make of it, not what is resident.
// FLOPs count a multiply-add as two. Bytes are those that must cross the memory bus at least once per op.
struct OpCost {
  std::uint64_t flops = 0;        // all arithmetic
  std::uint64_t int8_ops = 0;     // the part of it done as int8 block dots: it has a ceiling of its own
  std::uint64_t weights = 0;      // bytes of weight matrices and norm vectors read
  std::uint64_t kv_read = 0;      // bytes of keys and values read
  std::uint64_t kv_write = 0;     // bytes of keys and values written
  std::uint64_t activations = 0;  // bytes of activations read and written
  std::uint64_t scores = 0;       // bytes of attention scores written to memory and read back

  std::uint64_t bytes() const { return weights + kv_read + kv_write + activations + scores; }

  OpCost& operator+=(const OpCost& other) {
    flops += other.flops;
    int8_ops += other.int8_ops;
    weights += other.weights;
    kv_read += other.kv_read;
    kv_write += other.kv_write;
    activations += other.activations;
    scores += other.scores;
    return *this;
  }
  friend bool operator==(const OpCost&, const OpCost&) = default;
};

}  // namespace inferoscope::kernels
