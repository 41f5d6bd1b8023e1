// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/session/frame_mailbox.h"

#include <QtTest>

#include <atomic>
#include <string>
#include <thread>

using namespace inferoscope;

namespace {

std::shared_ptr<const core::StepRecord> step(std::int64_t index) {
  auto record = std::make_shared<core::StepRecord>();
  record->step_index = index;
  return record;
}

std::shared_ptr<const core::Snapshot> snapshot(std::int64_t index) {
  auto state = std::make_shared<core::Snapshot>();
  state->step_index = index;
  return state;
}

std::vector<core::TextDelta> text(const std::string& words) {
  return {{.seq = core::SeqId{0}, .text = words, .num_tokens = 1}};
}

// "0 1 2": the steps of a frame.
std::string stepsOf(const gui::Frame& frame) {
  std::string line;
  for (const auto& record : frame.steps) line += (line.empty() ? "" : " ") + std::to_string(record->step_index);
  return line;
}

std::string textOf(const gui::Frame& frame) {
  std::string all;
  for (const core::TextDelta& delta : frame.texts) all += delta.text;
  return all;
}

}  // namespace

class TestFrameMailbox : public QObject {
  Q_OBJECT

 private slots:
  void givesNothingBeforeTheFirstSnapshot() {
    gui::FrameMailbox mailbox;
    QVERIFY(!mailbox.take());
    mailbox.putStep(step(0));
    mailbox.putText(text("kept"));
    QVERIFY(!mailbox.take());
    mailbox.putSnapshot(snapshot(1));
    const auto frame = mailbox.take();
    QVERIFY(frame);
    QCOMPARE(stepsOf(*frame), std::string("0"));
    QCOMPARE(textOf(*frame), std::string("kept"));
  }

  void givesEachThingOnce() {
    gui::FrameMailbox mailbox;
    mailbox.putSnapshot(snapshot(2));
    mailbox.putStep(step(0));
    mailbox.putStep(step(1));
    mailbox.putText(text("once"));
    const auto frame = mailbox.take();
    QCOMPARE(stepsOf(*frame), std::string("0 1"));
    QCOMPARE(textOf(*frame), std::string("once"));
    QCOMPARE(frame->snapshot->step_index, 2);
    QVERIFY(!mailbox.take());
  }

  void keepsTheSnapshotUntilThereIsABetterOne() {
    gui::FrameMailbox mailbox;
    mailbox.putSnapshot(snapshot(1));
    mailbox.putSnapshot(snapshot(2));
    QCOMPARE(mailbox.take()->snapshot->step_index, 2);
    mailbox.putStep(step(2));
    QCOMPARE(mailbox.take()->snapshot->step_index, 2);
  }

  void wantsASnapshotOnceTheLastOneIsTaken() {
    gui::FrameMailbox mailbox;
    QVERIFY(mailbox.wantsSnapshot());
    mailbox.putSnapshot(snapshot(1));
    QVERIFY(!mailbox.wantsSnapshot());
    mailbox.take();
    QVERIFY(mailbox.wantsSnapshot());
  }

  void dropsTheOldestStepsAndCountsThem() {
    gui::FrameMailbox mailbox(3);
    mailbox.putSnapshot(snapshot(0));
    for (int i = 0; i < 5; ++i) mailbox.putStep(step(i));
    auto frame = mailbox.take();
    QCOMPARE(stepsOf(*frame), std::string("2 3 4"));
    QCOMPARE(frame->dropped_steps, 2U);
    mailbox.putStep(step(5));
    frame = mailbox.take();
    QCOMPARE(stepsOf(*frame), std::string("5"));
    QCOMPARE(frame->dropped_steps, 2U);  // in all
  }

  void neverDropsText() {
    gui::FrameMailbox mailbox(3);
    mailbox.putSnapshot(snapshot(0));
    std::string all;
    for (int i = 0; i < 1000; ++i) {
      mailbox.putText(text(std::to_string(i) + ","));
      all += std::to_string(i) + ",";
    }
    QCOMPARE(textOf(*mailbox.take()), all);
  }

  // Each lane has a ring and a latest snapshot of its own, and both come in one frame.
  void lanesAreKeptApart() {
    gui::FrameMailbox mailbox(2);
    mailbox.putSnapshot(snapshot(1));
    QVERIFY(!mailbox.take()->b);
    QVERIFY(mailbox.wantsSnapshot(core::LaneId::kB));
    for (int i = 0; i < 3; ++i) mailbox.putStep(step(i), core::LaneId::kB);
    mailbox.putText(text("b"), core::LaneId::kB);
    mailbox.putSnapshot(snapshot(7), core::LaneId::kB);
    const auto frame = mailbox.take();
    QCOMPARE(frame->snapshot->step_index, 1);
    QVERIFY(frame->steps.empty() && frame->texts.empty() && frame->dropped_steps == 0);
    QCOMPARE(frame->b->snapshot->step_index, 7);
    QCOMPARE(stepsOf({*frame->b, {}}), std::string("1 2"));
    QCOMPARE(frame->b->texts.front().text, std::string("b"));
    QCOMPARE(frame->b->dropped_steps, 1U);
    QVERIFY(!mailbox.take());
    mailbox.putStep(step(3));
    QVERIFY(mailbox.take()->b);  // it stays, with nothing new
  }

  // A fast engine against a slow reader: what arrives is in order and adds up.
  void losesNothingUncountedBetweenThreads() {
    constexpr std::int64_t kSteps = 50'000;
    gui::FrameMailbox mailbox(64);
    std::atomic<bool> done = false;
    std::thread engine([&] {
      for (std::int64_t i = 0; i < kSteps; ++i) {
        mailbox.putStep(step(i));
        mailbox.putText({{.seq = core::SeqId{static_cast<std::int32_t>(i)}, .text = {}, .num_tokens = 1}});
        if (mailbox.wantsSnapshot()) mailbox.putSnapshot(snapshot(i + 1));
      }
      mailbox.putSnapshot(snapshot(kSteps));
      done = true;
    });

    std::int64_t last_step = -1, last_text = -1, last_state = 0, num_steps = 0;
    std::uint64_t num_dropped = 0;
    bool ordered = true;
    for (bool last = false; !last;) {
      last = done;  // before the take: nothing is put after it
      const auto frame = mailbox.take();
      if (!frame) continue;
      for (const auto& record : frame->steps) {
        ordered &= record->step_index > last_step;
        last_step = record->step_index;
        ++num_steps;
      }
      for (const core::TextDelta& delta : frame->texts) {
        ordered &= delta.seq.value == last_text + 1;
        last_text = delta.seq.value;
      }
      ordered &= frame->snapshot->step_index >= last_state && frame->dropped_steps >= num_dropped;
      last_state = frame->snapshot->step_index;
      num_dropped = frame->dropped_steps;
    }
    engine.join();

    QVERIFY(ordered);
    QCOMPARE(num_steps + static_cast<std::int64_t>(num_dropped), kSteps);
    QCOMPARE(last_text, kSteps - 1);
    QCOMPARE(last_state, kSteps);
  }
};

QTEST_GUILESS_MAIN(TestFrameMailbox)
#include "tst_frame_mailbox.moc"
