// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/kernel_cases.h"

#include <QTest>

#include <bit>

using namespace inferoscope;
using kernels::Format;
using kernels::Kernel;
using kernels::LinearArgs;
using tests::LinearCase;

namespace {

std::span<const Kernel<LinearArgs>> rows() {
  return kernels::kernelsFor<LinearArgs>(kernels::Device::kCpu);
}

struct Expected {
  double value;
  double size;  // sum of |x * w|, what errors are relative to
};

// On the decoded weights, in double precision.
std::vector<Expected> reference(const LinearCase& c) {
  const std::vector<float> w = tests::decoded(kernels::formatOf(c.format_id), c.w);
  std::vector<Expected> out;
  for (int t = 0; t < c.num_tokens_; ++t) {
    for (int r = 0; r < c.num_rows_; ++r) {
      Expected sum = {0.0, 0.0};
      for (int i = 0; i < c.num_cols_; ++i) {
        const double product =
            double{c.x[std::size_t{1} * t * c.num_cols_ + i]} * w[std::size_t{1} * r * c.num_cols_ + i];
        sum.value += product;
        sum.size += std::fabs(product);
      }
      out.push_back(sum);
    }
  }
  return out;
}

// The largest error, relative to the sizes of the products.
double largestError(const LinearCase& c) {
  const std::vector<Expected> expected = reference(c);
  double largest = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = std::fabs(c.out[i] - expected[i].value) / (expected[i].size + 1e-30);
    if (!(error <= largest)) largest = error;  // NaN counts
  }
  return largest;
}

// What fp32 sums may lose: each addition and each multiplication rounds by at most 2^-24.
double roundings(const LinearCase& c) {
  return (c.num_cols_ + 8) * 0x1p-24;
}

// Activations that blocks of bytes hold exactly: whole numbers within -127..127, +-127 among each 32, times 2^-9.
void makeExact(LinearCase& c) {
  for (std::size_t i = 0; i < c.x.size(); ++i) {
    const int n = i % 32 == 5 ? (c.random.below(2) == 0 ? 127 : -127) : c.random.below(255) - 127;
    c.x[i] = static_cast<float>(n) * 0x1p-9F;
  }
}

// Columns of so many blocks, or of 32 elements where the format has none.
int columns(const Format& format, int num_blocks) {
  return num_blocks * std::max(32, format.block_elems);
}

// Which bytes of a block are no scale and no minimum.
struct NumbersOf {
  int begin;
  int end;
};
NumbersOf numbersOf(const Format& format) {
  if (format.name == "q2_k") return {16, 80};
  if (format.name == "q3_k") return {0, 96};
  if (format.name == "q4_k" || format.name == "q5_k") return {16, format.block_bytes};
  if (format.name == "q6_k") return {0, 192};
  return {format.block_bytes % 16, format.block_bytes};  // 2 or 4 bytes of scales, the fifth bits, the rest
}

void addRows(const std::function<void(int, const Format&, const std::string&)>& add) {
  for (std::size_t i = 0; i < rows().size(); ++i) {
    for (const Format& format : kernels::formats()) {
      add(static_cast<int>(i), format, std::string(rows()[i].id) + ", " + std::string(format.name));
    }
  }
}

}  // namespace

class TestLinear : public QObject {
  Q_OBJECT

 private slots:
  // With activations that the integer kernels hold exactly, every row is as exact as its fp32 sums.
  void everyRowMatchesTheProduct_data() {
    QTest::addColumn<int>("row");
    QTest::addColumn<QString>("format");
    QTest::addColumn<int>("num_tokens");
    QTest::addColumn<int>("num_rows");
    QTest::addColumn<int>("num_blocks");
    addRows([](int row, const Format& format, const std::string& name) {
      const auto add = [&](int num_tokens, int num_rows, int num_blocks) {
        QTest::addRow("%s, %d x %d x %d blocks", name.c_str(), num_tokens, num_rows, num_blocks)
            << row << QString::fromUtf8(format.name.data(), qsizetype(format.name.size())) << num_tokens << num_rows
            << num_blocks;
      };
      for (const int num_blocks : {1, 2, 3, 5, 7}) add(3, 5, num_blocks);
      for (const int num_tokens : {1, 2, 3, 4, 5, 8, 33, 70}) add(num_tokens, 37, 2);
      for (const int num_rows : {1, 2, 3, 4, 31, 32, 33, 100}) add(1, num_rows, 3);
    });
  }
  void everyRowMatchesTheProduct() {
    QFETCH(const int, row);
    QFETCH(const QString, format);
    QFETCH(const int, num_tokens);
    QFETCH(const int, num_rows);
    QFETCH(const int, num_blocks);
    const Format& f = *kernels::findFormat(format.toStdString());
    LinearCase c(f, num_tokens, num_rows, columns(f, num_blocks));
    makeExact(c);
    check(rows()[row], c, roundings(c));
  }

  // Plain formats need no whole blocks.
  void oddColumns_data() {
    QTest::addColumn<int>("row");
    QTest::addColumn<QString>("format");
    QTest::addColumn<int>("num_cols");
    for (std::size_t i = 0; i < rows().size(); ++i) {
      for (const char* format : {"f32", "f16", "bf16"}) {
        for (const int num_cols : {1, 7, 8, 9, 20, 67}) {
          QTest::addRow("%s, %s, %d columns", rows()[i].id.data(), format, num_cols)
              << static_cast<int>(i) << format << num_cols;
        }
      }
    }
  }
  void oddColumns() {
    QFETCH(const int, row);
    QFETCH(const QString, format);
    QFETCH(const int, num_cols);
    LinearCase c(*kernels::findFormat(format.toStdString()), 5, 9, num_cols);
    check(rows()[row], c, roundings(c));
  }

  // Any activations: bytes are within half a step of them, a step being 1/127 of the block's largest.
  void anyActivations_data() { addRowColumns(); }
  void anyActivations() {
    QFETCH(const int, row);
    QFETCH(const QString, format);
    const Format& f = *kernels::findFormat(format.toStdString());
    LinearCase c(f, 9, 40, columns(f, 10));
    check(rows()[row], c, 0.01);
  }

  // Every quant at the end of its range, and activations too: nothing saturates on the way.
  void saturatedBlocks_data() { addRowColumns(true); }
  void saturatedBlocks() {
    QFETCH(const int, row);
    QFETCH(const QString, format);
    const Format& f = *kernels::findFormat(format.toStdString());
    for (const int filler : {0x80, 0x7F, 0xFF, 0x00}) {  // as signed bytes -128, 127, -1, 0
      for (const float sign : {1.0F, -1.0F}) {
        LinearCase c(f, 5, 6, columns(f, 5));
        const NumbersOf numbers = numbersOf(f);
        for (std::byte* block = c.w.data(); block != c.w.data() + c.w.size(); block += f.block_bytes) {
          std::fill(block + numbers.begin, block + numbers.end, std::byte(filler));
        }
        std::ranges::fill(c.x, sign * 127.0F * 0x1p-9F);
        check(rows()[row], c, roundings(c));
      }
    }
  }

  void bitsDependOnNothingButTheRow_data() { addRowColumns(); }
  void bitsDependOnNothingButTheRow() {
    QFETCH(const int, row);
    QFETCH(const QString, format);
    const Kernel<LinearArgs>& kernel = rows()[row];
    const Format& f = *kernels::findFormat(format.toStdString());
    LinearCase whole(f, 71, 101, columns(f, 3));
    if (const std::string reason = kernel.supports(whole.argsFor(kernel)); !reason.empty()) QSKIP(reason.c_str());
    QVERIFY(tests::runKernel(kernel, whole.argsFor(kernel), 1));
    for (const int num_threads : {2, 3, 64}) {
      LinearCase c = whole;
      QVERIFY(tests::runKernel(kernel, c.argsFor(kernel), num_threads));
      QVERIFY(std::memcmp(c.out.data(), whole.out.data(), c.out.size() * sizeof(float)) == 0);
    }
    for (const auto& [begin, end] : {std::pair{0, 1}, {70, 71}, {3, 5}, {13, 16}, {1, 42}, {30, 71}}) {
      LinearCase part = whole;
      LinearArgs args = part.argsFor(kernel);
      args.x += begin * args.w.num_cols;
      args.num_tokens = end - begin;
      QVERIFY(tests::runKernel(kernel, args, 2));
      QVERIFY(std::memcmp(part.out.data(), whole.out.data() + begin * args.w.num_rows,
                          std::size_t{1} * (end - begin) * args.w.num_rows * sizeof(float)) == 0);
    }
  }

  // A lane is a row whatever the width of the vectors, so that the same sums are made in the same order.
  void instructionSetsAgree_data() {
    QTest::addColumn<QString>("format");
    for (const Format& format : kernels::formats()) QTest::newRow(format.name.data()) << QString(format.name.data());
  }
  void instructionSetsAgree() {
    QFETCH(const QString, format);
    const Format& f = *kernels::findFormat(format.toStdString());
    LinearCase first(f, 31, 77, columns(f, 3));
    std::string_view first_id;
    for (const auto& kernel : rows()) {
      LinearCase c(f, 31, 77, columns(f, 3));
      const LinearArgs args = c.argsFor(kernel);
      if (args.w.layout != kernels::Layout::kInterleaved) continue;
      QVERIFY(tests::runKernel(kernel, args, 2));
      if (first_id.empty()) {
        first_id = kernel.id;
        first.out = c.out;
      }
      QVERIFY2(std::memcmp(c.out.data(), first.out.data(), c.out.size() * sizeof(float)) == 0, kernel.id.data());
    }
    if (first_id.empty()) QSKIP("no code for interleaved rows");
  }

  // Laid side by side and taken out again, rows are what they were; the plain kernel reads either layout.
  void interleavedRowsComeBack_data() { instructionSetsAgree_data(); }
  void interleavedRowsComeBack() {
    QFETCH(const QString, format);
    const Format& f = *kernels::findFormat(format.toStdString());
    LinearCase c(f, 2, 45, columns(f, 2));
    LinearArgs args = c.args();
    const std::vector<std::byte> groups = tests::interleavedRows(args.w);
    args.w.layout = kernels::Layout::kInterleaved;
    args.w.data = groups.data();
    QCOMPARE(kernels::layoutBytes(args.w), kernels::storedBytes(f, 64 * args.w.num_cols));
    QCOMPARE(kernels::matrixBytes(args.w), std::int64_t(c.w.size()));
    std::vector<std::byte> rows_again(c.w.size());
    for (int r = 0; r < 45; ++r) kernels::copyRow(args.w, r, rows_again.data() + c.w.size() / 45 * r);
    QVERIFY(rows_again == c.w);

    const Kernel<LinearArgs>& naive = *tests::findKernel<LinearArgs>("linear.naive");
    QVERIFY(tests::runKernel(naive, args, 2));
    const std::vector<float> of_groups = c.out;
    QVERIFY(tests::runKernel(naive, c.args(), 2));
    QVERIFY(of_groups == c.out);
  }

  // What is not finite must reach the logits, where it is looked for.
  void notFiniteStaysNotFinite_data() { addRowColumns(); }
  void notFiniteStaysNotFinite() {
    QFETCH(const int, row);
    QFETCH(const QString, format);
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      for (const int where : {0, 17, 63}) {
        const Format& f = *kernels::findFormat(format.toStdString());
        LinearCase c(f, 2, 3, columns(f, 2));
        if (const std::string reason = rows()[row].supports(c.argsFor(rows()[row])); !reason.empty())
          QSKIP(reason.c_str());
        c.x[where] = bad;
        QVERIFY(tests::runKernel(rows()[row], c.argsFor(rows()[row]), 1));
        for (int r = 0; r < 3; ++r) QVERIFY(!std::isfinite(c.out[r]));
        for (int r = 3; r < 6; ++r) QVERIFY(std::isfinite(c.out[r]));
      }
    }
  }

  void refusesPartsOfBlocks() {
    LinearCase c(*kernels::findFormat("q8_0"), 1, 2, 32);
    LinearArgs args = c.args();
    args.w.num_cols = 16;
    LinearArgs unknown = c.args();
    unknown.w.format = kernels::FormatId{999};
    for (const auto& kernel : rows()) {
      QCOMPARE(kernel.supports(args), "q8_0 needs rows of a multiple of 32 elements, not 16");
      QCOMPARE(kernel.supports(unknown), "there is no format 999");
    }
  }

  void weightsAreCountedOnce() {
    LinearCase c(*kernels::findFormat("q4_1"), 7, 3, 64);
    for (const auto& kernel : rows()) {
      const kernels::OpCost cost = kernel.cost(c.args());
      QCOMPARE(cost.flops, 2U * 7 * 3 * 64);
      QCOMPARE(cost.weights, 3U * 2 * 20);
      QCOMPARE(cost.activations, 7U * (64 + 3) * 4);
      QCOMPARE(cost.bytes(), cost.weights + cost.activations);
    }
  }

  void stopsWhenAsked() {
    LinearCase c(*kernels::findFormat("f32"), 1, 100, 8);
    kernels::cpu::Pool pool(2);
    std::stop_source stop;
    stop.request_stop();
    for (const auto& kernel : rows()) {
      const LinearArgs args = c.argsFor(kernel);
      tests::Memory scratch(kernel.scratchBytes(args, 2));
      kernel.run(args, {.pool = &pool, .scratch = scratch.bytes(), .stop = stop.get_token()});
      QVERIFY(std::ranges::all_of(c.out, [](float x) { return std::isnan(x); }));  // untouched
    }
  }

 private:
  static void addRowColumns(bool only_blocks = false) {
    QTest::addColumn<int>("row");
    QTest::addColumn<QString>("format");
    addRows([&](int row, const Format& format, const std::string& name) {
      if (only_blocks && format.block_elems == 1) return;
      QTest::newRow(name.c_str()) << row << QString::fromUtf8(format.name.data(), qsizetype(format.name.size()));
    });
  }

  static void check(const Kernel<LinearArgs>& kernel, LinearCase& c, double tolerance) {
    if (const std::string reason = kernel.supports(c.argsFor(kernel)); !reason.empty()) QSKIP(reason.c_str());
    QVERIFY(tests::runKernel(kernel, c.argsFor(kernel), 2));
    QCOMPARE_LE(largestError(c), tolerance);
  }
};

QTEST_GUILESS_MAIN(TestLinear)
#include "tst_linear.moc"
