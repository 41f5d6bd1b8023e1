// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/read_ahead.h"

#include <utility>

namespace inferoscope::core {

ReadAhead::ReadAhead(const GgufFile& file, std::vector<Piece> pieces)
    : m_file(file), m_pieces(std::move(pieces)), m_thread([this](const std::stop_token& stop) { readAll(stop); }) {}

ReadAhead::~ReadAhead() {
  m_thread.request_stop();
  m_free.release();
}

void ReadAhead::readAll(const std::stop_token& stop) {
  for (std::size_t i = 0; i < m_pieces.size(); ++i) {
    m_free.acquire();
    if (stop.stop_requested()) return;
    Slot& slot = m_slots[i % kNumSlots];
    try {
      slot.bytes.resize(m_pieces[i].bytes);
      m_file.read(*m_pieces[i].tensor, m_pieces[i].offset, slot.bytes);
    } catch (...) {
      slot.error = std::current_exception();
    }
    m_full.release();
  }
}

std::span<const std::byte> ReadAhead::next() {
  if (m_num_taken > 0) m_free.release();  // the piece before this one
  m_full.acquire();
  const Slot& slot = m_slots[m_num_taken++ % kNumSlots];
  if (slot.error) std::rethrow_exception(slot.error);
  return slot.bytes;
}

}  // namespace inferoscope::core
