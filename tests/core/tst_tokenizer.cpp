// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/tokenizer.h"

#include "core/model/model_store.h"
#include "tests/support/data.h"

#include <QTest>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace inferoscope::core;
using inferoscope::tests::dataPath;

namespace {

std::shared_ptr<const Tokenizer> tokenizerOf(const std::string& file) {
  return describeModel(dataPath(file))->tokenizer;
}

std::string fromHex(const std::string& hex) {
  return QByteArray::fromHex(QByteArray::fromStdString(hex)).toStdString();
}

constexpr Tokenizer::EncodeOptions kPlainText{.add_bos = false, .parse_special = false};

}  // namespace

class TestTokenizer : public QObject {
  Q_OBJECT

 private slots:
  void vectors_data();
  void vectors();
  void anyBytesSurvive_data();
  void anyBytesSurvive();
  void specialTokens();
  void endOfTurn();
  void longTextsAreLinear_data();
  void longTextsAreLinear();
};

void TestTokenizer::vectors_data() {
  QTest::addColumn<QByteArray>("file");
  QTest::addColumn<QByteArray>("text");
  QTest::addColumn<QList<int>>("ids");
  const auto cases = nlohmann::json::parse(std::ifstream(dataPath("vectors/tokenizer.json")))["cases"];
  QVERIFY(cases.size() > 100);
  for (const auto& c : cases) {
    const std::string text = fromHex(c["text_hex"]), rule = c["pre"];
    const auto ids = c["ids"].get<std::vector<int>>();
    QTest::addRow("%s %s", rule.c_str(), QString::fromUtf8(text.c_str()).toUtf8().toPercentEncoding().constData())
        << QByteArray::fromStdString(c["file"]) << QByteArray::fromStdString(text)
        << QList<int>(ids.begin(), ids.end());
  }
}

void TestTokenizer::vectors() {
  QFETCH(QByteArray, file);
  QFETCH(QByteArray, text);
  QFETCH(QList<int>, ids);
  const auto tokenizer = tokenizerOf(file.toStdString());
  const std::vector<TokenId> found = tokenizer->encode(text.toStdString(), kPlainText);
  QCOMPARE(QList<int>(found.begin(), found.end()), ids);
  QCOMPARE(QByteArray::fromStdString(tokenizer->decode(found)), text);
}

void TestTokenizer::anyBytesSurvive_data() {
  QTest::addColumn<QByteArray>("text");
  QByteArray all_bytes;
  for (int i = 0; i < 256; ++i) all_bytes.append(static_cast<char>(i));
  QTest::newRow("all bytes") << all_bytes;
  QTest::newRow("broken character") << QByteArray("ab\xE6\x97 cd");
  QTest::newRow("cut character") << QByteArray("hello \xF0\x9F\x98");
  QTest::newRow("surrogate") << QByteArray("\xED\xA0\x80");
  QTest::newRow("spaces and NULs") << QByteArray("  \t\r\n\0\0  ", 9);
  QTest::newRow("family") << QByteArray("👨‍👩‍👧 apa kabar? 你好 ٣٤٥");
}

void TestTokenizer::anyBytesSurvive() {
  QFETCH(QByteArray, text);
  for (const char* file : {"tiny", "pre_llama_bpe", "pre_qwen2", "pre_smollm"}) {
    const auto tokenizer = tokenizerOf(std::string("valid/valid_") + file + ".gguf");
    QCOMPARE(QByteArray::fromStdString(tokenizer->decode(tokenizer->encode(text.toStdString(), kPlainText))), text);
  }
}

void TestTokenizer::specialTokens() {
  const auto tokenizer = tokenizerOf("valid/valid_tiny.gguf");
  const std::string text = "<|im_start|>hello<|im_end|>";
  QVERIFY(tokenizer->encode(text) == (std::vector<TokenId>{276, 278, 259, 279}));
  QVERIFY(tokenizer->encode(text, {.add_bos = false}) == (std::vector<TokenId>{278, 259, 279}));
  QVERIFY(tokenizer->encode(text, kPlainText).size() > 10);
  QVERIFY(tokenizer->encode("") == std::vector<TokenId>{276});
  QCOMPARE(tokenizer->decode({276, 278, 259, 279}), std::string("hello"));
  QCOMPARE(tokenizer->decode({278, 259, 279}, true), text);
  QCOMPARE(tokenizer->bytes(-1), std::string());
  QCOMPARE(tokenizer->bytes(280), std::string());
  QCOMPARE(tokenizer->bytes(273) + tokenizer->bytes(274), std::string("😀"));
}

void TestTokenizer::endOfTurn() {
  const auto tokenizer = tokenizerOf("valid/valid_tiny.gguf");
  QCOMPARE(tokenizer->eos(), 277);
  QVERIFY(tokenizer->isEndOfTurn(277));
  QVERIFY(tokenizer->isEndOfTurn(279));  // <|im_end|>: not the file's eos, but what its template ends turns with
  QVERIFY(!tokenizer->isEndOfTurn(278));
  QVERIFY(!tokenizer->isEndOfTurn(-1));
  QCOMPARE(tokenizerOf("valid/valid_no_eos_no_template.gguf")->eos(), -1);
}

// A long text that is one word, one run of spaces or full of false starts ends in reasonable time: the test's limit.
void TestTokenizer::longTextsAreLinear_data() {
  constexpr qsizetype kSize = 1 << 18;
  QTest::addColumn<QByteArray>("text");
  QTest::newRow("one word") << QByteArray(kSize, 'l');
  QTest::newRow("spaces") << QByteArray(kSize, ' ');
  QTest::newRow("newlines") << QByteArray(kSize, '\n');
  QTest::newRow("digits") << QByteArray(kSize, '1');
  QTest::newRow("false starts") << QByteArray("<|im_star").repeated(kSize / 9);
  QTest::newRow("words") << QByteArray("hello world, ").repeated(kSize / 13);
  QTest::newRow("broken bytes") << QByteArray("a\xFF").repeated(kSize / 2);
}

void TestTokenizer::longTextsAreLinear() {
  QFETCH(QByteArray, text);
  for (const char* file : {"tiny", "pre_llama_bpe", "pre_qwen2", "pre_smollm"}) {
    const auto tokenizer = tokenizerOf(std::string("valid/valid_") + file + ".gguf");
    const std::vector<TokenId> ids = tokenizer->encode(text.toStdString());
    QVERIFY(tokenizer->decode(ids) == text.toStdString());
  }
}

QTEST_GUILESS_MAIN(TestTokenizer)
#include "tst_tokenizer.moc"
