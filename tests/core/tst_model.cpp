// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/model_store.h"

#include "core/model/gguf.h"
#include "tests/support/data.h"
#include "tests/support/errors.h"
#include "tests/support/host_backend.h"

#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <filesystem>

using namespace inferoscope;
using namespace inferoscope::core;
using tests::dataPath;
using tests::errorOf;

namespace {

std::shared_ptr<const Model> load(Backend& backend, const char* file) {
  return loadModel(dataPath(file), backend, {}, {});
}

bool holds(const GgufFile& file, const char* name, const kernels::WeightMatrix& matrix) {
  const GgufTensor& tensor = *file.findTensor(name);
  std::vector<std::byte> stored(static_cast<std::size_t>(tensor.bytes));
  file.read(tensor, 0, stored);
  return matrix.format == tensor.format && tensor.dims == std::vector<std::int64_t>{matrix.num_cols, matrix.num_rows} &&
         std::memcmp(stored.data(), matrix.data, stored.size()) == 0;
}

}  // namespace

class TestModel : public QObject {
  Q_OBJECT

 private slots:
  void config();
  void defaults();
  void weightsAreThoseOfTheFile();
  void tiedEmbeddingsCountOnce();
  void describeHoldsNoMemory();
  void rotaryFrequencies();
  void progressAndStop();
  void memoryReturns();
  void kvBytes();
  void whereModelsLive();
};

void TestModel::config() {
  tests::HostBackend backend;
  const ModelConfig c = load(backend, "valid/valid_tiny.gguf")->config;
  QCOMPARE(c.architecture, std::string("llama"));
  QCOMPARE(c.name, std::string("tiny"));
  QCOMPARE((std::vector{c.num_layers, c.model_dim, c.hidden_dim, c.num_heads, c.num_kv_heads, c.head_dim}),
           (std::vector{2, 32, 48, 4, 2, 8}));
  QCOMPARE((std::vector{c.vocab_size, c.num_tokens, c.context_length, c.rope_dim}), (std::vector{280, 280, 128, 8}));
  QVERIFY(c.tied_embeddings && !c.random_weights);
  QCOMPARE(c.norm_epsilon, 1e-5F);
}

void TestModel::defaults() {
  QCOMPARE(describeModel(dataPath("valid/valid_kv_heads_array.gguf"))->config.num_kv_heads, 2);
  QCOMPARE(describeModel(dataPath("valid/valid_no_kv_heads_mha.gguf"))->config.num_kv_heads, 4);
  const ModelConfig c = describeModel(dataPath("valid/valid_rope_defaults.gguf"))->config;
  QCOMPARE(c.rope_dim, c.head_dim);
  QCOMPARE(c.rope_freq_base, 10000.0);
}

void TestModel::weightsAreThoseOfTheFile() {
  for (const char* name : {"valid/valid_tiny.gguf", "valid/valid_align64.gguf", "valid/valid_q4_0.gguf",
                           "valid/valid_q8_0_untied.gguf", "valid/split-00002-of-00002.gguf"}) {
    tests::HostBackend backend;
    const auto model = load(backend, name);
    const GgufFile file = GgufFile::open(dataPath(name));
    QVERIFY(holds(file, "token_embd.weight", model->token_embedding));
    if (!model->config.tied_embeddings) QVERIFY(holds(file, "output.weight", model->output));
    for (std::size_t i = 0; i < 2; ++i) {
      const LayerWeights& layer = model->layers[i];
      const auto tensor = [&](const char* part) { return "blk." + std::to_string(i) + "." + part + ".weight"; };
      QVERIFY(holds(file, tensor("attn_q").c_str(), layer.attn_q));
      QVERIFY(holds(file, tensor("attn_k").c_str(), layer.attn_k));
      QVERIFY(holds(file, tensor("attn_v").c_str(), layer.attn_v));
      QVERIFY(holds(file, tensor("attn_output").c_str(), layer.attn_output));
      QVERIFY(holds(file, tensor("ffn_gate").c_str(), layer.ffn_gate));
      QVERIFY(holds(file, tensor("ffn_up").c_str(), layer.ffn_up));
      QVERIFY(holds(file, tensor("ffn_down").c_str(), layer.ffn_down));
      const GgufTensor& norm = *file.findTensor(tensor("ffn_norm"));
      std::vector<float> values(32);
      file.read(norm, 0, std::as_writable_bytes(std::span(values)));
      QVERIFY(std::ranges::equal(values, std::span(layer.ffn_norm, 32)));
    }
    const auto* base = model->memory[0]->data();
    QCOMPARE((reinterpret_cast<const std::byte*>(model->layers[1].ffn_norm) - base) % 64, 0);
  }
}

void TestModel::tiedEmbeddingsCountOnce() {
  const auto tied = describeModel(dataPath("valid/valid_tiny.gguf"));
  QVERIFY(tied->output.num_rows == 280 && tied->output.num_cols == 32);
  QCOMPARE(tied->weight_bytes, 49280);  // all tensor data of the file
  QCOMPARE(tied->format_bytes.at("f16") + tied->format_bytes.at("f32"), tied->weight_bytes);
  QCOMPARE(tied->format_bytes.at("f32"), 5 * 32 * 4);

  tests::HostBackend backend;
  const auto loaded = load(backend, "valid/valid_tiny.gguf");
  QVERIFY(loaded->output.data == loaded->token_embedding.data);
  QVERIFY(backend.heldBytes() < 49280 + 64 * 20);
}

void TestModel::describeHoldsNoMemory() {
  const auto model = describeModel(dataPath("valid/valid_tiny.gguf"));
  QVERIFY(model->memory.empty() && !model->token_embedding.data && !model->output_norm);
  QCOMPARE(model->tokenizer->numTokens(), 280);
}

void TestModel::rotaryFrequencies() {
  const auto model = describeModel(dataPath("valid/valid_tiny.gguf"));
  QCOMPARE(model->inv_freq.size(), 4U);
  QCOMPARE(model->inv_freq[0], 1.0);
  QVERIFY(std::abs(model->inv_freq[1] - 0.1) < 1e-15 && std::abs(model->inv_freq[3] - 0.001) < 1e-15);
}

void TestModel::progressAndStop() {
  tests::HostBackend backend;
  double last = -1.0;
  bool rises = true;
  loadModel(dataPath("valid/valid_tiny.gguf"), backend,
            [&](std::string_view, double fraction) {
              rises = rises && fraction >= last;
              last = fraction;
            },
            {});
  QVERIFY(rises);
  QCOMPARE(last, 1.0);

  for (const std::string& source : {dataPath("valid/valid_tiny.gguf"), std::string("synthetic:tiny")}) {
    std::stop_source stop;
    const auto stop_half_way = [&](std::string_view, double fraction) {
      if (fraction > 0.5) stop.request_stop();
    };
    QVERIFY_EXCEPTION_THROWN(loadModel(source, backend, stop_half_way, stop.get_token()), Cancelled);
    QCOMPARE(backend.heldBytes(), 0U);
  }
}

void TestModel::memoryReturns() {
  tests::HostBackend backend;
  auto model = load(backend, "valid/valid_tiny.gguf");
  QVERIFY(backend.heldBytes() > 0);
  model.reset();
  QCOMPARE(backend.heldBytes(), 0U);
}

void TestModel::kvBytes() {
  const ModelConfig tiny = describeModel(dataPath("valid/valid_tiny.gguf"))->config;
  QCOMPARE(kvBytesPerToken(tiny, "f16"), 2 * 2 * 2 * 8 * 2);  // keys and values, layers, heads, elements, bytes
  QCOMPARE(kvBytesPerToken(tiny, "f32"), 2 * 2 * 2 * 8 * 4);
  QVERIFY(errorOf([&] { kvBytesPerToken(tiny, "q8_0"); }).find("8 elements") != std::string::npos);
  QVERIFY(errorOf([&] { kvBytesPerToken(tiny, "q9"); }).find("no format \"q9\"") != std::string::npos);
  const ModelConfig one_head = describeModel(dataPath("valid/valid_hd32_mqa.gguf"))->config;
  QCOMPARE(kvBytesPerToken(one_head, "q8_0"), 2 * one_head.num_layers * 34);
}

void TestModel::whereModelsLive() {
  const QTemporaryDir data;
  qputenv("XDG_DATA_HOME", data.path().toUtf8());
  QCOMPARE(modelFolder().string(), data.path().toStdString() + "/inferoscope/models");
  QCOMPARE(startupModel(), std::string(kFallbackModel));
  QVERIFY(errorOf([] { describeModel("default"); }).find(defaultModelPath().string()) == 0);

  std::filesystem::create_directories(modelFolder());
  std::filesystem::copy_file(dataPath("valid/valid_tiny.gguf"), defaultModelPath());
  QCOMPARE(startupModel(), std::string("default"));
  QCOMPARE(describeModel("default")->source, defaultModelPath().string());

  qputenv("XDG_DATA_HOME", "not/absolute");
  qputenv("HOME", "/x");
  QCOMPARE(modelFolder().string(), std::string("/x/.local/share/inferoscope/models"));
}

QTEST_GUILESS_MAIN(TestModel)
#include "tst_model.moc"
