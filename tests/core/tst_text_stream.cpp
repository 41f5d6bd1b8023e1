// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/text_stream.h"

#include "tests/support/data.h"

#include <QTest>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace inferoscope::core;
using inferoscope::tests::dataPath;
using nlohmann::json;

namespace {

json casesOf(const char* file) {
  return json::parse(std::ifstream(dataPath(file)))["cases"];
}

std::string fromHex(const std::string& hex) {
  return QByteArray::fromHex(QByteArray::fromStdString(hex)).toStdString();
}

}  // namespace

class TestTextStream : public QObject {
  Q_OBJECT

 private slots:
  void utf8Vectors();
  void utf8OneByteAtATime();
  void stopVectors();
  void nothingFollowsAStop();
  void stopMayBeginBeforeAnother();
};

void TestTextStream::utf8Vectors() {
  const json cases = casesOf("vectors/utf8_stream.json");
  QVERIFY(!cases.empty());
  for (const json& c : cases) {
    Utf8Stream stream;
    std::string all;
    for (std::size_t i = 0; i < c["chunks_hex"].size(); ++i) {
      const std::string text = stream.push(fromHex(c["chunks_hex"][i]));
      QCOMPARE(text, c["emit"][i].get<std::string>());
      all += text;
    }
    const std::string tail = stream.finish();
    QCOMPARE(tail, c["at_end"].get<std::string>());
    QCOMPARE(all + tail, c["whole"].get<std::string>());
  }
}

void TestTextStream::utf8OneByteAtATime() {
  for (const std::string bytes :
       {"a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z", "\xF0\x9F\x98 \xE2\x82", "\xC0\xAF\xE0\x80\x80\xFF"}) {
    Utf8Stream whole, single;
    std::string expected = whole.push(bytes);
    expected += whole.finish();
    std::string found;
    for (const char byte : bytes) found += single.push(std::string_view(&byte, 1));
    found += single.finish();
    QCOMPARE(found, expected);
    QVERIFY(QString::fromStdString(found).toStdString() == found);  // it is UTF-8
  }
}

void TestTextStream::stopVectors() {
  const json cases = casesOf("vectors/stop_strings.json");
  QVERIFY(!cases.empty());
  for (const json& c : cases) {
    StopStrings stops(c["stops"].get<std::vector<std::string>>());
    const auto emit_list = c["emit"].get<std::vector<std::string>>();
    for (std::size_t i = 0; i < c["chunks"].size(); ++i) {
      const std::string expected = i < emit_list.size() ? emit_list[i] : "";  // the list ends with the stop
      QCOMPARE(stops.push(c["chunks"][i].get<std::string>()), expected);
    }
    QCOMPARE(stops.finish(), c["flush_at_end"].get<std::string>());
    QCOMPARE(stops.stopped(), !c["stopped_by"].is_null());
    if (stops.stopped()) QCOMPARE(stops.stoppedBy(), c["stopped_by"].get<std::string>());
  }
}

void TestTextStream::nothingFollowsAStop() {
  StopStrings stops({"END"});
  QCOMPARE(stops.push("one END two"), std::string("one "));
  QCOMPARE(stops.push(" three"), std::string());
  QCOMPARE(stops.finish(), std::string());
}

void TestTextStream::stopMayBeginBeforeAnother() {
  StopStrings longest({"ab", "abc"});
  QCOMPARE(longest.push("xabcd"), std::string("x"));
  QCOMPARE(longest.stoppedBy(), std::string("abc"));
  StopStrings earliest({"bc", "abcd"});
  QCOMPARE(earliest.push("xabcd"), std::string("x"));
  QCOMPARE(earliest.stoppedBy(), std::string("abcd"));
}

QTEST_GUILESS_MAIN(TestTextStream)
#include "tst_text_stream.moc"
