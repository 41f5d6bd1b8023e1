// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/paint/legend_bar.h"
#include "gui/views/layer_tape.h"
#include "gui/views/token_bytes_layout.h"
#include "tests/support/frames.h"

#include <QTest>

#include <cmath>
#include <map>

using namespace inferoscope;
using namespace inferoscope::gui;
using core::ByteKind;

namespace {

core::StepRecord step(std::int64_t index, std::int64_t start_ms, std::int64_t ms, int num_sampled, double weights_mb,
                      double kv_mb = 0) {
  core::StepRecord record;
  record.step_index = index;
  record.start_ns = start_ms * 1'000'000;
  record.duration_ns = ms * 1'000'000;
  record.num_sampled = num_sampled;
  record.cost.weights = static_cast<std::uint64_t>(weights_mb * 1e6);
  record.cost.kv_read = static_cast<std::uint64_t>(kv_mb * 1e6);
  return record;
}

// Weights a token in MB, by column.
QList<double> weights(const TokenBytesSeries& series) {
  QList<double> mb;
  for (const double bytes : series.per_token[0]) mb << bytes / 1e6;
  return mb;
}

core::OpRecord op(std::int64_t start_ns, std::int64_t duration_ns) {
  core::OpRecord record;
  record.start_ns = start_ns;
  record.duration_ns = duration_ns;
  return record;
}

}  // namespace

class TestTokenBytesLayout : public QObject {
  Q_OBJECT

 private slots:
  // Twice the batch: half of the weights a token.
  void batchingHalvesTheWeights() {
    TokenBytesHistory history;
    history.add(step(0, 0, 50, 1, 100, 4));
    history.add(step(1, 100, 50, 2, 100, 8));
    const TokenBytesSeries series = bytesPerToken(history, 0, 5, 50);
    QCOMPARE(weights(series), (QList<double>{100, 50}));
    QCOMPARE(series.per_token[static_cast<std::size_t>(ByteKind::kKvRead)], (std::vector<double>{4e6, 4e6}));
    QCOMPARE(series.total(1), 54e6);
    QCOMPARE(series.seconds, (std::vector<double>{0.0, 0.1}));
    QVERIFY(std::abs(series.end_s - 0.2) < 1e-9);
  }

  // Two steps of a prompt without a token, then three tokens in 0.1 s: they pay all of it.
  void prefillIsPaidByTheTokensAfterIt() {
    TokenBytesHistory history;
    history.add(step(0, 0, 90, 0, 100));
    history.add(step(1, 90, 100, 0, 100));
    history.add(step(2, 190, 20, 3, 100));
    history.add(step(3, 310, 20, 1, 100));
    QCOMPARE(weights(bytesPerToken(history, 0, 5, 50)), (QList<double>{100, 100}));
    QVERIFY(bytesPerToken(history, 0, 5, 50).seconds.front() == 0);
  }

  void nothingIsMadeUp() {
    TokenBytesHistory history;
    QVERIFY(bytesPerToken(history, 0, 5, 50).empty());
    history.add(step(0, 0, 90, 0, 100));
    QVERIFY(bytesPerToken(history, 0, 5, 50).empty());  // no token yet
    QVERIFY(bytesPerToken(history, 0, 5, 0).empty());
    QVERIFY(bytesPerToken(history, 5, 5, 50).empty());
  }

  // However the columns fall, bytes and tokens are those of the steps.
  void sumsAreKept() {
    TokenBytesHistory history;
    double bytes = 0, tokens = 0;
    const Frame frame = tests::fullFrame();
    for (const auto& each : frame.steps) {
      history.add(*each);
      bytes += static_cast<double>(each->cost.bytes());
      tokens += each->num_sampled;
    }
    const double to_s = static_cast<double>(history.endNs()) / 1e9 + 1;
    const TokenBytesSeries one = bytesPerToken(history, 0, to_s, 1);
    QCOMPARE(one.seconds.size(), std::size_t{1});
    QVERIFY(std::abs(one.total(0) * tokens / bytes - 1) < 1e-9);
    QVERIFY(bytesPerToken(history, 0, to_s, 40).seconds.size() <= 41);
  }

  void forgetsTheOldestAndResets() {
    TokenBytesHistory history(3);
    for (int i = 0; i < 10; ++i) history.add(step(i, 100 * i, 50, 1, 10));
    QCOMPARE(history.bins().size(), std::size_t{3});
    QCOMPARE(history.bins().front().index, std::int64_t{7});
    history.add(step(0, 0, 50, 1, 10));
    QCOMPARE(history.bins().size(), std::size_t{1});
  }

  void columnsAreFound() {
    TokenBytesSeries series;
    series.seconds = {1, 2, 5};
    QCOMPARE(columnAt(series, 0.5), -1);
    QCOMPARE(columnAt(series, 1.0), 0);
    QCOMPARE(columnAt(series, 4.9), 1);
    QCOMPARE(columnAt(series, 99), 2);
  }

  // ---- The tape

  void everyPixelIsTheSameNumberOfBytes() {
    const std::vector<std::uint64_t> bytes = {100, 0, 250, 50, 600};
    const QRect area(10, 20, 100, 45);
    const Tape tape = layoutTape(bytes, area, 11);  // 4 lines
    QCOMPARE(tape.bytes_per_line, 250.0);
    std::map<std::size_t, double> lengths;
    for (const TapePiece& piece : tape.pieces) {
      lengths[piece.op] += piece.place.width();
      QVERIFY(QRectF(area).adjusted(-1e-6, 0, 1e-6, 0).contains(piece.place));
    }
    QCOMPARE(lengths.size(), std::size_t{4});
    for (const auto& [op_index, length] : lengths) {
      QVERIFY(std::abs(length - static_cast<double>(bytes[op_index]) * 0.4) < 1e-6);
    }
    // 100 and 150 of 250 on the first line, the other 100 on the second.
    QCOMPARE(tape.pieces[1].place, QRectF(50, 20, 60, 9));
    QCOMPARE(tape.pieces[2].place, QRectF(10, 31, 40, 9));
    QVERIFY(tape.pieces[1].first && !tape.pieces[2].first);
    QCOMPARE(opAt(tape, {60, 25}), 2);
    QCOMPARE(opAt(tape, {20, 35}), 2);
    QCOMPARE(opAt(tape, {2, 2}), -1);
  }

  // Of two tapes on areas of one size, the one with less to read ends earlier.
  void tapesShareAScale() {
    const Tape tape = layoutTape({500}, QRect(0, 0, 100, 44), 11, 1000);  // 4 lines
    QCOMPARE(tape.bytes_per_line, 250.0);
    QCOMPARE(tape.pieces.size(), std::size_t{2});
    QCOMPARE(layoutTape({500}, QRect(0, 0, 100, 44), 11, 100).bytes_per_line, 125.0);
  }

  void tapesOfNothing() {
    QVERIFY(layoutTape({}, QRect(0, 0, 100, 100), 10).pieces.empty());
    QVERIFY(layoutTape({0, 0}, QRect(0, 0, 100, 100), 10).pieces.empty());
    QVERIFY(layoutTape({5}, QRect(0, 0, 100, 5), 10).pieces.empty());
  }

  void theOpAtATime() {
    const std::vector<core::OpRecord> ops = {op(1000, 50), op(1060, 100), op(1160, 40)};
    QCOMPARE(opAtTime(ops, 0), 0);
    QCOMPARE(opAtTime(ops, 49), 0);
    QCOMPARE(opAtTime(ops, 55), -1);  // between ops
    QCOMPARE(opAtTime(ops, 60), 1);
    QCOMPARE(opAtTime(ops, 160), 2);
    QCOMPARE(opAtTime(ops, 200), -1);
    QCOMPARE(opAtTime({}, 0), -1);
    QCOMPARE(lengthNs(ops), std::int64_t{200});
  }

  // A replay keeps its step until it begins again.
  void theReplayLightsTheOpThatRuns() {
    const Frame frame = tests::smallFrame();
    LayerTape tape;
    tape.resize(300, 200);
    tape.showStep(frame.steps[0]);
    QCOMPARE(tape.litOp(), -1);
    tape.setReplay(true);
    QCOMPARE(tape.litOp(), 0);
    const QImage first = tape.grab().toImage();
    tape.showTime(frame.steps[0]->ops[40].start_ns - frame.steps[0]->ops[0].start_ns + 1);
    QCOMPARE(tape.litOp(), 40);
    tape.showStep(frame.steps[1]);
    QCOMPARE(tape.litOp(), 40);
    QVERIFY(tape.grab().toImage() != first);
    tape.setReplay(false);
    QCOMPARE(tape.litOp(), -1);
  }

  // ---- The legend

  void boxesWrap() {
    const std::vector<QRect> boxes = flow({40, 40, 50, 300}, 12, 10, QRect(5, 5, 100, 0));
    QCOMPARE(boxes, (std::vector<QRect>{{5, 5, 40, 12}, {55, 5, 40, 12}, {5, 17, 50, 12}, {5, 29, 300, 12}}));
  }
};

QTEST_MAIN(TestTokenBytesLayout)
#include "tst_token_bytes_layout.moc"
