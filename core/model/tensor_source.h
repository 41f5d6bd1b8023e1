// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/gguf_writer.h"
#include "core/model/model_store.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace inferoscope::core {

// What a model is stored as: metadata and tensors as in a GGUF file, their data read piece by piece.
class TensorSource {
 public:
  virtual ~TensorSource() = default;

  virtual const GgufEntries& metadata() const = 0;
  virtual const std::vector<GgufWriter::Tensor>& tensors() const = 0;
  // Rows of dims[0] elements from first_row on, one after the other.
  virtual void readRows(std::size_t tensor, std::int64_t first_row, std::span<std::byte> to) const = 0;
  virtual void checkUnchanged() const = 0;                              // throws Error
  virtual bool comesFrom(const std::filesystem::path& file) const = 0;  // a file that it reads
};

// Of any model that can be loaded; what cannot is an Error. A synthetic one is made in memory first.
std::unique_ptr<TensorSource> openTensors(const std::string& source, const LoadProgress& progress,
                                          std::stop_token stop);

}  // namespace inferoscope::core
