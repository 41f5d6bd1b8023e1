// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/chat_template.h"

#include <fmt/format.h>
#include <array>
#include <optional>

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

// The character before or behind the first `mark`; 0 at an end of the text or where there is none.
char neighbour(std::string_view text, std::string_view mark, bool before) {
  const std::size_t found = text.find(mark);
  if (found == std::string_view::npos) return 0;
  const std::size_t at = before ? found - 1 : found + mark.size();  // wraps to a size no text has
  return at < text.size() ? text[at] : 0;
}

// "[INST]" with the spaces that this version's template writes around its marks, and since the seventh those of a
// system message.
ChatTemplate mistral(std::string_view text) {
  const auto with_spaces = [&](std::string_view mark) {
    const bool before = neighbour(text, mark, true) == ' ', behind = neighbour(text, mark, false) == ' ';
    return fmt::format("{}{}{}", before ? " " : "", mark, behind ? " " : "");
  };
  ChatTemplate chat{.family = ChatFamily::kMistral};
  chat.before_question = with_spaces("[INST]");
  chat.after_question = with_spaces("[/INST]");
  const bool spaced_answer = contains(text, "\" \" + message[\"content\"]") ||
                             contains(text, "' ' + message['content']") || contains(text, "\" \" + message.content");
  chat.before_answer = spaced_answer ? " " : "";
  if (contains(text, "[SYSTEM_PROMPT]")) {
    chat.before_system = with_spaces("[SYSTEM_PROMPT]");
    chat.after_system = with_spaces("[/SYSTEM_PROMPT]");
  }
  return chat;
}

// Nothing if it is of none of the known families.
std::optional<ChatTemplate> familyOf(std::string_view text, const ChatTokens& tokens) {
  ChatTemplate chat;
  if (contains(text, kStart) && contains(text, kEnd) && !contains(text, "<|im_sep|>")) {
    chat.family = ChatFamily::kChatMl;
    chat.default_system = defaultSystemOf(text);
  } else if (contains(text, "<|start_header_id|>") && contains(text, "<|eot_id|>")) {
    chat.family = ChatFamily::kLlama3;
  } else if (contains(text, "[INST]") && contains(text, "<<SYS>>")) {
    chat.family = ChatFamily::kLlama2;
  } else if (contains(text, "[INST]") && contains(text, "[/INST]")) {
    chat = mistral(text);
  } else if (contains(text, "<|user|>") && contains(text, "<|assistant|>") && !contains(text, "<|end|>")) {
    chat.family = ChatFamily::kZephyr;
  } else {
    return {};
  }
  chat.bos = tokens.bos;
  if (!tokens.eos.empty()) chat.eos = tokens.eos;
  if (chat.family == ChatFamily::kZephyr && contains(text, "<|endoftext|>")) chat.eos = "<|endoftext|>";
  return chat;
}

}  // namespace

std::string_view chatFamilyName(ChatFamily family) {
  constexpr std::array<std::string_view, 6> kNames{"plain text", "ChatML", "Llama 2", "Llama 3", "Mistral", "Zephyr"};
  return kNames[static_cast<std::size_t>(family)];
}

ChatTemplate recogniseChatTemplate(std::string_view text, const ChatTokens& tokens, std::vector<std::string>& notices) {
  constexpr std::string_view kFallback = "chats are sent as plain text";
  if (text.empty()) {
    notices.push_back(fmt::format("the file has no chat template: {}", kFallback));
    return {};
  }
  if (const std::string problem = structureProblem(text); !problem.empty()) {
    notices.push_back(fmt::format("the chat template is broken ({}): {}", problem, kFallback));
    return {};
  }
  if (const auto chat = familyOf(text, tokens)) {
    if (chat->family == ChatFamily::kMistral && contains(text, "default_system_message")) {
      notices.emplace_back(
          "the chat template has a system message of its own for chats that bring none: it is not sent");
    }
    return *chat;
  }
  notices.push_back(fmt::format(
      "the chat template is of an unknown family (ChatML, Llama 2, Llama 3, Mistral and Zephyr are known): {}",
      kFallback));
  return {};
}

}  // namespace inferoscope::core
