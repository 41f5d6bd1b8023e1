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
enum class ChatFamily : std::uint8_t { kPlain, kChatMl, kLlama2, kLlama3, kMistral, kZephyr };
std::string_view chatFamilyName(ChatFamily family);

struct ChatTemplate {
  ChatFamily family = ChatFamily::kPlain;
  std::string default_system{};  // the system message of a conversation that brings none; empty: none
  // Before the first turn there is none of these: the tokenizer puts the BOS token there.
  std::string bos{};         // kLlama2: stands before each turn of the user but the first
  std::string eos = "</s>";  // kLlama2, kMistral, kZephyr: ends a turn
  // kMistral: its versions differ in the spaces around what they write.
  std::string before_question = "[INST] ", after_question = " [/INST]", before_answer{};
  std::string before_system{}, after_system{};  // kMistral before its seventh: empty, and it is part of a question

  // The prompt that asks for the assistant's next turn. kPlain: the texts alone, one a paragraph.
  std::string render(std::span<const ChatMessage> messages) const;
};

// The texts of a vocabulary's tokens that templates only name; empty: it has none.
struct ChatTokens {
  std::string_view bos, eos;
};

// The family of a file's template text (Jinja). Where it has none, or one that is broken or unknown: kPlain and a
// notice.
ChatTemplate recogniseChatTemplate(std::string_view text, const ChatTokens& tokens, std::vector<std::string>& notices);

}  // namespace inferoscope::core
