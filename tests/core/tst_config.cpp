// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/model_store.h"

#include "core/model/gguf.h"
#include "tests/support/data.h"
#include "tests/support/errors.h"
#include "tests/support/gguf_patch.h"
#include "tests/support/host_backend.h"

#include <QTemporaryDir>
#include <QTest>
#include <functional>

using namespace inferoscope;
using namespace inferoscope::core;
using tests::dataPath;
using tests::errorOf;
using tests::GgufPatch;

using Change = std::function<void(GgufPatch&)>;
Q_DECLARE_METATYPE(Change)

// What a model may ask for that we can't do is refused by name; what is only odd is noticed.
class TestConfig : public QObject {
  Q_OBJECT

 private slots:
  void refused_data();
  void refused();
  void describedThoughRefused_data();
  void describedThoughRefused();
  void unknownInEveryWay();
  void linearRopeScaling_data();
  void linearRopeScaling();
  void noticed_data();
  void noticed();
  void headsOfTheirOwnSize();
  void fewerTokensThanRows();
  void normsInOtherFormats();

 private:
  std::string patched(const char* file, const Change& change) const {
    GgufPatch patch(dataPath(file));
    change(patch);
    const std::string path = m_folder.filePath("patched.gguf").toStdString();
    patch.write(path);
    return path;
  }
  QTemporaryDir m_folder;
};

void TestConfig::refused_data() {
  QTest::addColumn<Change>("change");
  QTest::addColumn<QString>("message");
  const auto add = [](const char* message, Change change) { QTest::newRow(message) << change << message; };
  add("architecture \"gemma3\" is not supported", [](GgufPatch& p) { p.renamed("llama", "gemma3"); });
  add("key llama.rope.scaling.type: RoPE scaling \"yarn\" is not supported",
      [](GgufPatch& p) { p.withText("llama.rope.scaling.type", "yarn"); });
  add("key llama.rope.scaling.factor: is 0; it must be above 0",
      [](GgufPatch& p) { p.withUint32("llama.rope.scaling.factor", 0); });
  add("tensor rope_freqs.weight: has the value 0; it must be above 0",
      [](GgufPatch& p) { p.renamed("zzz.weight", "rope_freqs.weight"); });
  add("tensor blk.0.attn_q.bias: biases", [](GgufPatch& p) { p.renamed("zzz.weight", "blk.0.attn_q.bias"); });
  add("tensor blk.0.attn_q_norm.weight: biases and norms",
      [](GgufPatch& p) { p.renamed("zzz.weight", "blk.0.attn_q_norm.weight"); });
  add("mixtures of experts are not supported", [](GgufPatch& p) { p.withUint32("llama.expert_count", 8); });
  add("tokenizer \"bert\" is not supported (gpt2 and llama are)", [](GgufPatch& p) { p.renamed("gpt2", "bert"); });
  add("key tokenizer.ggml.scores: is missing", [](GgufPatch& p) { p.renamed("gpt2", "llama"); });
  add("key tokenizer.ggml.eot_token_id: token 280 is not one of the 280 tokens",
      [](GgufPatch& p) { p.withUint32("tokenizer.ggml.eot_token_id", 280); });
  add("key llama.attention.value_length: is 16 where keys have 8",
      [](GgufPatch& p) { p.withUint32("llama.attention.value_length", 16); });
  add("tensor blk.0.attn_q.weight: has the shape [32, 32], but this model needs [32, 64]", [](GgufPatch& p) {
    p.withUint32("llama.attention.key_length", 16).withUint32("llama.attention.value_length", 16);
  });
  add("key llama.attention.key_length: is 5000; it must be from 1",
      [](GgufPatch& p) { p.withUint32("llama.attention.key_length", 5000); });
  add("key llama.context_length: is missing", [](GgufPatch& p) { p.renamed("llama.context_length", "llama.other"); });
  add("key tokenizer.ggml.merges: is missing", [](GgufPatch& p) { p.renamed("tokenizer.ggml.merges", "other"); });
  add("key tokenizer.ggml.model: is missing", [](GgufPatch& p) { p.renamed("tokenizer.ggml.model", "other"); });
  add("key general.architecture: is missing", [](GgufPatch& p) { p.renamed("general.architecture", "other"); });
}

void TestConfig::refused() {
  QFETCH(Change, change);
  QFETCH(QString, message);
  const std::string path = patched("cases/a19_extra_tensor.gguf", change);
  tests::HostBackend backend;
  const QString error = QString::fromStdString(errorOf([&] { loadModel(path, backend, {}, {}); }));
  QVERIFY2(error.contains(message), qPrintable(error));
}

// What is sound but can't be run is described all the same, and says why.
void TestConfig::describedThoughRefused_data() {
  QTest::addColumn<Change>("change");
  QTest::addColumn<QString>("message");
  const auto add = [](const char* message, Change change) { QTest::newRow(message) << change << message; };
  add("architecture \"gemma3\" is not supported (llama, qwen2, qwen3 are)",
      [](GgufPatch& p) { p.renamed("llama", "gemma3"); });
  add("RoPE scaling \"yarn\" is not supported", [](GgufPatch& p) { p.withText("llama.rope.scaling.type", "yarn"); });
  add("mixtures of experts are not supported", [](GgufPatch& p) { p.withUint32("llama.expert_count", 8); });
}

void TestConfig::describedThoughRefused() {
  QFETCH(Change, change);
  QFETCH(QString, message);
  const auto model = describeModel(patched("valid/valid_tiny.gguf", change));
  QVERIFY2(QString::fromStdString(model->notices.at(0)).contains(message), model->notices[0].c_str());
  QCOMPARE(model->config.vocab_size, 280);
  QCOMPARE(model->weight_bytes, 49280);
  QCOMPARE(model->tokenizer->numTokens(), 280);
}

void TestConfig::unknownInEveryWay() {
  const auto model = describeModel(
      patched("valid/valid_tiny.gguf", [](GgufPatch& p) { p.renamed("llama", "bert").renamed("gpt2", "wordpiece"); }));
  QVERIFY(!model->tokenizer);
  QCOMPARE(model->config.num_layers, 0);  // its keys are those of llama
  QVERIFY(model->notices.back().find("tokenizer \"wordpiece\" is not supported") != std::string::npos);
  QCOMPARE(kvBytesPerToken(model->config, "f16"), 0);
}

// The linear factor has an older name, and a type may turn it off. Frequencies fall by it.
void TestConfig::linearRopeScaling_data() {
  QTest::addColumn<Change>("change");
  QTest::addColumn<double>("first_frequency");
  const auto add = [](const char* name, double frequency, Change change) {
    QTest::newRow(name) << change << frequency;
  };
  add("linear", 0.25,
      [](GgufPatch& p) { p.withText("llama.rope.scaling.type", "linear").withUint32("llama.rope.scaling.factor", 4); });
  add("no type", 0.5, [](GgufPatch& p) { p.withUint32("llama.rope.scaling.factor", 2); });
  add("older name", 0.5, [](GgufPatch& p) { p.withUint32("llama.rope.scale_linear", 2); });
  add("none", 1.0,
      [](GgufPatch& p) { p.withText("llama.rope.scaling.type", "none").withUint32("llama.rope.scaling.factor", 2); });
}

void TestConfig::linearRopeScaling() {
  QFETCH(Change, change);
  QFETCH(double, first_frequency);
  QCOMPARE(describeModel(patched("valid/valid_tiny.gguf", change))->inv_freq.at(0), first_frequency);
}

void TestConfig::noticed_data() {
  QTest::addColumn<Change>("change");
  QTest::addColumn<QString>("message");
  const auto add = [](const char* message, Change change) { QTest::newRow(message) << change << message; };
  add("the pre-split rule \"tekken\" is unknown", [](GgufPatch& p) { p.renamed("gpt-2", "tekken"); });
  add("the file names no pre-split rule", [](GgufPatch& p) { p.renamed("tokenizer.ggml.pre", "other"); });
  add("1 merges of the tokenizer name tokens", [](GgufPatch& p) { p.renamed("hell o", "hell oo"); });
}

void TestConfig::noticed() {
  QFETCH(Change, change);
  QFETCH(QString, message);
  const auto model = describeModel(patched("valid/valid_tiny.gguf", change));
  QCOMPARE(model->notices.size(), 1U);
  QVERIFY2(QString::fromStdString(model->notices[0]).contains(message), model->notices[0].c_str());
}

void TestConfig::headsOfTheirOwnSize() {
  const auto change = [](GgufPatch& p) { p.withUint32("llama.attention.key_length", 8); };
  QCOMPARE(describeModel(patched("valid/valid_tiny.gguf", change))->config.head_dim, 8);
}

// The last token is cut off the lists; the embedding keeps its 280 rows.
void TestConfig::fewerTokensThanRows() {
  const auto change = [](GgufPatch& p) {
    const std::string last_token = GgufPatch::text("<|im_end|>");
    p.replaced(last_token + GgufPatch::text("tokenizer.ggml.token_type"), GgufPatch::text("tokenizer.ggml.token_type"));
    p.replaced(GgufPatch::number(3) + GgufPatch::text("tokenizer.ggml.merges"),
               GgufPatch::text("tokenizer.ggml.merges"));
    for (int i = 0; i < 2; ++i)
      p.replaced(GgufPatch::number(280) + GgufPatch::number(0), GgufPatch::number(279) + GgufPatch::number(0));
  };
  const auto model = describeModel(patched("valid/valid_tiny.gguf", change));
  QCOMPARE(model->config.num_tokens, 279);
  QCOMPARE(model->config.vocab_size, 280);
}

void TestConfig::normsInOtherFormats() {
  const std::string name = GgufPatch::text("output_norm.weight") + GgufPatch::number(1);
  const std::string dim = GgufPatch::number(32) + GgufPatch::number(0);
  const std::string path = patched("valid/valid_tiny.gguf", [&](GgufPatch& p) {
    p.replaced(name + dim + GgufPatch::number(0), name + dim + GgufPatch::number(1));
  });
  tests::HostBackend backend;
  const auto model = loadModel(path, backend, {}, {});
  const GgufFile file = GgufFile::open(path);
  const GgufTensor& tensor = *file.findTensor("output_norm.weight");
  QVERIFY(tensor.format == kernels::findFormat("f16")->id);
  std::vector<std::byte> stored(64);
  file.read(tensor, 0, stored);
  std::vector<float> expected(32);
  kernels::formatOf(tensor.format).decode(stored.data(), expected.data(), 32);
  QVERIFY(std::memcmp(expected.data(), model->output_norm, 32 * sizeof(float)) == 0);
}

QTEST_GUILESS_MAIN(TestConfig)
#include "tst_config.moc"
