// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace inferoscope::core {

// What is known of a text as a piece of a SentencePiece vocabulary. Null: it is no piece.
using PieceScore = std::function<const float*(std::string_view)>;

// Cuts a text into pieces: of all neighbours that together are a piece, those of the highest score are joined first,
// the leftmost of equals, until none are left. It starts with single characters, which need be no pieces themselves.
std::vector<std::string_view> mergePieces(std::string_view text, const PieceScore& score_of);

}  // namespace inferoscope::core
