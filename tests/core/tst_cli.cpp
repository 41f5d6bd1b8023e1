// SPDX-License-Identifier: GPL-3.0-or-later
// The command line as scripts see it: exit codes, JSON fields, one line a mistake.
#include "core/engine/knobs.h"
#include "tests/support/data.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <unistd.h>

#include <cmath>

using namespace inferoscope;

namespace {

struct Outcome {
  int code = -1;  // -1: it crashed or did not end
  QByteArray out;
  QByteArray err;

  QJsonObject json() const { return QJsonDocument::fromJson(out).object(); }
  QString errorLine() const { return QString::fromUtf8(err).trimmed(); }
};

Outcome run(const QStringList& arguments, const QString& stdout_file = {}, void (*before_exec)() = nullptr) {
  QProcess process;
  if (before_exec != nullptr) process.setChildProcessModifier(before_exec);
  if (!stdout_file.isEmpty()) process.setStandardOutputFile(stdout_file);
  process.start(INFEROSCOPE_BINARY_DIR "/inferoscope-cli", arguments);
  if (!process.waitForFinished(120000) || process.exitStatus() != QProcess::NormalExit) return {};
  return {process.exitCode(), process.readAllStandardOutput(), process.readAllStandardError()};
}

// Root may read everything.
void asNobody() {
  if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
}

QString data(const char* name) {
  return QString::fromStdString(tests::dataPath(name));
}

QString str(std::string_view text) {
  return QString::fromUtf8(text.data(), qsizetype(text.size()));
}

const QString kTiny = "synthetic:tiny";

void write(const QString& path, const QByteArray& text) {
  QFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size()) qFatal("cannot write %s", qPrintable(path));
}

}  // namespace

#define VERIFY_DONE(outcome) QVERIFY2((outcome).code == 0 && (outcome).err.isEmpty(), (outcome).err.constData())

// Refused with one line on standard error, and nothing on standard output.
#define VERIFY_REFUSED(outcome)                                                       \
  QVERIFY2((outcome).code > 0 && (outcome).code < 128, "no failure");                 \
  QCOMPARE((outcome).out, QByteArray());                                              \
  QVERIFY2((outcome).err.startsWith("inferoscope-cli: "), (outcome).err.constData()); \
  QCOMPARE((outcome).err.count('\n'), 1)

class TestCli : public QObject {
  Q_OBJECT

 private slots:
  // ---- What the commands print

  void helpAndVersion() {
    const Outcome help = run({"--help"});
    VERIFY_DONE(help);
    for (const char* command :
         {"info", "tokenize", "generate", "logits", "bench", "run", "compare", "perplexity", "devices", "explain"}) {
      QVERIFY(help.out.contains(command));
      VERIFY_DONE(run({command, "--help"}));
    }
    QVERIFY(run({"--version"}).out.startsWith("inferoscope "));
  }

  void infoTellsTheShape() {
    const Outcome outcome = run({"info", data("valid/valid_tiny.gguf"), "--json"});
    VERIFY_DONE(outcome);
    const QJsonObject json = outcome.json();
    QCOMPARE(json.keys(),
             (QStringList{"architecture", "context_length", "formats", "head_dim", "hidden_dim", "kv_bytes_per_token",
                          "model_dim", "name", "notices", "num_heads", "num_kv_heads", "num_layers", "pre_tokenizer",
                          "tokenizer", "vocab_size", "weight_bytes"}));
    QCOMPARE(json["architecture"].toString(), QString("llama"));
    QCOMPARE(json["num_layers"].toInt(), 2);
    QCOMPARE(json["num_heads"].toInt(), 4);
    QCOMPARE(json["num_kv_heads"].toInt(), 2);
    QCOMPARE(json["head_dim"].toInt(), 8);
    QCOMPARE(json["vocab_size"].toInt(), 280);
    QCOMPARE(json["kv_bytes_per_token"].toInt(), 2 * 2 * 2 * 8 * 2);
    qint64 sum = 0;
    for (const QJsonValue& bytes : json["formats"].toObject()) sum += bytes.toInteger();
    QCOMPARE(json["weight_bytes"].toInteger(), sum);
    QVERIFY(run({"info", data("valid/valid_tiny.gguf")}).out.contains("context           128 tokens"));
  }

  void tokenizeGivesTheTextBack() {
    const QString text = QString::fromUtf8("Héllo \U0001F600 <|im_end|>");
    const Outcome special = run({"tokenize", data("valid/valid_tiny.gguf"), "--text", text, "--json"});
    const Outcome plain = run({"tokenize", data("valid/valid_tiny.gguf"), "--text", text, "--no-special", "--json"});
    VERIFY_DONE(special);
    VERIFY_DONE(plain);
    for (const Outcome& outcome : {special, plain}) {
      QCOMPARE(outcome.json().keys(), (QStringList{"ids", "text"}));
      QCOMPARE(outcome.json()["text"].toString(), text);
    }
    QVERIFY(special.json()["ids"].toArray().contains(279));
    QVERIFY(!plain.json()["ids"].toArray().contains(279));
    QVERIFY(plain.json()["ids"].toArray().size() > special.json()["ids"].toArray().size());
  }

  void invalidUtf8IsReplacedInJson() {
    const QTemporaryDir folder;
    QFile file(folder.filePath("bytes"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("a\xFF\xC3z");
    file.close();
    const Outcome outcome = run({"tokenize", kTiny, "--file", file.fileName(), "--json"});
    VERIFY_DONE(outcome);
    QCOMPARE(outcome.json()["ids"].toArray(), (QJsonArray{'a', 0xFF, 0xC3, 'z'}));
    QCOMPARE(outcome.json()["text"].toString(), QString::fromUtf8("a\uFFFD\uFFFDz"));
  }

  void generateAnswers() {
    const QStringList arguments = {"generate", kTiny, "--prompt", "hello", "--max-tokens", "9", "--temperature", "1.5"};
    const Outcome outcome = run(arguments + QStringList{"--json"});
    VERIFY_DONE(outcome);
    const QJsonObject json = outcome.json();
    QCOMPARE(json.keys(),
             (QStringList{"finish_reason", "ids", "notices", "prompt_tokens", "text", "tpot_ms", "ttft_ms"}));
    QCOMPARE(json["ids"].toArray().size(), 9);
    QCOMPARE(json["prompt_tokens"].toInt(), 5);
    QCOMPARE(json["finish_reason"].toString(), QString("length"));
    QVERIFY(json["ttft_ms"].toDouble() > 0 && json["tpot_ms"].toDouble() > 0);
    QVERIFY(json["notices"].toArray().at(0).toString().contains("random"));
    QVERIFY(run(arguments).out.startsWith(json["text"].toString().toUtf8()));

    QCOMPARE(run(arguments + QStringList{"--json"}).json()["text"], json["text"]);  // the same seed
    QVERIFY(run(arguments + QStringList{"--json", "--seed", "2"}).json()["text"] != json["text"]);
  }

  void oneTokenHasNoTpot() {
    const QJsonObject json = run({"generate", kTiny, "--prompt", "a", "--max-tokens", "1", "--json"}).json();
    QVERIFY(json["tpot_ms"].isNull() && json["ttft_ms"].isDouble());
  }

  // Without --max-tokens an answer takes what the context leaves.
  void anAnswerFitsASmallContext() {
    const Outcome outcome = run({"generate", data("valid/valid_tiny.gguf"), "--prompt", "abc", "--json"});
    VERIFY_DONE(outcome);
    QCOMPARE(outcome.json()["ids"].toArray().size() + outcome.json()["prompt_tokens"].toInt(), 128);
  }

  void aStopStringEndsTheAnswer() {
    const QStringList arguments = {"generate", kTiny, "--prompt", "hello", "--max-tokens", "40", "--json"};
    const QString text = run(arguments).json()["text"].toString();
    const QString stop = text.mid(3, 2);
    const QJsonObject json = run(arguments + QStringList{"--stop", "never", "--stop", stop}).json();
    QCOMPARE(json["finish_reason"].toString(), QString("stop"));
    QCOMPARE(json["text"].toString(), text.left(text.indexOf(stop)));
  }

  void logitsEqualTheReference() {
    QFile file(data("valid/expected.json"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QJsonArray expected =
        QJsonDocument::fromJson(file.readAll()).object()["valid_tiny"].toObject()["first_logits"].toArray();
    QVERIFY(expected.size() > 8);
    const Outcome outcome =
        run({"logits", data("valid/valid_tiny.gguf"), "--ids", "276,256,10", "--top", "280", "--json"});
    VERIFY_DONE(outcome);
    const QJsonObject json = outcome.json();
    QCOMPARE(json.keys(), (QStringList{"argmax", "top"}));
    QCOMPARE(json["top"].toArray().size(), 280);
    QCOMPARE(json["argmax"], json["top"].toArray().at(0).toObject()["id"]);
    double probability = 0;
    for (const QJsonValue& value : json["top"].toArray()) {
      const QJsonObject entry = value.toObject();
      const int id = entry["id"].toInt();
      if (id < expected.size()) QVERIFY(std::abs(entry["logit"].toDouble() - expected.at(id).toDouble()) < 0.02);
      probability += std::exp(entry["logprob"].toDouble());
    }
    QVERIFY(std::abs(probability - 1) < 1e-6);
  }

  void everyKnobIsAFlag_data() {
    QTest::addColumn<QString>("flag");
    QTest::addColumn<QString>("value");
    for (const core::Knob& knob : core::knobs()) {
      QTest::newRow(knob.id.data()) << "--" + str(knob.id) << str(knob.get(core::EngineOptions{}));
    }
  }
  void everyKnobIsAFlag() {
    QFETCH(QString, flag);
    QFETCH(QString, value);
    VERIFY_DONE(run({"logits", kTiny, "--ids", "1,2", flag, value}));
    const Outcome wrong = run({"logits", kTiny, "--ids", "1,2", flag, "-7"});
    VERIFY_REFUSED(wrong);
    QVERIFY2(wrong.errorLine().contains(flag), wrong.err.constData());
  }

  void benchMeasures() {
    const Outcome outcome = run({"bench", kTiny, "--prompt-tokens", "40", "--new-tokens", "6", "--batch", "1,3",
                                 "--depth", "32", "--repeats", "1", "--json"});
    VERIFY_DONE(outcome);
    const QJsonObject json = outcome.json();
    QCOMPARE(json.keys(), (QStringList{"ceilings", "peak_rss_bytes", "results"}));
    QVERIFY(json["peak_rss_bytes"].toDouble() > 1e6);
    QVERIFY(json["ceilings"].toObject()["read_gb_s"].toDouble() > 0);
    QVERIFY(json["ceilings"].toObject()["fp32_gflop_s"].toDouble() > 0);
    QCOMPARE(json["results"].toArray().size(), 2);
    for (const QJsonValue& value : json["results"].toArray()) {
      const QJsonObject result = value.toObject();
      for (const char* field : {"prefill_tok_s", "decode_tok_s", "prefill_mfu", "decode_mbu", "read_gb_s"}) {
        QVERIFY2(result[field].toDouble() > 0, field);
      }
      QCOMPARE(result["repeats"].toInt() + result["dropped"].toInt(), 1);
    }
    QCOMPARE(json["results"].toArray().at(1).toObject()["batch"].toInt(), 3);
  }

  void devicesAreProbed() {
    const Outcome outcome = run({"devices", "--threads", "1", "--json"});
    VERIFY_DONE(outcome);
    const QJsonObject cpu = outcome.json()["devices"].toArray().at(0).toObject();
    QCOMPARE(cpu["id"].toString(), QString("cpu"));
    QCOMPARE(cpu["ceilings"].toObject()["threads"].toInt(), 1);
    QVERIFY(cpu["ceilings"].toObject()["read_gb_s"].toDouble() > 0);
  }

  void compareTellsWhatASettingIsWorth() {
    const QTemporaryDir folder;
    QFile scenario(folder.filePath("s.json"));
    QVERIFY(scenario.open(QIODevice::WriteOnly));
    scenario.write(R"({"id": "s", "arrivals": {"concurrency": 3, "num_requests": 6}, "prompt_tokens": 20,
                       "output_tokens": 8, "ignore_end_of_turn": true})");
    scenario.close();
    const QString file = folder.filePath("c.json");
    const QStringList arguments = {
        "compare", scenario.fileName(), "--model",   kTiny, "--a",       "kv-layout=contiguous,threads=1",
        "--b",     "threads=1",         "--repeats", "3",   "--no-probe"};
    const Outcome outcome = run(arguments + QStringList{"--out", file, "--json"});
    VERIFY_DONE(outcome);
    const QJsonObject json = outcome.json();
    QCOMPARE(json["a"].toObject()["options"].toObject()["kv-layout"].toString(), QString("contiguous"));
    QCOMPARE(json["b"].toObject()["options"].toObject()["kv-layout"].toString(), QString("paged"));
    QCOMPARE(json["b"].toObject()["requests"].toInt(), 6);
    QCOMPARE(json["kl_mean"].toDouble(-1), 0.0);
    QCOMPARE(json["top1_agreement"].toDouble(), 1.0);
    QVERIFY(json.contains("first_divergent_token") && json["first_divergent_token"].isNull());
    int num_seen = 0;
    for (const QJsonValue& value : json["differences"].toArray()) {
      const QJsonObject row = value.toObject();
      for (const char* field : {"metric", "a", "b", "ratio", "ci95", "verdict"}) QVERIFY2(row.contains(field), field);
      if (row["metric"].toString() != "kv_waste") continue;
      ++num_seen;
      QVERIFY(row["verdict"].toString().startsWith("B has "));
      QCOMPARE(row["ci95"].toArray().size(), 2);
    }
    QCOMPARE(num_seen, 1);

    const Outcome opened = run({"compare", "--open", file, "--json"});
    VERIFY_DONE(opened);
    QCOMPARE(opened.json(), json);
    VERIFY_DONE(run({"compare", "--open", file}));
    VERIFY_DONE(run(arguments));
  }

  // 3 sequences at 100 tokens a second: 30 ms a step.
  void explainSetsAMeasurementAgainstTheFloor() {
    const Outcome outcome =
        run({"explain", kTiny, "--batch", "3", "--depth", "100", "--tok-s", "100", "--threads", "1", "--json"});
    VERIFY_DONE(outcome);
    const QJsonObject json = outcome.json();
    QCOMPARE(json.keys(), (QStringList{"architecture", "batch", "ceilings", "decode", "depth", "measured", "model",
                                       "notices", "prefill", "weight_bytes"}));
    const QJsonObject decode = json["decode"].toObject();
    const QJsonObject output = decode["by_op"].toObject()["output"].toObject();
    QCOMPARE(output["bytes"].toInteger(), 2 * 512 * 64 + 4 * 3 * (512 + 64));  // f16 weights, f32 in and out
    QCOMPARE(output["flops"].toInteger(), 2 * 3 * 512 * 64);
    double bytes = 0;
    for (const QJsonValue& each : decode["bytes_per_token"].toObject()) bytes += each.toDouble();
    QCOMPARE(bytes * 3, decode["bytes"].toDouble());
    QCOMPARE(json["prefill"].toObject()["tokens"].toInt(), 100);
    const QJsonObject measured = json["measured"].toObject();
    QCOMPARE(measured["step_ms"].toDouble(), 30.0);
    QVERIFY(std::abs(measured["share_of_floor"].toDouble() * 30 / decode["floor_ms"].toDouble() - 1) < 1e-6);
    QCOMPARE(measured["verdict"].toString(), QString("overhead-bound"));
    QVERIFY(run({"explain", kTiny, "--threads", "1", "--json"}).json()["measured"].isNull());
    const QByteArray text = run({"explain", kTiny, "--threads", "1", "--tok-s", "100"}).out;
    for (const char* part : {"DECODE, 1 sequence", "PREFILL", "MEASURED 100 tokens/s", "ffn_down"}) {
      QVERIFY2(text.contains(part), part);
    }
  }

  // ---- What is refused

  void mistakesAreNamedInOneLine_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const QStringList& arguments, const QString& says) {
      QTest::newRow(name) << arguments << says;
    };
    const QString long_prompt(3000, 'x');
    row("no command", {}, "command is required");
    row("unknown command", {"frobnicate"}, "frobnicate");
    row("no model", {"info"}, "MODEL");
    row("missing file", {"info", "/no/such.gguf"}, "/no/such.gguf");
    row("folder", {"info", "/tmp"}, "/tmp");
    row("not a model", {"info", INFEROSCOPE_SOURCE_DIR "/LICENSE"}, "LICENSE");
    row("unknown synthetic model", {"info", "synthetic:huge"}, "synthetic:huge");
    row("unknown format", {"info", "synthetic:tiny:q9"}, "synthetic:tiny:q9");
    row("unknown flag", {"info", kTiny, "--jason"}, "--jason");
    row("no speed", {"explain", kTiny, "--tok-s", "0"}, "--tok-s");
    row("no config", {"explain", "/no/config.json"}, "/no/config.json");
    row("format of a model", {"explain", kTiny, "--format", "q8_0"}, "--format");
    row("no prompt", {"generate", kTiny}, "--prompt");
    row("empty prompt", {"generate", kTiny, "--prompt", ""}, "--prompt: empty prompt");
    row("no tokens", {"generate", kTiny, "--prompt", "a", "--max-tokens", "0"}, "--max-tokens");
    row("negative tokens", {"generate", kTiny, "--prompt", "a", "--max-tokens", "-1"}, "--max-tokens");
    row("words for a number", {"generate", kTiny, "--prompt", "a", "--max-tokens", "many"}, "--max-tokens");
    row("prompt beyond the context", {"generate", kTiny, "--prompt", long_prompt}, "3000");
    row("answer beyond the context", {"generate", kTiny, "--prompt", "a", "--max-tokens", "2048"}, "context has 2048");
    row("never fits the budget",
        {"generate", kTiny, "--prompt", QString(1990, 'x'), "--max-tokens", "50", "--kv-budget", "1", "--kv-format",
         "f32", "--block-size", "200"},
        "2040");
    row("budget beyond memory", {"generate", kTiny, "--prompt", "a", "--kv-budget", "1000000", "--block-size", "256"},
        "KV cache");
    row("top-p", {"generate", kTiny, "--prompt", "a", "--top-p", "1.5"}, "--top-p");
    row("KV format that does not fit", {"generate", kTiny, "--prompt", "a", "--kv-format", "q8_0"}, "q8_0");
    row("ids", {"logits", kTiny, "--ids", "1,,2"}, "--ids");
    row("id outside the vocabulary", {"logits", kTiny, "--ids", "1,512"}, "512");
    row("no text", {"tokenize", kTiny}, "--text");
    row("two texts", {"tokenize", kTiny, "--text", "a", "--file", "/dev/null"}, "--text");
    row("missing text file", {"tokenize", kTiny, "--file", "/no/such.txt"}, "/no/such.txt");
    row("no scenario", {"run", "no-such"}, "no-such");
    row("steps nowhere", {"run", "chat", "--model", kTiny, "--steps", "/no/such/steps"}, "/no/such/steps");
    row("knob of a run", {"run", "chat", "--model", kTiny, "--block-size", "0"}, "--block-size");
    row("nothing to score", {"perplexity", kTiny, "--file", "/dev/null"}, "/dev/null");
    row("no knob to compare", {"perplexity", kTiny, "--file", "/dev/null", "--vs", "kv-format"}, "--vs");
    row("unknown knob to compare", {"perplexity", kTiny, "--file", "/dev/null", "--vs", "speed=9"}, "speed");
    row("batch", {"bench", kTiny, "--batch", "0"}, "--batch");
    row("bench beyond the context", {"bench", kTiny, "--prompt-tokens", "3000"}, "--prompt-tokens");
    row("nothing to compare", {"compare"}, "SCENARIO");
    row("unknown scenario", {"compare", "no-such"}, "no-such");
    row("no knob", {"compare", "chat", "--model", kTiny, "--a", "speed=1"}, "--a: ");
    row("knob without a value", {"compare", "chat", "--model", kTiny, "--b", "threads"}, "--b: ");
    row("no comparison", {"compare", "--open", "/dev/null"}, "/dev/null");
    row("depth without pages", {"bench", kTiny, "--depth", "32", "--kv-layout", "contiguous"}, "--depth");
  }
  // A scenario to its end, and all its steps: their sums are those of the summary.
  void runSumsUpItsSteps() {
    QTemporaryDir folder;
    const QString scenario = folder.filePath("s.json"), steps_file = folder.filePath("steps.jsonl");
    write(scenario, R"({"id": "s", "model": "synthetic:tiny", "prompt_tokens": 20, "output_tokens": 5,
                        "ignore_end_of_turn": true, "knobs": {"block-size": 8, "prefix-cache": "off"},
                        "arrivals": {"kind": "closed-loop", "concurrency": 3, "num_requests": 6}})");
    const Outcome outcome = run({"run", scenario, "--steps", steps_file, "--block-size", "4", "--json"});
    VERIFY_DONE(outcome);
    const QJsonObject json = outcome.json();
    for (const char* key :
         {"options", "requests", "ttft_ms", "tpot_ms", "itl_ms", "output_tok_s", "total_tok_s", "goodput", "goal",
          "kv_waste", "max_concurrent", "preemptions", "prefix_hit_rate", "bytes_per_token"})
      QVERIFY2(json.contains(key), key);
    QCOMPARE(json["requests"].toInt(), 6);
    QCOMPARE(json["max_concurrent"].toInt(), 3);
    QCOMPARE(json["options"].toObject()["block-size"].toString(), QString("4"));  // the flag goes before the scenario
    QCOMPARE(json["options"].toObject()["prefix-cache"].toString(), QString("off"));
    QVERIFY(json["prefix_hit_rate"].isNull());
    QCOMPARE(json["itl_ms"].toObject().keys(), (QStringList{"p50", "p90", "p99"}));
    QCOMPARE(json["kv_waste"].toObject().keys(), (QStringList{"external", "internal", "reserved"}));

    QFile file(steps_file);
    QVERIFY(file.open(QIODevice::ReadOnly));
    int num_tokens = 0, num_prompt_tokens = 0, num_sampled = 0;
    double weight_bytes = 0;
    for (qint64 index = 0; !file.atEnd(); ++index) {
      const QJsonObject step = QJsonDocument::fromJson(file.readLine()).object();
      QCOMPARE(step["step_index"].toInteger(), index);
      double op_weights = 0, op_ns = 0;
      for (const QJsonValue& op : step["ops"].toArray()) {
        op_weights += op.toObject()["cost"].toObject()["weights"].toDouble();
        op_ns += op.toObject()["duration_ns"].toDouble();
      }
      QCOMPARE(op_weights, step["cost"].toObject()["weights"].toDouble());
      QCOMPARE(op_ns, step["kernel_ns"].toDouble());
      for (const QJsonValue& entry : step["entries"].toArray()) num_tokens += entry.toObject()["num_tokens"].toInt();
      num_prompt_tokens += step["num_prefill_tokens"].toInt();
      num_sampled += step["num_sampled"].toInt();
      weight_bytes += op_weights;
    }
    QCOMPARE(num_prompt_tokens, 6 * 20);
    QCOMPARE(num_sampled, 6 * 5);
    QCOMPARE(num_tokens, 6 * (20 + 5 - 1));  // the last token of an answer is never computed
    QCOMPARE(json["bytes_per_token"].toObject()["weights"].toDouble(), weight_bytes / num_sampled);
    QVERIFY(run({"run", scenario}).out.contains("goodput"));
  }

  // Exactly 0 from itself; not from another KV format. The mean over all tokens of a random model is near uniform.
  void perplexityAgainstAnotherSetting() {
    QTemporaryDir folder;
    const QString file = folder.filePath("text.txt");
    write(file, QByteArray("The hours of the night are counted by the river. ").repeated(8));
    const QString model = data("valid/valid_hd32_mqa.gguf");
    const QStringList arguments = {"perplexity", model, "--file", file, "--window", "64", "--json"};
    const Outcome alone = run(arguments);
    VERIFY_DONE(alone);
    QCOMPARE(alone.json().keys(), (QStringList{"notices", "perplexity", "tokens"}));
    QVERIFY(alone.json()["tokens"].toInt() > 100);
    QVERIFY(alone.json()["perplexity"].toDouble() > 10);

    const Outcome same = run(arguments + QStringList{"--vs", "block-size=4,prefill-chunk=7,threads=1"});
    VERIFY_DONE(same);
    const QJsonObject vs_same = same.json()["vs"].toObject();
    QCOMPARE(vs_same.keys(), (QStringList{"kl_mean", "kl_p99", "notices", "perplexity", "top1_agreement"}));
    QCOMPARE(vs_same["kl_mean"].toDouble(), 0.0);
    QCOMPARE(vs_same["top1_agreement"].toDouble(), 1.0);
    QCOMPARE(vs_same["perplexity"].toDouble(), alone.json()["perplexity"].toDouble());

    double last = 0;
    for (const char* format : {"f32", "q8_0"}) {  // from f16: the one is nearer than the other
      const Outcome other = run(arguments + QStringList{"--vs", QString("kv-format=") + format});
      VERIFY_DONE(other);
      const double kl = other.json()["vs"].toObject()["kl_mean"].toDouble();
      QVERIFY2(kl > last && kl < 0.1, format);
      last = kl;
    }
  }

  void mistakesAreNamedInOneLine() {
    QFETCH(QStringList, arguments);
    QFETCH(QString, says);
    const Outcome outcome = run(arguments);
    VERIFY_REFUSED(outcome);
    QVERIFY2(outcome.errorLine().contains(says), outcome.err.constData());
  }

  void anUnreadableFileIsNamed() {
    const QTemporaryDir folder;
    const QString file = folder.filePath("locked.gguf");
    QVERIFY(QFile::copy(data("valid/valid_tiny.gguf"), file));
    QVERIFY(QFile::setPermissions(file, {}));
    const Outcome outcome = run({"info", file}, {}, asNobody);
    if (outcome.code < 0) QSKIP("another user may not run the program");
    VERIFY_REFUSED(outcome);
    QVERIFY(outcome.errorLine().contains("locked.gguf"));
  }

  void aFullDiskIsAnError_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::newRow("text") << QStringList{"generate", kTiny, "--prompt", "a", "--max-tokens", "3"};
    QTest::newRow("json") << QStringList{"generate", kTiny, "--prompt", "a", "--max-tokens", "3", "--json"};
    QTest::newRow("info") << QStringList{"info", kTiny};
    QTest::newRow("help") << QStringList{"--help"};
  }
  void aFullDiskIsAnError() {
    QFETCH(QStringList, arguments);
    const Outcome outcome = run(arguments, "/dev/full");
    VERIFY_REFUSED(outcome);
    QVERIFY2(outcome.errorLine().contains("standard output"), outcome.err.constData());
  }

  void aSignalStopsCleanly() {
    QProcess process;
    process.start(INFEROSCOPE_BINARY_DIR "/inferoscope-cli",
                  {"bench", kTiny, "--repeats", "1", "--batch", "1,1,1,1,1,1,1,1,1,1,1,1"});
    QVERIFY(process.waitForReadyRead(60000));  // the first result: it is well under way
    process.terminate();
    QVERIFY(process.waitForFinished(20000));
    QCOMPARE(process.exitStatus(), QProcess::NormalExit);
    QCOMPARE(process.exitCode(), 130);
    QCOMPARE(process.readAllStandardError(), QByteArray("inferoscope-cli: stopped\n"));
  }

  // ---- Broken files: every one gets its verdict

  void everyCaseFileGetsItsVerdict_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("verdict");
    QFile table(data("cases/cases.tsv"));
    QVERIFY(table.open(QIODevice::ReadOnly));
    table.readLine();
    while (!table.atEnd()) {
      const QStringList columns = QString::fromUtf8(table.readLine()).split('\t');
      if (columns[2] != "(part)") QTest::newRow(qPrintable(columns[0])) << columns[0] << columns[2];
    }
  }
  void everyCaseFileGetsItsVerdict() {
    QFETCH(QString, file);
    QFETCH(QString, verdict);
    const QString path = data("cases/") + file;
    const Outcome outcome = run({"generate", path, "--prompt", "abc", "--max-tokens", "3", "--json"});
    if (verdict == "ACCEPT" || verdict == "NOTICE") {
      VERIFY_DONE(outcome);
      QCOMPARE(outcome.json()["ids"].toArray().isEmpty(), false);
      if (verdict == "NOTICE") QVERIFY(!outcome.json()["notices"].toArray().isEmpty());
      return;
    }
    VERIFY_REFUSED(outcome);
    QVERIFY2(outcome.errorLine().contains(file.section('/', 0, 0)), outcome.err.constData());
    QCOMPARE(outcome.errorLine().contains("non-finite"), verdict == "NONFINITE");
  }

  void everyValidFileAnswers_data() {
    QTest::addColumn<QString>("file");
    const QDir folder(data("valid"));
    for (const QString& name : folder.entryList({"*.gguf"})) QTest::newRow(qPrintable(name)) << folder.filePath(name);
  }
  void everyValidFileAnswers() {
    QFETCH(QString, file);
    const Outcome outcome = run({"generate", file, "--prompt", "abc", "--chat", "--max-tokens", "3", "--json"});
    if (file.contains("00002-of") && outcome.code != 0) {  // may name part 1 instead
      VERIFY_REFUSED(outcome);
      QVERIFY2(outcome.errorLine().contains("00001-of-00002"), outcome.err.constData());
      return;
    }
    VERIFY_DONE(outcome);
    if (file.contains("no_template")) QVERIFY(outcome.json()["notices"].toArray().size() >= 2);
  }
};

QTEST_GUILESS_MAIN(TestCli)
#include "tst_cli.moc"
