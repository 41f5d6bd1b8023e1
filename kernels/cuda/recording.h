// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

namespace inferoscope::kernels::cuda {

// Work put down in place of being enqueued: how to enqueue it, and all that a graph made of it would hold fast, byte
// for byte. What differs from step to step without being in the key lies in memory that the work copies or reads.
struct Recording {
  std::vector<std::byte> key;
  std::vector<std::function<void()>> work;

  // Values without padding inside: bytes that nobody set would make two alike recordings differ.
  template <class... Values>
  void add(std::function<void()> enqueue, const Values&... values) {
    (append(&values, sizeof(values)), ...);
    work.push_back(std::move(enqueue));
  }

 private:
  void append(const void* value, std::size_t bytes) {
    key.resize(key.size() + bytes);
    std::memcpy(key.data() + key.size() - bytes, value, bytes);
  }
};

}  // namespace inferoscope::kernels::cuda
