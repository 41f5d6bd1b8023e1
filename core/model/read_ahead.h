// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/gguf.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <semaphore>
#include <span>
#include <thread>
#include <vector>

namespace inferoscope::core {

// Reads pieces of a file, one ahead of whoever uses them, on a thread of its own.
class ReadAhead {
 public:
  struct Piece {
    const GgufTensor* tensor;
    std::uint64_t offset;  // in the tensor
    std::size_t bytes;
  };

  ReadAhead(const GgufFile& file, std::vector<Piece> pieces);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // The next piece, valid until the next call. Throws what reading it threw.
  std::span<const std::byte> next();

 private:
  static constexpr std::size_t kNumSlots = 2;
  struct Slot {
    std::vector<std::byte> bytes;
    std::exception_ptr error;
  };

  void readAll(const std::stop_token& stop);

  const GgufFile& m_file;
  std::vector<Piece> m_pieces;
  std::size_t m_num_taken = 0;
  Slot m_slots[kNumSlots];
  std::counting_semaphore<> m_free{kNumSlots};
  std::counting_semaphore<> m_full{0};
  std::jthread m_thread;  // last: it uses the rest
};

}  // namespace inferoscope::core
