// SPDX-License-Identifier: GPL-3.0-or-later
// Floors of whole phases, and models that are described by a config.json.
#include "core/model/hf_config.h"
#include "core/run/dry_run.h"
#include "core/run/phase_floor.h"
#include "tests/support/engines.h"
#include "tests/support/errors.h"

#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <fstream>

using namespace inferoscope;
using namespace inferoscope::core;
using namespace inferoscope::tests;

namespace {

MachineLimits limits(double gb_s, double tflop_s) {
  MachineLimits made;
  made.read_bytes_per_s = gb_s * 1e9;
  made.fp32_flop_per_s = made.int8_op_per_s = tflop_s * 1e12;
  return made;
}

kernels::OpCost sumOf(const std::vector<OpRecord>& ops) {
  kernels::OpCost sum;
  for (const OpRecord& op : ops) sum += op.cost;
  return sum;
}

// As they are published with the models.
const char* const kLlama = R"({"model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192,
  "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 128256,
  "max_position_embeddings": 131072, "rope_theta": 500000.0, "rms_norm_eps": 1e-05, "tie_word_embeddings": true,
  "torch_dtype": "bfloat16", "rope_scaling": {"factor": 32.0, "rope_type": "llama3"}})";
const char* const kQwen2 = R"({"model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864,
  "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151936,
  "max_position_embeddings": 32768, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
  "sliding_window": 32768, "use_sliding_window": false})";
const char* const kQwen3 = R"({"model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072,
  "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
  "max_position_embeddings": 40960, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
  "sliding_window": null})";
const char* const kMistral = R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336,
  "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000,
  "sliding_window": 4096, "torch_dtype": "bfloat16"})";

}  // namespace

class TestExplain : public QObject {
  Q_OBJECT

 private slots:
  // Known figures: an 8B model in fp16 at 1,024 tokens on 4.8 TB/s and 989 TFLOP/s.
  void floorsOfAKnownModel_data() {
    QTest::addColumn<int>("batch");
    QTest::addColumn<double>("milliseconds");
    QTest::addColumn<double>("tokens_per_s");
    QTest::newRow("1") << 1 << 3.16 << 317.0;
    QTest::newRow("8") << 8 << 3.35 << 2387.0;
    QTest::newRow("32") << 32 << 4.02 << 7955.0;
  }
  void floorsOfAKnownModel() {
    QFETCH(int, batch);
    QFETCH(double, milliseconds);
    QFETCH(double, tokens_per_s);
    const auto model = describeModel("synthetic:llama-3.1-8b:f16");
    const PhaseFloor floor = decodeFloor(*model, {}, limits(4800, 989), batch, 1024);
    // Those figures leave out the activations, which here are counted too.
    const double above = floor.work.floor_ns * 1e-6 / milliseconds;
    QVERIFY2(above > 0.998 && above < 1.05, qPrintable(QString::number(above)));
    QVERIFY(std::abs(floor.tokensPerSecond() * above / tokens_per_s - 1) < 0.002);
    QCOMPARE(floor.bound, Bound::kBandwidth);
    QCOMPARE(floor.num_passes, 1);
  }

  void batchingSharesTheWeightsOnly() {
    const auto model = describeModel("synthetic:smollm2-135m:q8_0");
    const PhaseFloor one = decodeFloor(*model, {}, limits(30, 0.4), 1, 500);
    const PhaseFloor eight = decodeFloor(*model, {}, limits(30, 0.4), 8, 500);
    QVERIFY(std::abs(one.bytesPerToken(ByteKind::kWeights) / eight.bytesPerToken(ByteKind::kWeights) - 8) < 0.01);
    QCOMPARE(one.bytesPerToken(ByteKind::kKvRead), eight.bytesPerToken(ByteKind::kKvRead));
    QCOMPARE(one.bytesPerToken(ByteKind::kKvRead), 501.0 * 23040);
    QCOMPARE(one.bytesPerToken(ByteKind::kScores), 0.0);
  }

  // Chunks read the weights again; the last one alone has logits.
  void prefillIsCutAsTheEngineCutsIt() {
    const auto model = describeModel("synthetic:tiny:q8_0");
    EngineOptions options;
    options.prefill_chunk = 100;
    const PhaseFloor chunks = prefillFloor(*model, options, limits(30, 0.4), 250);
    QCOMPARE(chunks.num_passes, 3);
    QCOMPARE(chunks.num_tokens, 250);
    const auto output = std::ranges::find(chunks.ops, std::string_view("output"), &PhaseFloor::OfOp::name);
    QCOMPARE(output->work.num_ops, 1);
    options.prefill_chunk = 0;
    const PhaseFloor whole = prefillFloor(*model, options, limits(30, 0.4), 250);
    QCOMPARE(whole.num_passes, 1);
    QCOMPARE(whole.work.cost.kv_write, chunks.work.cost.kv_write);
    QVERIFY(whole.work.cost.weights < chunks.work.cost.weights);
    options.step_tokens = 125;
    QCOMPARE(prefillFloor(*model, options, limits(30, 0.4), 250).num_passes, 2);
  }

  void opsAddUpAndTheLargestComesFirst() {
    const auto model = describeModel("synthetic:smollm2-135m:q8_0");
    const PhaseFloor floor = decodeFloor(*model, {}, limits(30, 0.4), 4, 100);
    OpWork sum;
    for (std::size_t i = 0; i < floor.ops.size(); ++i) {
      sum += floor.ops[i].work;
      if (i > 0) QVERIFY(floor.ops[i].work.floor_ns <= floor.ops[i - 1].work.floor_ns);
    }
    QCOMPARE(sum.cost, floor.work.cost);
    QCOMPARE(sum.num_ops, floor.work.num_ops);
    QVERIFY(std::abs(sum.floor_ns / floor.work.floor_ns - 1) < 1e-9);
    QCOMPARE(floor.ops.front().name, std::string_view("output"));
  }

  void withoutCeilingsThereIsNoFloor() {
    const PhaseFloor floor = decodeFloor(*describeModel("synthetic:tiny"), {}, {}, 1, 10);
    QCOMPARE(floor.work.floor_ns, 0.0);
    QCOMPARE(floor.tokensPerSecond(), 0.0);
    QCOMPARE(floor.bound, Bound::kUnknown);
    QVERIFY(floor.work.cost.bytes() > 0);
  }

  // ---- config.json

  void aConfigCostsWhatTheModelCosts_data() {
    QTest::addColumn<QByteArray>("config");
    QTest::addColumn<QString>("same_as");
    QTest::newRow("llama") << QByteArray(kLlama) << "synthetic:llama-3.2-1b:bf16";
    QTest::newRow("qwen2") << QByteArray(kQwen2) << "synthetic:qwen2.5-0.5b:bf16";
    QTest::newRow("qwen3") << QByteArray(kQwen3) << "synthetic:qwen3-0.6b:bf16";
  }
  void aConfigCostsWhatTheModelCosts() {
    QFETCH(QByteArray, config);
    QFETCH(QString, same_as);
    const auto described = describeHfConfig(written(config));
    const auto model = describeModel(same_as.toStdString());
    QCOMPARE(described->weight_bytes, model->weight_bytes);
    QVERIFY(described->notices.empty());
    for (const Batch& batch : {uniformBatch(3, 1, 700), uniformBatch(1, 200, 0)}) {
      QCOMPARE(sumOf(dryRun(*described, batch, {})), sumOf(dryRun(*model, batch, {})));
    }
  }

  void whatIsNotCountedIsSaid() {
    const auto model = describeHfConfig(written(kMistral));
    QCOMPARE(model->config.architecture, std::string("llama"));
    QCOMPARE(model->config.head_dim, 128);
    QVERIFY(!model->config.tied_embeddings);
    QCOMPARE(model->notices.size(), std::size_t{1});
    QVERIFY(model->notices[0].find("window of 4096") != std::string::npos);
  }

  void weightsInAnotherFormat() {
    const auto stored = describeHfConfig(written(kLlama));
    const auto q4_0 = describeHfConfig(written(kLlama), "q4_0");
    QVERIFY(std::abs(static_cast<double>(stored->weight_bytes) / static_cast<double>(q4_0->weight_bytes) - 16 / 4.5) <
            0.01);
    const auto q4_k = describeHfConfig(written(kQwen2), "q4_k");  // rows of 896 are no whole number of 256
    QCOMPARE(q4_k->notices.size(), std::size_t{1});
  }

  void refusals_data() {
    QTest::addColumn<QByteArray>("config");
    QTest::addColumn<QByteArray>("names");
    const auto without = [](QByteArray config, const char* from, const char* to) { return config.replace(from, to); };
    QTest::newRow("another kind") << without(kLlama, "\"llama\"", "\"gemma2\"") << QByteArray("model_type: \"gemma2\"");
    QTest::newRow("no size") << without(kLlama, "\"hidden_size\": 2048,", "") << QByteArray("hidden_size: is missing");
    QTest::newRow("negative") << without(kLlama, "\"num_hidden_layers\": 16", "\"num_hidden_layers\": -1")
                              << QByteArray("num_hidden_layers");
    QTest::newRow("text") << without(kLlama, "128256", "\"many\"") << QByteArray("vocab_size");
    QTest::newRow("heads") << without(kLlama, "\"num_key_value_heads\": 8", "\"num_key_value_heads\": 7")
                           << QByteArray("num_key_value_heads");
    QTest::newRow("dtype") << without(kLlama, "bfloat16", "int3") << QByteArray("torch_dtype");
    QTest::newRow("quantized") << without(kLlama, "\"rope_scaling\"", "\"quantization_config\"")
                               << QByteArray("quantization_config");
    QTest::newRow("no object") << QByteArray("[1, 2]") << QByteArray("not a JSON object");
    QTest::newRow("no JSON") << QByteArray("{\"model_type\": ") << QByteArray("not a JSON object");
  }
  void refusals() {
    QFETCH(QByteArray, config);
    QFETCH(QByteArray, names);
    const std::string message = errorOf([&] { (void)describeHfConfig(written(config)); });
    QVERIFY2(message.find(names.toStdString()) != std::string::npos, message.c_str());
    QVERIFY2(message.find("config.json: ") != std::string::npos, message.c_str());
  }

  void aMissingFile() {
    const std::string message = errorOf([] { (void)describeHfConfig("/nowhere/config.json"); });
    QVERIFY2(message.find("/nowhere/config.json: cannot be read") == 0, message.c_str());
  }

 private:
  std::string written(const QByteArray& config) {
    const std::string path = m_folder.filePath(QStringLiteral("config.json")).toStdString();
    std::ofstream(path) << config.toStdString();
    return path;
  }

  QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(TestExplain)
#include "tst_explain.moc"
