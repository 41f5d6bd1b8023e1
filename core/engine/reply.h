// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"
#include "core/model/text_stream.h"
#include "core/model/tokenizer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace inferoscope::core {

// The answer to one request, as text: tokens -> bytes -> whole characters -> text before a stop string.
class Reply {
 public:
  explicit Reply(const Request& request);

  // What the token means for the request: kNone, kEndOfTurn or kStopString.
  FinishReason push(TokenId token, const Tokenizer& tokenizer);

  // The text since the last call. finished: with all that was held back, and nothing may follow.
  TextDelta take(SeqId seq, bool finished);
  bool hasText() const { return !m_ready.empty(); }

 private:
  Utf8Stream m_characters;
  StopStrings m_stops;
  bool m_ignore_end_of_turn;
  std::string m_ready;
  std::vector<TokenId> m_tokens;  // since the last take()
};

}  // namespace inferoscope::core
