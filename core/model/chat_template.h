// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace inferoscope::core {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant"
  std::string text;
};

// How a conversation becomes a prompt. The template in a file is recognised by its family, never executed.
enum class ChatFamily : std::uint8_t { kPlain, kChatMl };
std::string_view chatFamilyName(ChatFamily family);

struct ChatTemplate {
  ChatFamily family = ChatFamily::kPlain;
  // The prompt that asks for the assistant's next turn. kPlain: the texts alone, one a paragraph.
  std::string render(std::span<const ChatMessage> messages) const;
};

}  // namespace inferoscope::core
