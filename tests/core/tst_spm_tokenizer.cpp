// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/chat_template.h"
#include "core/model/model_store.h"
#include "core/model/text_stream.h"
#include "tests/support/data.h"
#include "tests/support/gguf_patch.h"

#include <nlohmann/json.hpp>

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <fstream>
#include <numeric>

using namespace inferoscope::core;
using inferoscope::tests::dataPath;
using inferoscope::tests::GgufPatch;

namespace {

constexpr Tokenizer::EncodeOptions kPlainText{.add_bos = false, .parse_special = false};
constexpr Tokenizer::EncodeOptions kSpecial{.add_bos = true, .parse_special = true};

QString shown(const std::vector<TokenId>& ids) {
  QStringList words;
  for (const TokenId id : ids) words << QString::number(id);
  return words.join(' ');
}

}  // namespace

// SentencePiece against what an independent engine gave on the same file (data/spm/make_spm.py).
class TestSpmTokenizer : public QObject {
  Q_OBJECT

  QTemporaryDir m_folder;
  std::shared_ptr<const Tokenizer> m_tokenizer;
  std::shared_ptr<const Tokenizer> m_unprefixed;

 private slots:
  void initTestCase() {
    m_tokenizer = describeModel(dataPath("spm/spm.gguf"))->tokenizer;
    const std::string path = m_folder.filePath("unprefixed.gguf").toStdString();
    GgufPatch patch(dataPath("spm/spm.gguf"));
    patch.withFlag("tokenizer.ggml.add_space_prefix", false).write(path);
    m_unprefixed = describeModel(path)->tokenizer;
    QCOMPARE(m_tokenizer->kind(), std::string_view("llama"));
    QCOMPARE(m_tokenizer->preTokenizer(), std::string_view("default"));
    QCOMPARE(m_tokenizer->bos(), 1);
    QCOMPARE(m_tokenizer->eos(), 2);
  }

  void vectors_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("plain");
    QTest::addColumn<QString>("special");
    QTest::addColumn<QString>("unprefixed");
    const auto cases = nlohmann::json::parse(std::ifstream(dataPath("spm/spm.json")))["cases"];
    QVERIFY(cases.size() > 60);
    for (const auto& c : cases) {
      const QByteArray text = QByteArray::fromHex(QByteArray::fromStdString(c["text_hex"]));
      QTest::addRow("\"%s\"", text.toPercentEncoding(" ").constData())
          << text << shown(c["plain"]) << shown(c["special"]) << shown(c["unprefixed"]);
    }
  }

  void vectors() {
    QFETCH(QByteArray, text);
    const std::string bytes = text.toStdString();
    QTEST(shown(m_tokenizer->encode(bytes, kPlainText)), "plain");
    QTEST(shown(m_tokenizer->encode(bytes, kSpecial)), "special");
    QTEST(shown(m_unprefixed->encode(bytes, kPlainText)), "unprefixed");
  }

  // The space that was put before is taken away again, bytes become what they were. Only the mark that stands for a
  // space can't be told from one.
  void decodedAgain_data() { vectors_data(); }
  void decodedAgain() {
    QFETCH(QByteArray, text);
    if (text.contains("\xE2\x96\x81")) text.replace("\xE2\x96\x81", " ");
    const std::string bytes = text.toStdString();
    for (const Tokenizer* tokenizer : {m_tokenizer.get(), m_unprefixed.get()}) {
      QCOMPARE(QByteArray::fromStdString(tokenizer->decode(tokenizer->encode(bytes, kPlainText))), text);
      const auto ids = tokenizer->encode(bytes, {.add_bos = false, .parse_special = true});
      QCOMPARE(QByteArray::fromStdString(tokenizer->decode(ids, true)), text);
      if (!text.contains("<")) QCOMPARE(tokenizer->decode(tokenizer->encode(bytes)), bytes);  // behind a BOS
    }
  }

  // Broken UTF-8 goes through as bytes.
  void anyBytesSurvive() {
    std::string all;
    for (int i = 0; i < 256; ++i) all += static_cast<char>(255 - i);
    for (const std::string& text : {all, std::string("a\xF0\x9F\x98"), std::string("\xE6\x97 b")})
      QCOMPARE(m_tokenizer->decode(m_tokenizer->encode(text, kPlainText)), text);
  }

  // Token by token, as a reply comes: a character of four byte tokens appears with the last of them, and words keep the
  // space before them.
  void streamed() {
    const auto ids = m_tokenizer->encode("the 😀the", kPlainText);
    Utf8Stream stream;
    std::vector<std::string> pieces;
    for (const TokenId id : ids) pieces.push_back(stream.push(m_tokenizer->bytes(id)));
    QCOMPARE(std::accumulate(pieces.begin(), pieces.end(), std::string()), std::string(" the 😀the"));
    QCOMPARE(std::ranges::count(pieces, std::string()), std::ptrdiff_t(3));
    QVERIFY(std::ranges::find(pieces, "😀") != pieces.end());
    QCOMPARE(stream.finish(), std::string());
  }

  void hiddenAndEnds() {
    QCOMPARE(m_tokenizer->bytes(2), std::string());
    QCOMPARE(m_tokenizer->bytes(2, true), std::string("</s>"));
    QVERIFY(m_tokenizer->isEndOfTurn(2));
    const TokenId end_of_turn = m_tokenizer->encode("<|im_end|>", kSpecial).back();
    QVERIFY(m_tokenizer->isEndOfTurn(end_of_turn));
    QVERIFY(!m_tokenizer->isEndOfTurn(1) && !m_tokenizer->isEndOfTurn(0));
    QCOMPARE(m_tokenizer->bytes(-1), std::string());
    QCOMPARE(m_tokenizer->bytes(m_tokenizer->numTokens()), std::string());
  }

  void longTextsAreFast_data() {
    QTest::addColumn<QByteArray>("text");
    constexpr qsizetype kSize = 1 << 18;
    QTest::newRow("one letter") << QByteArray(kSize, 'a');
    QTest::newRow("spaces") << QByteArray(kSize, ' ');
    QTest::newRow("bytes without pieces") << QByteArray(kSize, '\x01');
    QTest::newRow("words") << QByteArray("the water clock ").repeated(kSize / 16);
  }

  void longTextsAreFast() {
    QFETCH(QByteArray, text);
    const auto ids = m_tokenizer->encode(text.toStdString());
    QVERIFY(m_tokenizer->decode(ids) == text.toStdString());
  }

  // The tokens that the template names are those of the vocabulary.
  void chat() {
    const auto model = describeModel(dataPath("spm/spm.gguf"));
    QVERIFY(model->chat.family == ChatFamily::kMistral);
    const std::vector<ChatMessage> talk{{"user", "Hi"}, {"assistant", "Yo"}, {"user", "Bye"}};
    QCOMPARE(model->chat.render(talk), std::string("[INST] Hi [/INST]Yo</s>[INST] Bye [/INST]"));
  }
};

QTEST_GUILESS_MAIN(TestSpmTokenizer)
#include "tst_spm_tokenizer.moc"
