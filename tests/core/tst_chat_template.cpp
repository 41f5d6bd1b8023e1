// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/chat_template.h"
#include "core/model/special_tokens.h"

#include <QTest>

using namespace inferoscope::core;

namespace {

constexpr const char* kPlainChatMl =
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

// As two model families write theirs: the line breaks within a string stand as themselves, or as \n.
constexpr const char* kWithSystem =
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n"
    "You help, politely.<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
constexpr const char* kWithSystemEscaped =
    "{%- if tools %}{{- '<|im_start|>system\\n' }}{%- if messages[0].role == 'system' %}{{- messages[0].content }}"
    "{%- endif %}{%- else %}{{- '<|im_start|>system\\nYou are Q.<|im_end|>\\n' }}{%- endif %}"
    "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{%- endfor %}";

}  // namespace

class TestChatTemplate : public QObject {
  Q_OBJECT

 private slots:
  void family_data();
  void family();
  void render();
  void families_data();
  void families();
  void aSystemMessageThatIsMadeIsNotSent();
  void oneQuestion();
  void endsOfReplies();
  void brokenNeverCrashes();
};

void TestChatTemplate::family_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<bool>("is_chat_ml");
  QTest::addColumn<QString>("default_system");
  QTest::addColumn<QString>("notice");
  QTest::newRow("chatml") << kPlainChatMl << true << ""
                          << "";
  QTest::newRow("with system") << kWithSystem << true << "You help, politely."
                               << "";
  QTest::newRow("with escaped system") << kWithSystemEscaped << true << "You are Q."
                                       << "";
  QTest::newRow("none") << "" << false << ""
                        << "no chat template";
  QTest::newRow("other") << "{% for m in messages %}<start_of_turn>{{ m.content }}<end_of_turn>{% endfor %}" << false
                         << ""
                         << "unknown family";
  QTest::newRow("later Phi") << "<|user|>{{ m }}<|end|><|assistant|>" << false << ""
                             << "unknown family";
  QTest::newRow("recursive") << "{% macro x() %}{{ x() }}{% endmacro %}{{ x() }}" << false << ""
                             << "unknown family";
  QTest::newRow("unclosed tag") << "<|im_start|><|im_end|>{% for m in messages %}{{ m.content }" << false << ""
                                << "tag at byte 45 does not close";
  QTest::newRow("unclosed block") << "<|im_start|><|im_end|>{% for m in messages %}" << false << ""
                                  << "\"for\" does not end";
  QTest::newRow("unclosed quote") << "<|im_start|><|im_end|>{{ 'a }}" << false << ""
                                  << "does not close";
  QTest::newRow("crossed blocks") << "<|im_start|><|im_end|>{% if a %}{% endfor %}" << false << ""
                                  << "endfor at byte 32 ends nothing";
  QTest::newRow("mark within quotes") << "{{ '<|im_start|>}}' }}<|im_end|>{# 'quote #}" << true << ""
                                      << "";
}

void TestChatTemplate::family() {
  QFETCH(QString, text);
  QFETCH(bool, is_chat_ml);
  QFETCH(QString, default_system);
  QFETCH(QString, notice);
  std::vector<std::string> notices;
  const ChatTemplate chat = recogniseChatTemplate(text.toStdString(), {}, notices);
  QCOMPARE(chat.family == ChatFamily::kChatMl, is_chat_ml);
  QCOMPARE(QString::fromStdString(chat.default_system), default_system);
  QCOMPARE(notices.empty(), is_chat_ml);
  if (!notices.empty()) QVERIFY2(QString::fromStdString(notices[0]).contains(notice), notices[0].c_str());
}

void TestChatTemplate::render() {
  const std::vector<ChatMessage> question{{"user", "Hi"}};
  const std::vector<ChatMessage> with_system{{"system", "S"}, {"user", "Hi"}, {"assistant", "Yo"}, {"user", "Bye"}};
  const ChatTemplate plain{}, chat_ml{.family = ChatFamily::kChatMl},
      polite{.family = ChatFamily::kChatMl, .default_system = "Be polite"};

  QCOMPARE(plain.render(with_system), std::string("S\n\nHi\n\nYo\n\nBye"));
  QCOMPARE(chat_ml.render(question), std::string("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"));
  QCOMPARE(polite.render(question), "<|im_start|>system\nBe polite<|im_end|>\n" + chat_ml.render(question));
  QCOMPARE(polite.render(with_system),
           std::string(
               "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYo<|im_end|>\n"
               "<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n"));
}

// The prompts that the templates themselves give when they are executed, without the BOS token in front.
void TestChatTemplate::families_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("family");
  QTest::addColumn<QString>("prompt");
  const auto add = [](const char* name, const char* text, const char* family, const char* prompt) {
    QTest::newRow(name) << text << family << prompt;
  };
  add("ChatML", kPlainChatMl, "ChatML",
      "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\nYo<|im_end|>\n"
      "<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n");
  add("Llama 2",
      "{% if m[0].role == 'system' %}{{ '<<SYS>>\\n' + m[0].content + '\\n<</SYS>>\\n\\n' }}{% endif %}{{ bos_token + "
      "'[INST] ' + content.strip() + ' [/INST]' }}{{ ' ' + content.strip() + ' ' + eos_token }}",
      "Llama 2", "[INST] <<SYS>>\nS\n<</SYS>>\n\n Hi [/INST] Yo </s><s>[INST] Bye [/INST]");
  add("Llama 3", "{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\n\n' + m.content | trim + '<|eot_id|>' }}",
      "Llama 3",
      "<|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|"
      ">"
      "<|start_header_id|>assistant<|end_header_id|>\n\nYo<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nBye"
      "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n");
  add("Mistral, first version",
      "{{ bos_token }}{{ '[INST] ' + message['content'] + ' [/INST]' }}{{ message['content'] + eos_token }}", "Mistral",
      "[INST] S\n\n Hi  [/INST]Yo</s>[INST] Bye [/INST]");
  add("Mistral, spaces before",
      "{{ ' [INST] ' + system_message + ' [/INST]' }}{{ ' ' + message['content'] + eos_token }}", "Mistral",
      " [INST] S\n\n Hi  [/INST] Yo</s> [INST] Bye [/INST]");
  add("Mistral, third version",
      "{{- \"[INST] \" + message[\"content\"] + \"[/INST]\" }}{{- \" \" + message[\"content\"] + eos_token }}",
      "Mistral", "[INST] S\n\n Hi [/INST] Yo</s>[INST] Bye[/INST]");
  add("Mistral, no spaces",
      "{{- \"[INST]\" + message[\"content\"] + \"[/INST]\" }}{{- message[\"content\"] + eos_token }}", "Mistral",
      "[INST]S\n\n Hi [/INST]Yo</s>[INST]Bye[/INST]");
  add("Mistral, seventh version",
      "{{- bos_token }}{%- for message in messages %}{%- if message['role'] == 'user' %}{{- '[INST] ' + "
      "message['content'] + '[/INST]' }}{%- elif message['role'] == 'system' %}{{- '[SYSTEM_PROMPT] ' + "
      "message['content'] + '[/SYSTEM_PROMPT]' }}{%- else %}{{- ' ' + message['content'] + eos_token }}{%- endif %}"
      "{%- endfor %}",
      "Mistral", "[SYSTEM_PROMPT] S[/SYSTEM_PROMPT][INST]  Hi [/INST] Yo</s>[INST] Bye[/INST]");
  add("Mistral, seventh version, no spaces",
      "{{- bos_token }}{{- '[SYSTEM_PROMPT]' + system_message + '[/SYSTEM_PROMPT]' }}{%- for message in loop_messages "
      "%}{%- if message['role'] == 'user' %}{{- '[INST]' + message['content'] + '[/INST]' }}{%- else %}{{- "
      "message['content'] + eos_token }}{%- endif %}{%- endfor %}",
      "Mistral", "[SYSTEM_PROMPT]S[/SYSTEM_PROMPT][INST] Hi [/INST]Yo</s>[INST]Bye[/INST]");
  add("Zephyr", "{{ '<|user|>\n' + m.content + eos_token }}{{ '<|system|>\n' }}{{ '<|assistant|>' }}", "Zephyr",
      "<|system|>\nS</s>\n<|user|>\n Hi </s>\n<|assistant|>\nYo</s>\n<|user|>\nBye</s>\n<|assistant|>\n");
  add("Zephyr with its own end", "{{ '<|user|>\n' + m.content + '<|endoftext|>' }}{{ '<|assistant|>' }}", "Zephyr",
      "<|system|>\nS<|endoftext|>\n<|user|>\n Hi <|endoftext|>\n<|assistant|>\nYo<|endoftext|>\n<|user|>\nBye"
      "<|endoftext|>\n<|assistant|>\n");
}

void TestChatTemplate::families() {
  QFETCH(QString, text);
  QFETCH(QString, family);
  QFETCH(QString, prompt);
  std::vector<std::string> notices;
  const ChatTemplate chat = recogniseChatTemplate(text.toStdString(), {"<s>", "</s>"}, notices);
  QVERIFY(notices.empty());
  QCOMPARE(QString::fromStdString(std::string(chatFamilyName(chat.family))), family);
  const std::vector<ChatMessage> talk{{"system", "S"}, {"user", " Hi "}, {"assistant", "Yo"}, {"user", "Bye"}};
  QCOMPARE(QString::fromStdString(chat.render(talk)), prompt);
}

// Nor guessed: it holds the date.
void TestChatTemplate::aSystemMessageThatIsMadeIsNotSent() {
  constexpr const char* kText =
      "{%- set default_system_message = 'Today is ' + today %}{{- '[SYSTEM_PROMPT]' + system_message + "
      "'[/SYSTEM_PROMPT]' }}{{- '[INST]' + message['content'] + '[/INST]' }}";
  std::vector<std::string> notices;
  const ChatTemplate chat = recogniseChatTemplate(kText, {}, notices);
  QCOMPARE(notices.size(), 1U);
  QVERIFY2(notices[0].find("it is not sent") != std::string::npos, notices[0].c_str());
  QCOMPARE(chat.render(std::vector<ChatMessage>{{"user", "Hi"}}), std::string("[INST]Hi[/INST]"));
}

void TestChatTemplate::oneQuestion() {
  const std::vector<ChatMessage> question{{"user", "Hi"}};
  const auto prompt = [&](ChatFamily family) { return ChatTemplate{.family = family, .bos = "<s>"}.render(question); };
  QCOMPARE(prompt(ChatFamily::kPlain), std::string("Hi"));
  QCOMPARE(prompt(ChatFamily::kLlama2), std::string("[INST] Hi [/INST]"));
  QCOMPARE(prompt(ChatFamily::kMistral), std::string("[INST] Hi [/INST]"));
  QCOMPARE(prompt(ChatFamily::kLlama3), std::string("<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
                                                    "<|start_header_id|>assistant<|end_header_id|>\n\n"));
  QCOMPARE(prompt(ChatFamily::kZephyr), std::string("<|user|>\nHi</s>\n<|assistant|>\n"));
}

// What each family ends a reply with ends it, whatever the file names as its end of text.
void TestChatTemplate::endsOfReplies() {
  for (const char* end : {"<|im_end|>", "<|endoftext|>", "</s>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"})
    QVERIFY2(isEndOfTurnName(end), end);
  for (const char* other : {"<s>", "<|im_start|>", "[/INST]", "<|begin_of_text|>", "<|assistant|>", "im_end"})
    QVERIFY2(!isEndOfTurnName(other), other);
}

void TestChatTemplate::brokenNeverCrashes() {
  const std::string whole = kWithSystemEscaped;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    std::vector<std::string> notices;
    const ChatTemplate chat = recogniseChatTemplate(whole.substr(0, size), {}, notices);
    QCOMPARE(notices.empty(), chat.family == ChatFamily::kChatMl);
  }
}

QTEST_GUILESS_MAIN(TestChatTemplate)
#include "tst_chat_template.moc"
