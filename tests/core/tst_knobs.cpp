// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/knobs.h"

#include <QTest>

#include <algorithm>
#include <set>

using namespace inferoscope::core;

namespace {

QString str(std::string_view text) {
  return QString::fromUtf8(text.data(), qsizetype(text.size()));
}

// A value that is allowed and not the default.
std::string otherValue(const Knob& knob) {
  const std::string now = knob.get(EngineOptions{});
  if (knob.choices.empty())
    return now == std::to_string(knob.max) ? std::to_string(knob.min) : std::to_string(knob.max);
  return now == knob.choices.front() ? knob.choices.back() : knob.choices.front();
}

}  // namespace

class TestKnobs : public QObject {
  Q_OBJECT

 private slots:
  void idsAreDistinctAndExplained() {
    std::set<std::string_view> ids;
    for (const Knob& knob : knobs()) {
      QVERIFY2(ids.insert(knob.id).second, qPrintable(str(knob.id)));
      QVERIFY(!knob.label.empty());
      QVERIFY2(knob.explanation.size() > 40, qPrintable(str(knob.id)));
      QVERIFY(knob.choices.empty() ? knob.min < knob.max : knob.choices.size() >= 2);
      QCOMPARE(!knob.zero_means.empty(), knob.choices.empty() && knob.min == 0);
      QCOMPARE(findKnob(knob.id), &knob);
      QCOMPARE(knob.steps.empty(), !knob.choices.empty());
      QVERIFY(std::ranges::is_sorted(knob.steps));
      for (const int step : knob.steps) QVERIFY(step >= knob.min && step <= knob.max);
    }
    QCOMPARE(findKnob("no-such-knob"), nullptr);
  }

  void defaultIsTheFirstChoice_data() { everyKnob(); }
  void defaultIsTheFirstChoice() {
    QFETCH(int, row);
    const Knob& knob = knobs()[std::size_t(row)];
    EngineOptions options;
    const std::string value = knob.get(options);
    if (!knob.choices.empty()) QCOMPARE(str(value), str(knob.choices.front()));
    QCOMPARE(setKnob(options, knob.id, value), std::string());
    QVERIFY(options == EngineOptions{});
  }

  void aSetValueIsReadBackAndChangesNothingElse_data() { everyKnob(); }
  void aSetValueIsReadBackAndChangesNothingElse() {
    QFETCH(int, row);
    const Knob& knob = knobs()[std::size_t(row)];
    EngineOptions options;
    const std::string value = otherValue(knob);
    QCOMPARE(setKnob(options, knob.id, value), std::string());
    QCOMPARE(knob.get(options), value);
    QVERIFY(!(options == EngineOptions{}));
    QCOMPARE(changedKnobs(options, EngineOptions{}), std::vector<std::string_view>{knob.id});
  }

  // A GPU has kernels of its own; who goes to another device gets the first of its.
  void choicesAreThoseOfTheDevice() {
    const Knob& linear = *findKnob("linear");
    EngineOptions options;
    QCOMPARE(choicesOn(linear, options), (std::vector<std::string>{"simd", "naive"}));
    QCOMPARE(setKnob(options, "linear", "cublas"), std::string());  // the device may be set later
    settleChoices(options);
    QVERIFY(options == EngineOptions{});
    options.device = "cuda:0";
    QCOMPARE(choicesOn(linear, options), (std::vector<std::string>{"own", "cublas"}));
    settleChoices(options);
    QCOMPARE(options.linear, std::string("own"));
    options.linear = "cublas";
    settleChoices(options);
    QCOMPARE(options.linear, std::string("cublas"));
    QCOMPARE(choicesOn(*findKnob("attention"), options), findKnob("attention")->choices);
  }

  void wrongValuesSayWhatIsAllowed_data() {
    QTest::addColumn<QString>("id");
    QTest::addColumn<QString>("value");
    QTest::addColumn<QString>("message");
    QTest::newRow("no choice") << "kv-layout"
                               << "paper"
                               << "kv-layout: \"paper\" is not one of paged, contiguous";
    QTest::newRow("other case") << "prefix-cache"
                                << "ON"
                                << "prefix-cache: \"ON\" is not one of on, off";
    QTest::newRow("of no device") << "linear"
                                  << "magic"
                                  << "linear: \"magic\" is not one of simd, naive, or on a GPU own, cublas";
    QTest::newRow("too small") << "block-size"
                               << "0"
                               << "block-size: \"0\" is not a whole number from 1 to 256";
    QTest::newRow("too large") << "block-size"
                               << "257"
                               << "block-size: \"257\" is not a whole number from 1 to 256";
    QTest::newRow("no number") << "threads"
                               << "two"
                               << "threads: \"two\" is not a whole number from 0 to 256";
    QTest::newRow("half a number") << "threads"
                                   << "2x"
                                   << "threads: \"2x\" is not a whole number from 0 to 256";
    QTest::newRow("beyond int") << "threads"
                                << "99999999999"
                                << "threads: \"99999999999\" is not a whole number from 0 to 256";
    QTest::newRow("empty") << "threads"
                           << ""
                           << "threads: \"\" is not a whole number from 0 to 256";
    QTest::newRow("no knob") << "blok-size"
                             << "16"
                             << "\"blok-size\" is not a knob";
  }
  void wrongValuesSayWhatIsAllowed() {
    QFETCH(QString, id);
    QFETCH(QString, value);
    QFETCH(QString, message);
    EngineOptions options;
    QCOMPARE(str(setKnob(options, id.toStdString(), value.toStdString())), message);
    QVERIFY(options == EngineOptions{});
  }

 private:
  static void everyKnob() {
    QTest::addColumn<int>("row");
    for (std::size_t i = 0; i < knobs().size(); ++i) QTest::newRow(knobs()[i].id.data()) << int(i);
  }
};

QTEST_GUILESS_MAIN(TestKnobs)
#include "tst_knobs.moc"
