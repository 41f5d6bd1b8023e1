// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/model.h"
#include "core/error.h"

#include <fmt/format.h>

namespace inferoscope::core {

std::int64_t kvBytesPerToken(const ModelConfig& config, std::string_view kv_format) {
  const kernels::Format* format = kernels::findFormat(kv_format);
  if (!format) throw Error(fmt::format("kv-format: there is no format \"{}\"", kv_format));
  if (config.head_dim % format->block_elems != 0) {
    throw Error(
        fmt::format("kv-format {}: a head of {} has {} elements, which is not a whole number of blocks of {}; "
                    "take f16 or f32",
                    kv_format, config.name, config.head_dim, format->block_elems));
  }
  const std::int64_t head_bytes = kernels::storedBytes(*format, config.head_dim);
  return 2 * head_bytes * config.num_kv_heads * config.num_layers;  // keys and values
}

}  // namespace inferoscope::core
