// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>

namespace inferoscope::core {

enum class KvLayout : std::uint8_t { kPaged, kContiguous };
enum class Batching : std::uint8_t { kContinuous, kStatic };
enum class Policy : std::uint8_t { kFcfs, kPrefillFirst };

// Every knob's value. core/engine/knobs.h is the one table that names, explains and parses them.
struct EngineOptions {
  KvLayout kv_layout = KvLayout::kPaged;
  int block_size = 16;                // token slots in a KV block, 1..256
  int kv_budget_mib = 0;              // 0: what 8 sequences of 2,048 tokens need
  int max_len = 0;                    // tokens of the longest text, prompt and answer; 0: the model's context
  std::string kv_format = "f16";      // f16, f32, q8_0
  std::string attention = "flash";    // the `choice` of a catalog row
  std::string weights = "as-stored";  // or the format that they are made into
  std::string linear = "simd";        // the `choice` of a catalog row
  Batching batching = Batching::kContinuous;
  int max_sequences = 16;   // sequences in a batch
  int step_tokens = 512;    // tokens of a step, decode tokens included
  int prefill_chunk = 256;  // most prompt tokens of one request in a step; 0: whole prompts
  Policy policy = Policy::kFcfs;
  bool prefix_cache = true;
  int threads = 0;             // 0: the number of cores
  std::string device = "cpu";  // cpu, cuda:N, cuda-emu
  bool cuda_graphs = true;     // steps that only decode start as one graph

  friend bool operator==(const EngineOptions&, const EngineOptions&) = default;
};

}  // namespace inferoscope::core
