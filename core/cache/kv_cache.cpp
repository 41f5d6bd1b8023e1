// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cache/kv_cache.h"

#include "core/error.h"

#include <fmt/format.h>
#include <cassert>

namespace inferoscope::core {
namespace {

const kernels::Format& kvFormat(const ModelConfig& config, std::string_view name) {
  const kernels::Format* format = kernels::findFormat(name);
  if (!format) throw Error(fmt::format("kv-format: there is no format \"{}\"", name));
  if (config.head_dim % format->block_elems != 0) {
    throw Error(
        fmt::format("kv-format: {} stores {} values at a time, and a head of this model has {}; choose f16 or f32",
                    name, format->block_elems, config.head_dim));
  }
  return *format;
}

// Of the keys, or of the values, of one block of one layer.
std::int64_t layerBlockBytes(const ModelConfig& config, const kernels::Format& format, int block_size) {
  return std::int64_t{config.num_kv_heads} * block_size * kernels::storedBytes(format, config.head_dim);
}

}  // namespace

std::int64_t kvBlockBytes(const ModelConfig& config, std::string_view format, int block_size) {
  return 2 * config.num_layers * layerBlockBytes(config, kvFormat(config, format), block_size);
}

KvCache::KvCache(const ModelConfig& config, Backend& backend, std::string_view format_name, int num_blocks,
                 int block_size)
    : m_num_blocks(num_blocks), m_block_size(block_size) {
  assert(num_blocks > 0 && block_size > 0);
  const kernels::Format& format = kvFormat(config, format_name);
  m_view.format = format.id;
  m_view.num_blocks = num_blocks;
  m_view.block_size = block_size;
  m_view.num_kv_heads = config.num_kv_heads;
  m_view.head_dim = config.head_dim;
  m_view.vector_bytes = kernels::storedBytes(format, config.head_dim);

  const auto bytes = static_cast<std::size_t>(num_blocks * layerBlockBytes(config, format, block_size));
  for (int layer = 0; layer < config.num_layers; ++layer) {
    const std::string what = fmt::format("KV cache, layer {} of {}", layer + 1, config.num_layers);
    m_keys.push_back(backend.allocate(bytes, what));
    m_values.push_back(backend.allocate(bytes, what));
  }
}

std::int64_t KvCache::blockBytes() const {
  const auto num_layers = static_cast<std::int64_t>(m_keys.size());
  return 2 * num_layers * m_view.num_kv_heads * m_block_size * m_view.vector_bytes;
}

kernels::PagedKvView KvCache::layer(int layer_index) const {
  kernels::PagedKvView view = m_view;
  view.keys = m_keys[static_cast<std::size_t>(layer_index)]->data();
  view.values = m_values[static_cast<std::size_t>(layer_index)]->data();
  return view;
}

}  // namespace inferoscope::core
