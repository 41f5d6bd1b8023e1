// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/observe/limits.h"
#include "core/observe/records.h"
#include "core/observe/snapshot.h"

namespace inferoscope::core {

std::string_view boundName(Bound bound) {
  switch (bound) {
    case Bound::kUnknown:
      return "-";
    case Bound::kBandwidth:
      return "bandwidth-bound";
    case Bound::kCompute:
      return "compute-bound";
    case Bound::kOverhead:
      return "overhead-bound";
    case Bound::kCache:
      return "fits in cache";
  }
  return "-";
}

std::string_view waitReasonName(WaitReason reason) {
  switch (reason) {
    case WaitReason::kNone:
      return "";
    case WaitReason::kStepTokens:
      return "the step's tokens are used up";
    case WaitReason::kBlocks:
      return "no KV blocks free";
    case WaitReason::kMaxSequences:
      return "the batch is full";
    case WaitReason::kHeadOfLine:
      return "behind another request";
    case WaitReason::kAfterPreemption:
      return "a request was just preempted";
    case WaitReason::kStaticBatch:
      return "the static batch is still running";
  }
  return "";
}

std::string_view seqStateName(SeqState state) {
  switch (state) {
    case SeqState::kWaiting:
      return "waiting";
    case SeqState::kRunning:
      return "running";
    case SeqState::kPreempted:
      return "preempted";
    case SeqState::kFinished:
      return "finished";
  }
  return "";
}

std::string_view finishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kNone:
      return "";
    case FinishReason::kEndOfTurn:
      return "end_of_turn";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kStopString:
      return "stop";
    case FinishReason::kContextFull:
      return "context_full";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      return "error";
  }
  return "";
}

}  // namespace inferoscope::core
