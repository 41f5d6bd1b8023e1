// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/half.h"
#include "tests/support/kernel_cases.h"

#include <QTest>

#include <immintrin.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <cctype>
#include <fstream>

using namespace inferoscope;
using kernels::Format;

namespace {

[[gnu::target("f16c")]] float hardwareToFloat(std::uint16_t half) {
  return _cvtsh_ss(half);
}

[[gnu::target("f16c")]] std::uint16_t hardwareToHalf(float value) {
  return _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
}

std::vector<std::byte> bytesOfHex(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) bytes.push_back(std::byte(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::vector<float> floatsOfHex(const std::string& hex) {
  const std::vector<std::byte> bytes = bytesOfHex(hex);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// What other implementations made of blocks and values; how, says the script beside it.
nlohmann::json otherImplementations() {
  std::ifstream file(INFEROSCOPE_SOURCE_DIR "/tests/data/formats/formats.json");
  return nlohmann::json::parse(file);
}

double rootMeanSquare(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

std::string lowerCase(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(c));
  return text;
}

}  // namespace

class TestFormats : public QObject {
  Q_OBJECT

 private slots:
  void sizesAreThoseOfTheFile() {
    std::string table;
    for (const Format& f : kernels::formats()) {
      table += std::to_string(static_cast<unsigned>(f.id)) + " " + std::string(f.name) + " " +
               std::to_string(f.block_elems) + ":" + std::to_string(f.block_bytes) + "\n";
    }
    QCOMPARE(table,
             "0 f32 1:4\n"
             "1 f16 1:2\n"
             "30 bf16 1:2\n"
             "8 q8_0 32:34\n"
             "14 q6_k 256:210\n"
             "6 q5_0 32:22\n"
             "7 q5_1 32:24\n"
             "13 q5_k 256:176\n"
             "2 q4_0 32:18\n"
             "3 q4_1 32:20\n"
             "12 q4_k 256:144\n"
             "11 q3_k 256:110\n"
             "10 q2_k 256:84\n");
  }

  void found() {
    for (const Format& f : kernels::formats()) {
      QCOMPARE(kernels::findFormat(f.id), &f);
      QCOMPARE(kernels::findFormat(f.name), &f);
    }
    QVERIFY(kernels::findFormat("F32") == nullptr);
    QVERIFY(kernels::findFormat(kernels::FormatId{4}) == nullptr);
    QCOMPARE(kernels::storedBytes(*kernels::findFormat("q4_1"), 576), 18 * 20);
  }

  void decodedBlocks_data() {
    QTest::addColumn<QString>("json");
    std::ifstream file(INFEROSCOPE_SOURCE_DIR "/tests/data/vectors/blocks.json");
    const nlohmann::json cases = nlohmann::json::parse(file).at("cases");
    for (const auto& one : cases) {
      const auto name = one.at("format").get<std::string>();
      QTest::addRow("%s, %s", name.c_str(), one.at("what").get<std::string>().c_str())
          << QString::fromStdString(one.dump());
    }
  }
  void decodedBlocks() {
    QFETCH(const QString, json);
    const auto one = nlohmann::json::parse(json.toStdString());
    const Format& format = *kernels::findFormat(lowerCase(one.at("format")));
    const std::vector<float> got = tests::decoded(format, bytesOfHex(one.at("block_hex")));
    const auto expected = one.at("values").get<std::vector<double>>();
    QCOMPARE(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      QVERIFY(std::fabs(got[i] - expected[i]) <= std::fabs(expected[i]) * 0x1p-23);
    }
  }

  void decodedAsElsewhere() {
    const nlohmann::json others = otherImplementations();
    for (const auto& one : others.at("decoded")) {
      const Format& format = *kernels::findFormat(one.at("format").get<std::string>());
      const std::vector<float> got = tests::decoded(format, bytesOfHex(one.at("blocks")));
      const std::vector<float> expected = floatsOfHex(one.at("values"));
      QCOMPARE(got.size(), expected.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        QVERIFY2(std::fabs(got[i] - expected[i]) <= 1e-6F, qPrintable(QString("%1 %2").arg(format.name.data()).arg(i)));
      }
    }
  }

  void encodedAsElsewhere() {
    const nlohmann::json others = otherImplementations();
    const std::vector<float> values = floatsOfHex(others.at("values"));
    for (const auto& [name, blocks] : others.at("encoded").items()) {
      QVERIFY2(tests::encoded(*kernels::findFormat(name), values) == bytesOfHex(blocks), name.c_str());
    }
  }

  // The search for scales is as good as the other implementation's, within 3%.
  void encodedAsWellAsElsewhere() {
    const nlohmann::json others = otherImplementations();
    const std::vector<float> values = floatsOfHex(others.at("values"));
    for (const auto& [name, rmse] : others.at("rmse").items()) {
      const Format& format = *kernels::findFormat(name);
      const double error = rootMeanSquare(values, tests::decoded(format, tests::encoded(format, values)));
      const QString message = QString("%1: %2, elsewhere %3").arg(name.c_str()).arg(error).arg(rmse.get<double>());
      QVERIFY2(error <= rmse.get<double>() * 1.03, qPrintable(message));
    }
  }

  // An encoded value is off by at most half a step of its block, and by the scale's own rounding.
  void roundTrip_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<double>("steps");  // between the block's largest value and zero, or its ends for q4_1
    QTest::newRow("f32") << "f32" << 1e9;
    QTest::newRow("f16") << "f16" << 2048.0;
    QTest::newRow("q8_0") << "q8_0" << 127.0;
    QTest::newRow("q4_0") << "q4_0" << 8.0;
    QTest::newRow("q4_1") << "q4_1" << 7.5;
    QTest::newRow("bf16") << "bf16" << 128.0;
    QTest::newRow("q5_0") << "q5_0" << 16.0;
    QTest::newRow("q5_1") << "q5_1" << 15.5;
  }
  void roundTrip() {
    QFETCH(const QString, format);
    QFETCH(const double, steps);
    const Format& f = *kernels::findFormat(format.toStdString());
    for (const float size : {0.05F, 1.0F, 300.0F}) {  // below, the scale would be a subnormal half
      const std::vector<float> values = tests::Random(5).floats(32 * 50, -size, size);
      const std::vector<float> got = tests::decoded(f, tests::encoded(f, values));
      // q4_0 reaches 8 steps one way but 7 the other, q5_0 16 and 15: there the last value may be a whole step off.
      const double tolerance = size * ((format == "q4_0" || format == "q5_0" ? 1.0 : 0.5) / steps + 1e-3);
      for (std::size_t i = 0; i < values.size(); ++i) QVERIFY(std::fabs(got[i] - values[i]) <= tolerance);
    }
  }

  // What a block decodes to is encoded nearly as itself.
  void encodingIsStable_data() { everyFormat(); }
  void encodingIsStable() {
    QFETCH(const QString, format);
    const Format& f = *kernels::findFormat(format.toStdString());
    const std::vector<float> values = tests::Random(9).floats(256 * 6);
    const std::vector<float> once = tests::decoded(f, tests::encoded(f, values));
    const std::vector<float> twice = tests::decoded(f, tests::encoded(f, once));
    QCOMPARE_LE(rootMeanSquare(once, twice), rootMeanSquare(values, once) / 4);
  }

  void zerosAndNotFinite_data() { everyFormat(); }
  void zerosAndNotFinite() {
    QFETCH(const QString, format);
    const Format& f = *kernels::findFormat(format.toStdString());
    for (const float zero : tests::decoded(f, tests::encoded(f, std::vector<float>(256, 0.0F)))) QCOMPARE(zero, 0.0F);
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      std::vector<float> values = tests::Random(2).floats(256);
      values[11] = bad;
      tests::decoded(f, tests::encoded(f, values));  // whatever comes out, nothing undefined is done
    }
  }

  void halfIsThatOfTheHardware() {
    if (!__builtin_cpu_supports("f16c")) QSKIP("this CPU has no F16C");
    for (std::uint32_t h = 0; h <= 0xFFFF; ++h) {
      const auto half = static_cast<std::uint16_t>(h);
      const float value = kernels::halfToFloat(half);
      QCOMPARE(std::bit_cast<std::uint32_t>(value), std::bit_cast<std::uint32_t>(hardwareToFloat(half)));
    }
    tests::Random random(4);
    for (int i = 0; i < 1'000'000; ++i) {
      const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
      QCOMPARE(kernels::floatToHalf(value), hardwareToHalf(value));
    }
  }

  // Around every half: itself, the midpoint to the next, and the floats on both sides of the midpoint.
  void halvesRoundToNearestEven() {
    for (std::uint32_t h = 0; h < 0x7BFF; ++h) {
      const float low = kernels::halfToFloat(static_cast<std::uint16_t>(h));
      const float high = kernels::halfToFloat(static_cast<std::uint16_t>(h + 1));
      const float middle = (low + high) / 2;
      QCOMPARE(kernels::floatToHalf(low), h);
      QCOMPARE(kernels::floatToHalf(std::nextafter(middle, low)), h);
      QCOMPARE(kernels::floatToHalf(middle), h + (h & 1U));
      QCOMPARE(kernels::floatToHalf(std::nextafter(middle, high)), h + 1);
    }
    QCOMPARE(kernels::floatToHalf(65519.996F), 0x7BFF);
    QCOMPARE(kernels::floatToHalf(65520.0F), 0x7C00);
    QCOMPARE(kernels::floatToHalf(-0.0F), 0x8000);
  }

 private:
  static void everyFormat() {
    QTest::addColumn<QString>("format");
    for (const Format& f : kernels::formats()) {
      const auto name = QString::fromUtf8(f.name.data(), qsizetype(f.name.size()));
      QTest::newRow(qPrintable(name)) << name;
    }
  }
};

QTEST_GUILESS_MAIN(TestFormats)
#include "tst_formats.moc"
