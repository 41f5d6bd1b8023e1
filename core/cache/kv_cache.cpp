// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cache/kv_cache.h"

#include "core/model/model.h"

#include <fmt/format.h>
#include <cassert>

namespace inferoscope::core {

KvCache::KvCache(const ModelConfig& config, Backend& backend, std::string_view format_name, int num_blocks,
                 int block_size)
    : m_num_blocks(num_blocks),
      m_block_size(block_size),
      m_block_bytes(kvBytesPerToken(config, format_name) * block_size) {
  assert(num_blocks > 0 && block_size > 0);
  const kernels::Format& format = *kernels::findFormat(format_name);
  m_view.format = format.id;
  m_view.num_blocks = num_blocks;
  m_view.block_size = block_size;
  m_view.num_kv_heads = config.num_kv_heads;
  m_view.head_dim = config.head_dim;
  m_view.vector_bytes = kernels::storedBytes(format, config.head_dim);

  const std::int64_t bytes = num_blocks * m_block_bytes / (2 * config.num_layers);
  for (int layer = 0; layer < config.num_layers; ++layer) {
    const std::string what = fmt::format("KV cache, layer {} of {}", layer + 1, config.num_layers);
    m_keys.push_back(backend.allocate(static_cast<std::size_t>(bytes), what));
    m_values.push_back(backend.allocate(static_cast<std::size_t>(bytes), what));
  }
}

kernels::PagedKvView KvCache::layer(int layer_index) const {
  kernels::PagedKvView view = m_view;
  view.keys = m_keys[static_cast<std::size_t>(layer_index)]->data();
  view.values = m_values[static_cast<std::size_t>(layer_index)]->data();
  return view;
}

}  // namespace inferoscope::core
