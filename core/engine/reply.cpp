// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/reply.h"

#include <utility>

namespace inferoscope::core {

Reply::Reply(const Request& request) : m_stops(request.stop), m_ignore_end_of_turn(request.ignore_end_of_turn) {}

FinishReason Reply::push(TokenId token, const Tokenizer& tokenizer) {
  m_tokens.push_back(token);
  if (!m_ignore_end_of_turn && tokenizer.isEndOfTurn(token)) return FinishReason::kEndOfTurn;
  m_ready += m_stops.push(m_characters.push(tokenizer.bytes(token)));
  return m_stops.stopped() ? FinishReason::kStopString : FinishReason::kNone;
}

TextDelta Reply::take(SeqId seq, bool finished) {
  if (finished && !m_stops.stopped()) {
    m_ready += m_stops.push(m_characters.finish());
    m_ready += m_stops.finish();
  }
  const auto num_tokens = static_cast<std::int32_t>(m_tokens.size());
  return {seq, std::exchange(m_ready, {}), num_tokens, finished, std::exchange(m_tokens, {})};
}

}  // namespace inferoscope::core
