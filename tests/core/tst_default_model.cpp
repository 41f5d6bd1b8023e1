// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/model_store.h"
#include "tests/support/data.h"

#include <QTest>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace inferoscope::core;
using inferoscope::tests::dataPath;
using nlohmann::json;

// The description of the default model, against what an independent engine made of the same file. Skipped without it.
class TestDefaultModel : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void configuration();
  void prompts();

 private:
  std::shared_ptr<const Model> m_model;
};

void TestDefaultModel::initTestCase() {
  if (!std::filesystem::exists(defaultModelPath())) QSKIP("the default model is not there");
  m_model = describeModel("default");
}

void TestDefaultModel::configuration() {
  const ModelConfig& c = m_model->config;
  QCOMPARE((std::vector{c.num_layers, c.model_dim, c.hidden_dim, c.num_heads, c.num_kv_heads, c.head_dim}),
           (std::vector{30, 576, 1536, 9, 3, 64}));
  QCOMPARE((std::vector{c.vocab_size, c.num_tokens, c.context_length}), (std::vector{49152, 49152, 8192}));
  QVERIFY(c.tied_embeddings);
  QVERIFY(m_model->notices.empty());
  QVERIFY(m_model->tokenizer->preTokenizer() == "smollm");
  QVERIFY(m_model->chat.default_system.ends_with("trained by Hugging Face"));
}

void TestDefaultModel::prompts() {
  const json reference = json::parse(std::ifstream(dataPath("reference/smollm2_135m_q4_1.json")));
  for (const json& prompt : reference["prompts"]) {
    const auto rendered = prompt["rendered"].get<std::string>();
    if (prompt.contains("messages")) {
      std::vector<ChatMessage> messages;
      for (const json& m : prompt["messages"]) messages.push_back({m["role"], m["content"]});
      QCOMPARE(m_model->chat.render(messages), rendered);
    }
    const std::vector<TokenId> ids = m_model->tokenizer->encode(rendered);
    QVERIFY(ids == prompt["prompt_ids"].get<std::vector<TokenId>>());
    QCOMPARE(m_model->tokenizer->decode(ids, true), rendered);
  }
}

QTEST_GUILESS_MAIN(TestDefaultModel)
#include "tst_default_model.moc"
