// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/words.h"

#include <QCoreApplication>

#include <algorithm>

namespace inferoscope::gui {

namespace {
class Words {
  Q_DECLARE_TR_FUNCTIONS(Words)
};
}  // namespace

QString blockStateWord(core::BlockState state) {
  switch (state) {
    case core::BlockState::kFree:
      return Words::tr("free");
    case core::BlockState::kCached:
      return Words::tr("cached");
    case core::BlockState::kUsed:
      return Words::tr("used");
    case core::BlockState::kShared:
      return Words::tr("shared");
  }
  return {};
}

QString seqStateWord(core::SeqState state) {
  switch (state) {
    case core::SeqState::kWaiting:
      return Words::tr("waiting");
    case core::SeqState::kRunning:
      return Words::tr("running");
    case core::SeqState::kPreempted:
      return Words::tr("preempted");
    case core::SeqState::kFinished:
      return Words::tr("finished");
  }
  return {};
}

QString waitReasonWords(core::WaitReason reason) {
  switch (reason) {
    case core::WaitReason::kNone:
      return {};
    case core::WaitReason::kStepTokens:
      return Words::tr("the step's tokens are spent");
    case core::WaitReason::kBlocks:
      return Words::tr("no block left");
    case core::WaitReason::kMaxSequences:
      return Words::tr("the batch is full");
    case core::WaitReason::kHeadOfLine:
      return Words::tr("behind another request");
    case core::WaitReason::kAfterPreemption:
      return Words::tr("a preemption comes first");
    case core::WaitReason::kStaticBatch:
      return Words::tr("the batch has to end first");
  }
  return {};
}

QString finishWords(core::FinishReason reason) {
  switch (reason) {
    case core::FinishReason::kNone:
      return {};
    case core::FinishReason::kEndOfTurn:
      return Words::tr("end of turn");
    case core::FinishReason::kLength:
      return Words::tr("length reached");
    case core::FinishReason::kStopString:
      return Words::tr("stop string");
    case core::FinishReason::kContextFull:
      return Words::tr("context full");
    case core::FinishReason::kCancelled:
      return Words::tr("cancelled");
    case core::FinishReason::kError:
      return Words::tr("error");
  }
  return {};
}

const core::RequestInfo* findRequest(const core::Snapshot* snapshot, core::SeqId seq) {
  if (snapshot == nullptr || !seq.valid()) return nullptr;
  const auto found = std::ranges::find(snapshot->requests, seq, &core::RequestInfo::seq);
  return found == snapshot->requests.end() ? nullptr : &*found;
}

QString requestName(const core::Snapshot* snapshot, core::SeqId seq) {
  const core::RequestInfo* request = findRequest(snapshot, seq);
  if (request != nullptr && !request->label.empty()) return QString::fromStdString(request->label);
  return Words::tr("request %1").arg(seq.value);
}

QString noModelWords() {
  return Words::tr("No model loaded");
}
QString firstStepWords() {
  return Words::tr("Waiting for the first step");
}

}  // namespace inferoscope::gui
