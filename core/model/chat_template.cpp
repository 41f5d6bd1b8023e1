// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/chat_template.h"

#include <fmt/format.h>

namespace inferoscope::core {
namespace {

constexpr std::string_view kStart = "<|im_start|>";
constexpr std::string_view kEnd = "<|im_end|>";

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The first word of a tag: "for" of "{%- for m in messages %}".
std::string_view tagWord(std::string_view tag) {
  const std::size_t start = tag.find_first_not_of("-+ \t\r\n");
  if (start == std::string_view::npos) return {};
  return tag.substr(start, tag.find_first_of("-+ \t\r\n(", start) - start);
}

// The end of a tag that begins at `start` with "{%", "{{" or "{#": behind its closing mark, npos if there is none.
// A closing mark within quotes is text, except in a comment.
std::size_t tagEnd(std::string_view text, std::size_t start) {
  const char kind = text[start + 1];
  const char closing = kind == '{' ? '}' : kind;
  char quote = 0;
  for (std::size_t i = start + 2; i + 1 < text.size(); ++i) {
    if (quote != 0) {
      if (text[i] == '\\') {
        ++i;
      } else if (text[i] == quote) {
        quote = 0;
      }
    } else if (kind != '#' && (text[i] == '\'' || text[i] == '"')) {
      quote = text[i];
    } else if (text[i] == closing && text[i + 1] == '}') {
      return i + 2;
    }
  }
  return std::string_view::npos;
}

// What is wrong with the structure of a Jinja text; empty if all tags close and all blocks end.
std::string structureProblem(std::string_view text) {
  std::vector<std::string> open;
  for (std::size_t start = text.find('{'); start != std::string_view::npos; start = text.find('{', start)) {
    if (start + 1 == text.size() || !contains("{%#", text.substr(start + 1, 1))) {
      ++start;
      continue;
    }
    const std::size_t end = tagEnd(text, start);
    if (end == std::string_view::npos) return fmt::format("the tag at byte {} does not close", start);
    if (text[start + 1] == '%') {
      const std::string_view word = tagWord(text.substr(start + 2, end - start - 4));
      if (word == "for" || word == "if" || word == "macro") {
        open.emplace_back(word);
      } else if (word == "endfor" || word == "endif" || word == "endmacro") {
        if (open.empty() || open.back() != word.substr(3))
          return fmt::format("{} at byte {} ends nothing", word, start);
        open.pop_back();
      }
    }
    start = end;
  }
  return open.empty() ? "" : fmt::format("a block \"{}\" does not end", open.back());
}

// Templates such as that of SmolLM2 hold a literal system message for conversations without one:
// '<|im_start|>system\nYou are ...<|im_end|>'. Returns it, or nothing.
std::string defaultSystemOf(std::string_view text) {
  for (const std::string_view opening : {"<|im_start|>system\n", "<|im_start|>system\\n"}) {
    for (std::size_t start = text.find(opening); start != std::string_view::npos; start = text.find(opening, start)) {
      start += opening.size();
      const std::string_view message = text.substr(start, text.find(kEnd, start) - start);
      const bool is_literal = start + message.size() < text.size() && !message.empty() &&
                              message.find_first_of("{}'\"\\") == std::string_view::npos;
      if (is_literal) return std::string(message);
    }
  }
  return {};
}

void appendTurn(std::string& prompt, std::string_view role, std::string_view text) {
  prompt += fmt::format("{}{}\n{}{}\n", kStart, role, text, kEnd);
}

std::string renderChatMl(std::string_view default_system, std::span<const ChatMessage> messages) {
  std::string prompt;
  const bool brings_system = !messages.empty() && messages.front().role == "system";
  if (!default_system.empty() && !brings_system) appendTurn(prompt, "system", default_system);
  for (const ChatMessage& message : messages) appendTurn(prompt, message.role, message.text);
  return prompt + fmt::format("{}assistant\n", kStart);
}

std::string renderPlain(std::span<const ChatMessage> messages) {
  std::string prompt;
  for (const ChatMessage& message : messages) {
    if (!prompt.empty()) prompt += "\n\n";
    prompt += message.text;
  }
  return prompt;
}

}  // namespace

std::string_view chatFamilyName(ChatFamily family) {
  return family == ChatFamily::kChatMl ? "ChatML" : "plain text";
}

std::string ChatTemplate::render(std::span<const ChatMessage> messages) const {
  return family == ChatFamily::kChatMl ? renderChatMl(default_system, messages) : renderPlain(messages);
}

ChatTemplate recogniseChatTemplate(std::string_view text, std::vector<std::string>& notices) {
  constexpr std::string_view kFallback = "chats are sent as plain text";
  if (text.empty()) {
    notices.push_back(fmt::format("the file has no chat template: {}", kFallback));
    return {};
  }
  if (const std::string problem = structureProblem(text); !problem.empty()) {
    notices.push_back(fmt::format("the chat template is broken ({}): {}", problem, kFallback));
    return {};
  }
  const bool is_chat_ml = contains(text, kStart) && contains(text, kEnd) && !contains(text, "<|im_sep|>");
  if (!is_chat_ml) {
    notices.push_back(fmt::format("the chat template is of an unknown family (ChatML is known): {}", kFallback));
    return {};
  }
  return {ChatFamily::kChatMl, defaultSystemOf(text)};
}

}  // namespace inferoscope::core
