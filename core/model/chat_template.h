// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
  std::string default_system;  // the system message of a conversation that brings none; empty: none
  // The prompt that asks for the assistant's next turn. kPlain: the texts alone, one a paragraph.
  std::string render(std::span<const ChatMessage> messages) const;
};

// The family of a file's template text (Jinja). Where it has none, or one that is broken or unknown: kPlain and a
// notice.
ChatTemplate recogniseChatTemplate(std::string_view text, std::vector<std::string>& notices);

}  // namespace inferoscope::core
