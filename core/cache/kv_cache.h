// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/backend/backend.h"
#include "core/model/model_config.h"
#include "kernels/paged_kv.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace inferoscope::core {

// The memory of the KV blocks of all layers. It knows no sequences and no policy.
class KvCache {
 public:
  // Throws Error if the memory is not to be had or head_dim does not divide into the format's blocks.
  KvCache(const ModelConfig& config, Backend& backend, std::string_view format_name, int num_blocks, int block_size);

  int numBlocks() const { return m_num_blocks; }
  int blockSize() const { return m_block_size; }
  std::int64_t blockBytes() const { return m_block_bytes; }  // of one block over all layers

  // One layer as kernels see it; the caller adds the batch's block tables and lengths.
  kernels::PagedKvView layer(int layer_index) const;

 private:
  int m_num_blocks = 0;
  int m_block_size = 0;
  std::int64_t m_block_bytes = 0;
  kernels::PagedKvView m_view{};
  std::vector<std::shared_ptr<Buffer>> m_keys;    // [num_layers]
  std::vector<std::shared_ptr<Buffer>> m_values;  // [num_layers]
};

}  // namespace inferoscope::core
