// SPDX-License-Identifier: GPL-3.0-or-later
// What each chat family makes of a conversation. They leave out the BOS token, which the tokenizer puts in front.
#include "core/model/chat_template.h"

#include <fmt/format.h>

namespace inferoscope::core {
namespace {

using Messages = std::span<const ChatMessage>;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t start = text.find_first_not_of(kBlanks);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(kBlanks) - start + 1);
}

std::string renderPlain(Messages messages) {
  std::string prompt;
  for (const ChatMessage& message : messages) {
    if (!prompt.empty()) prompt += "\n\n";
    prompt += message.text;
  }
  return prompt;
}

std::string renderChatMl(Messages messages) {
  std::string prompt;
  for (const ChatMessage& message : messages) {
    prompt += fmt::format("<|im_start|>{}\n{}<|im_end|>\n", message.role, message.text);
  }
  return prompt + "<|im_start|>assistant\n";
}

std::string renderLlama3(Messages messages) {
  constexpr std::string_view kHeader = "<|start_header_id|>{}<|end_header_id|>\n\n";
  std::string prompt;
  for (const ChatMessage& message : messages) {
    prompt += fmt::format(kHeader, message.role) + fmt::format("{}<|eot_id|>", trimmed(message.text));
  }
  return prompt + fmt::format(kHeader, "assistant");
}

std::string renderZephyr(Messages messages, std::string_view eos) {
  std::string prompt;
  for (const ChatMessage& message : messages) {
    prompt += fmt::format("<|{}|>\n{}{}\n", message.role, message.text, eos);
  }
  return prompt + "<|assistant|>\n";
}

// A system message is part of the question that follows it.
std::string renderLlama2(Messages messages, std::string_view bos, std::string_view eos) {
  std::string prompt, system;
  for (const ChatMessage& message : messages) {
    if (message.role == "system") {
      system = fmt::format("<<SYS>>\n{}\n<</SYS>>\n\n", message.text);
    } else if (message.role == "user") {
      const std::string question = system + message.text;
      prompt += fmt::format("{}[INST] {} [/INST]", prompt.empty() ? "" : bos, trimmed(question));
      system.clear();
    } else {
      prompt += fmt::format(" {} {}", trimmed(message.text), eos);
    }
  }
  return prompt;
}

std::string renderMistral(Messages messages, const ChatTemplate& chat) {
  std::string prompt, system;
  for (const ChatMessage& message : messages) {
    if (message.role == "system" && !chat.before_system.empty()) {
      prompt += chat.before_system + message.text + chat.after_system;
    } else if (message.role == "system") {
      system = message.text + "\n\n";
    } else if (message.role == "user") {
      prompt += chat.before_question + system + message.text + chat.after_question;
      system.clear();
    } else {
      prompt += chat.before_answer + message.text + chat.eos;
    }
  }
  return prompt;
}

}  // namespace

std::string ChatTemplate::render(Messages messages) const {
  std::vector<ChatMessage> with_system;
  if (!default_system.empty() && (messages.empty() || messages.front().role != "system")) {
    with_system.push_back({"system", default_system});
    with_system.insert(with_system.end(), messages.begin(), messages.end());
    messages = with_system;
  }
  switch (family) {
    case ChatFamily::kPlain:
      return renderPlain(messages);
    case ChatFamily::kChatMl:
      return renderChatMl(messages);
    case ChatFamily::kLlama2:
      return renderLlama2(messages, bos, eos);
    case ChatFamily::kLlama3:
      return renderLlama3(messages);
    case ChatFamily::kMistral:
      return renderMistral(messages, *this);
    case ChatFamily::kZephyr:
      return renderZephyr(messages, eos);
  }
  return {};
}

}  // namespace inferoscope::core
