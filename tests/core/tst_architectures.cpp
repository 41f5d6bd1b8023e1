// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/data.h"
#include "tests/support/engines.h"
#include "tests/support/reference_model.h"
#include "tests/support/tiny_model.h"

#include <nlohmann/json.hpp>

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cmath>
#include <fstream>

using namespace inferoscope;
using namespace inferoscope::core;
using namespace inferoscope::tests;

namespace {

constexpr int kNumSteps = 8;

// Logits of these models lie between -10 and 10. With f32 weights and a cache of f32 only the order of sums differs.
constexpr double kExact = 5e-4;
// Activations rounded to 8 bits where the kernel takes them so: a whole-logit error would be a wrong term, not
// rounding.
constexpr double kRounded = 0.4;

EngineOptions optionsOf(const std::string& linear, const std::string& attention) {
  return with({{"linear", linear}, {"attention", attention}, {"kv-format", "f32"}, {"threads", "1"}});
}

Answer answerOf(const std::string& path, const std::vector<TokenId>& prompt, const EngineOptions& options) {
  const std::shared_ptr<Backend> backend = makeCpuBackend(1);
  Engine engine(loadOn(*backend, path), backend, options);
  engine.keepLogits(true);
  const Submitted submitted = engine.submit(ask(prompt, kNumSteps));
  if (!submitted.refusal.empty()) throw Error(submitted.refusal);
  return runAll(engine).at(submitted.seq);
}

// Between the last logits of an answer's tokens and the expected ones.
double worstDifference(std::span<const float> logits, const Vector& expected) {
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(logits[i]) - expected[i]));
  return worst;
}

// Fast pairs as they are, slow ones slower.
std::vector<float> someFactors() {
  std::vector<float> factors;
  for (int pair = 0; pair < 32; ++pair) factors.push_back(pair < 8 ? 1.0F : 0.5F + static_cast<float>(pair) / 8);
  return factors;
}

double deviation(const Vector& logits) {
  double sum = 0;
  for (const double x : logits) sum += x * x;
  return std::sqrt(sum / static_cast<double>(logits.size()));
}

}  // namespace

Q_DECLARE_METATYPE(TinyModel)

// Every architecture and kind of RoPE, every format, against the reference in double precision; and the models of
// data/architectures also against what an independent engine answered on the same files.
class TestArchitectures : public QObject {
  Q_OBJECT

 private slots:
  void independentEngineAgrees_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("linear");
    QTest::addColumn<QString>("attention");
    for (const char* name : {"llama", "llama_rope_factors", "llama_rope_linear", "qwen2", "qwen3"}) {
      for (const char* linear : {"simd", "naive"}) {
        for (const char* attention : {"flash", "naive"})
          QTest::addRow("%s %s %s", name, linear, attention) << name << linear << attention;
      }
    }
  }

  void independentEngineAgrees() {
    QFETCH(QString, name);
    QFETCH(QString, linear);
    QFETCH(QString, attention);
    const std::string file = name.toStdString(), path = dataPath("architectures/" + file + ".gguf");
    const auto all = nlohmann::json::parse(std::ifstream(dataPath("architectures/expected.json")));
    const auto prompt = all.at(file).at("prompt").get<std::vector<TokenId>>();
    const auto theirs = all.at(file).at("first_logits").get<Vector>();

    const Answer answer = answerOf(path, prompt, optionsOf(linear.toStdString(), attention.toStdString()));
    QCOMPARE(answer.tokens, all.at(file).at("greedy").get<std::vector<TokenId>>());
    QVERIFY(worstDifference(answer.logits, theirs) < kExact);
    QVERIFY(worstDifference(answer.logits, ReferenceModel(path).logits(prompt)) < kExact);
  }

  void referenceInDoublePrecisionAgrees_data() {
    QTest::addColumn<TinyModel>("model");
    const auto add = [](const char* what, const TinyModel& model) {
      QTest::addRow("%s %s", what, model.format.c_str()) << model;
    };
    for (const kernels::Format& format : kernels::formats()) {
      const std::string name(format.name);
      add("llama", {.format = name});
      add("qwen2", {.architecture = "qwen2", .format = name});
      add("qwen3", {.architecture = "qwen3", .format = name});
    }
    add("llama, own output", {.tied = false});
    add("llama, factors", {.rope_factors = someFactors()});
    add("llama, linear", {.linear_scaling = 8});
    add("llama, both", {.linear_scaling = 2, .rope_factors = someFactors()});
    add("qwen2, linear", {.architecture = "qwen2", .linear_scaling = 4});
    add("qwen3, wide heads", {.architecture = "qwen3", .head_dim = 128});
  }

  // Rows of formats that round activations are compared less closely with the fast kernel, closely with the naive one.
  void referenceInDoublePrecisionAgrees() {
    QFETCH(TinyModel, model);
    QTemporaryDir folder;
    const std::string path = folder.filePath("tiny.gguf").toStdString();
    writeTinyModel(model, path);
    const std::vector<TokenId> prompt = someIds(40, 3, kTinyModelTokens);
    const ReferenceModel reference(path);
    const Vector first = reference.logits(prompt);
    QVERIFY(deviation(first) > 1);

    for (const char* linear : {"naive", "simd"}) {
      const bool is_plain = kernels::findFormat(model.format)->block_elems == 1;
      const double tolerance = is_plain || std::string_view(linear) == "naive" ? kExact : kRounded;
      const Answer answer = answerOf(path, prompt, optionsOf(linear, "flash"));
      const double at_first = worstDifference(answer.logits, first);
      QVERIFY2(at_first < tolerance, qPrintable(QString("%1: %2 after the prompt").arg(linear).arg(at_first)));

      // The last step too: its tokens went through the cache one by one.
      std::vector<TokenId> ids = prompt;
      ids.insert(ids.end(), answer.tokens.begin(), answer.tokens.end() - 1);
      const std::size_t vocab = first.size();
      const double at_last =
          worstDifference(std::span(answer.logits).subspan((kNumSteps - 1) * vocab, vocab), reference.logits(ids));
      QVERIFY2(at_last < tolerance, qPrintable(QString("%1: %2 at the end").arg(linear).arg(at_last)));
    }
  }

  // Leaving out what an architecture adds gives quite another answer, so that the tests above would notice.
  void everyTermMatters_data() {
    QTest::addColumn<TinyModel>("model");
    QTest::addColumn<QString>("part");
    const TinyModel factors{.rope_factors = someFactors()};
    QTest::newRow("factors") << factors << "rope_freqs";
    for (const char* part : {"attn_q.bias", "attn_v.bias"})
      QTest::newRow(part) << TinyModel{.architecture = "qwen2"} << part;
    for (const char* part : {"attn_q_norm", "attn_k_norm"})
      QTest::newRow(part) << TinyModel{.architecture = "qwen3"} << part;
  }

  void everyTermMatters() {
    QFETCH(TinyModel, model);
    QFETCH(QString, part);
    QTemporaryDir folder;
    const std::string path = folder.filePath("tiny.gguf").toStdString();
    writeTinyModel(model, path);
    const std::vector<TokenId> prompt = someIds(40, 3, kTinyModelTokens);
    ReferenceModel reference(path);
    const Vector whole = reference.logits(prompt);
    reference.forget(part.toStdString());
    const Vector without = reference.logits(prompt);
    double worst = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) worst = std::max(worst, std::abs(whole[i] - without[i]));
    QVERIFY2(worst > 2 * kRounded, qPrintable(QString::number(worst)));
  }
};

QTEST_GUILESS_MAIN(TestArchitectures)
#include "tst_architectures.moc"
