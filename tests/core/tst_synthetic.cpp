// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/synthetic.h"

#include "tests/support/errors.h"
#include "tests/support/host_backend.h"

#include <QTest>
#include <cmath>
#include <set>

using namespace inferoscope;
using namespace inferoscope::core;
using tests::errorOf;

namespace {

std::vector<float> values(const kernels::WeightMatrix& w) {
  const std::int64_t num_elems = std::int64_t{w.num_rows} * w.num_cols;
  std::vector<float> out(static_cast<std::size_t>(num_elems));
  kernels::formatOf(w.format).decode(w.data, out.data(), num_elems);
  return out;
}

double deviation(const std::vector<float>& numbers) {
  double sum = 0;
  for (const float x : numbers) sum += double{x} * x;
  return std::sqrt(sum / static_cast<double>(numbers.size()));
}

}  // namespace

class TestSynthetic : public QObject {
  Q_OBJECT

 private slots:
  void trueShapes_data();
  void trueShapes();
  void everyFormat_data();
  void everyFormat();
  void matricesThatNeedAnotherFormat();
  void weightsAreSane();
  void vectorsAreRandom();
  void sameEveryTime();
  void labelled();
  void unknownNamesAreRefused();
  void tokenizer();
};

void TestSynthetic::trueShapes_data() {
  QTest::addColumn<qint64>("num_params");
  QTest::addColumn<qint64>("f16_kv_bytes");
  QTest::newRow("smollm2-135m") << qint64{134515008} << qint64{2 * 30 * 3 * 64 * 2};
  QTest::newRow("qwen2.5-0.5b") << qint64{494032768} << qint64{2 * 24 * 2 * 64 * 2};
  QTest::newRow("qwen3-0.6b") << qint64{596049920} << qint64{2 * 28 * 8 * 128 * 2};
  QTest::newRow("llama-3.2-1b") << qint64{1235814400} << qint64{2 * 16 * 8 * 64 * 2};
  QTest::newRow("llama-3.1-8b") << qint64{8030261248} << qint64{2 * 32 * 8 * 128 * 2};
}

// The numbers of parameters that the models' publishers name.
void TestSynthetic::trueShapes() {
  QFETCH(qint64, num_params);
  QFETCH(qint64, f16_kv_bytes);
  const auto model = describeModel(std::string("synthetic:") + QTest::currentDataTag());
  QCOMPARE(model->format_bytes.at("f16") / 2 + model->format_bytes.at("f32") / 4, num_params);
  QCOMPARE(kvBytesPerToken(model->config, "f16"), f16_kv_bytes);
}

void TestSynthetic::everyFormat_data() {
  QTest::addColumn<QString>("format");
  for (const kernels::Format& format : kernels::formats()) {
    const QString name = QString::fromUtf8(format.name.data(), static_cast<qsizetype>(format.name.size()));
    QTest::newRow(qPrintable(name)) << name;
  }
}

// The tiny model's rows of 64 and 192 elements hold no K-formats, which other ones then stand in for.
void TestSynthetic::everyFormat() {
  QFETCH(QString, format);
  tests::HostBackend backend;
  const auto model = loadModel("synthetic:tiny:" + format.toStdString(), backend, {}, {});
  const kernels::WeightMatrix& matrix = model->layers[1].ffn_down;
  const kernels::Format& wanted = *kernels::findFormat(format.toStdString());
  const bool holds = 64 % wanted.block_elems == 0;
  QCOMPARE(matrix.format == wanted.id, holds);
  QCOMPARE(model->notices.size(), holds ? 1U : 2U);
  QVERIFY(std::abs(deviation(values(matrix)) * std::sqrt(192.0) - 1.0) < 0.1);
}

void TestSynthetic::matricesThatNeedAnotherFormat() {
  QCOMPARE(describeModel("synthetic:tiny:q4_k")->notices.at(1),
           std::string("15 of 15 matrices are q4_1, since their rows do not divide into q4_k blocks of 256: "
                       "token_embd.weight, blk.*.attn_q.weight, blk.*.attn_k.weight, blk.*.attn_v.weight, "
                       "blk.*.attn_output.weight, blk.*.ffn_gate.weight, blk.*.ffn_up.weight, blk.*.ffn_down.weight"));
  const auto small = describeModel("synthetic:smollm2-135m:q6_k");
  QVERIFY(small->layers[29].ffn_down.format == kernels::findFormat("q6_k")->id);  // rows of 1536
  QVERIFY(small->layers[29].ffn_up.format == kernels::findFormat("q8_0")->id);    // rows of 576
  QCOMPARE(describeModel("synthetic:llama-3.2-1b:q4_k")->notices.size(), 1U);
}

void TestSynthetic::weightsAreSane() {
  tests::HostBackend backend;
  const auto model = loadModel("synthetic:tiny", backend, {}, {});
  QVERIFY(model->output.data == model->token_embedding.data);
  const std::vector<float> embedding = values(model->token_embedding);
  std::set<std::vector<float>> rows;
  for (auto row = embedding.begin(); row != embedding.end(); row += 64) rows.insert(std::vector(row, row + 64));
  QCOMPARE(rows.size(), 512U);
  QVERIFY(values(model->layers[0].attn_q) != values(model->layers[1].attn_q));
}

// Norms about 1 and biases about 0, each vector its own: one that is left out changes what the model says.
void TestSynthetic::vectorsAreRandom() {
  tests::HostBackend backend;
  const auto qwen2 = loadModel("synthetic:tiny-qwen2", backend, {}, {});
  const auto qwen3 = loadModel("synthetic:tiny-qwen3", backend, {}, {});
  const auto check = [](const float* vector, const float* other, int size, float mean) {
    const std::vector<float> values(vector, vector + size);
    float sum = 0;
    for (const float x : values) sum += x;
    QVERIFY(std::abs(sum / static_cast<float>(size) - mean) < 0.15F);
    QVERIFY(std::ranges::max(values) > mean + 0.2F && std::ranges::min(values) < mean - 0.2F);
    QVERIFY(!std::ranges::equal(values, std::span(other, values.size())));
  };
  check(qwen2->output_norm, qwen2->layers[0].attn_norm, 64, 1);
  check(qwen2->layers[0].attn_q_bias, qwen2->layers[1].attn_q_bias, 64, 0);
  check(qwen2->layers[0].attn_k_bias, qwen2->layers[0].attn_v_bias, 32, 0);
  check(qwen3->layers[0].attn_q_norm, qwen3->layers[0].attn_k_norm, 32, 1);
}

void TestSynthetic::sameEveryTime() {
  tests::HostBackend backend;
  const auto first = loadModel("synthetic:tiny:q8_0", backend, {}, {});
  const auto second = loadModel("synthetic:tiny:q8_0", backend, {}, {});
  QVERIFY(std::ranges::equal(std::span(first->memory[0]->data(), first->memory[0]->bytes()),
                             std::span(second->memory[0]->data(), second->memory[0]->bytes())));
}

void TestSynthetic::labelled() {
  const auto model = describeModel("synthetic:tiny");
  QVERIFY(model->config.random_weights);
  QVERIFY(model->notices.at(0).starts_with("random weights: "));
}

void TestSynthetic::unknownNamesAreRefused() {
  QCOMPARE(
      errorOf([] { describeModel("synthetic:gpt-5"); }),
      std::string(
          "synthetic:gpt-5: there is no synthetic model of that name; there are tiny, tiny-64, tiny-qwen2, tiny-qwen3, "
          "smollm2-135m, qwen2.5-0.5b, qwen3-0.6b, llama-3.2-1b, llama-3.1-8b"));
  QVERIFY(errorOf([] { describeModel("synthetic:tiny:q7"); }).find("there is no format of that name; there are f32") !=
          std::string::npos);
}

void TestSynthetic::tokenizer() {
  const auto tokenizer = describeModel("synthetic:tiny")->tokenizer;
  const std::string text = "h\xC3\xA9<|im_end|>";
  QVERIFY(tokenizer->encode(text) == (std::vector<TokenId>{'h', 0xC3, 0xA9, 258}));
  QCOMPARE(tokenizer->encode(text, {.parse_special = false}).size(), text.size());
  QCOMPARE(tokenizer->decode(tokenizer->encode(text), true), text);
  QVERIFY(tokenizer->isEndOfTurn(258) && !tokenizer->isEndOfTurn(257) && !tokenizer->isEndOfTurn(300));
  std::set<std::string> words;
  const auto large = describeModel("synthetic:llama-3.2-1b")->tokenizer;
  for (TokenId id = 0; id < large->numTokens(); ++id) words.insert(large->bytes(id, true));
  QCOMPARE(words.size(), 128256U);
  QCOMPARE(large->bytes(128256), std::string());
}

QTEST_GUILESS_MAIN(TestSynthetic)
#include "tst_synthetic.moc"
