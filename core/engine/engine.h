// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/backend/backend.h"
#include "core/model/model.h"
#include "core/observe/records.h"
#include "core/observe/snapshot.h"
#include "core/options.h"
#include "core/schedule/request.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace inferoscope::core {

// How far the step in progress is: written by the engine's thread, read by any.
struct StepProgress {
  std::atomic<int> ops_done{0};
  std::atomic<int> ops_total{0};
};

// New text of a request, whole characters only. Lossless: never dropped, unlike records.
struct TextDelta {
  SeqId seq;
  std::string text;
  std::int32_t num_tokens = 0;  // tokens this text came from
  bool finished = false;
  std::vector<TokenId> tokens{};  // these [num_tokens]; their text may come later, with what completes it
};

struct Submitted {
  SeqId seq;            // none if refused
  std::string refusal;  // for people, with the numbers
};

// Monotonic nanoseconds. Tests hand in their own.
using TimeSource = std::function<std::int64_t()>;
std::int64_t steadyNow();

// One lane's inference: a model, a KV cache, a scheduler and a clock. One thread; knows no Qt and no workload.
class Engine {
 public:
  // The backend must be the one that holds the model's weights, and they the ones that the options ask for. Throws
  // Error (no memory for the KV cache).
  Engine(std::shared_ptr<const Model> model, std::shared_ptr<Backend> backend, const EngineOptions& options,
         TimeSource time_source = steadyNow);
  ~Engine();

  const Model& model() const;
  const EngineOptions& options() const;  // in force

  Submitted submit(Request request);  // arrives now, on the lane's clock
  void cancel(SeqId seq);
  void cancelAll();

  // Empty if in force now; else why not, for people, and nothing changed. Where the options ask for other weights,
  // `model` is the one that holds them; running requests keep their tokens and are computed again.
  std::string apply(const EngineOptions& options, std::shared_ptr<const Model> model = nullptr);

  bool idle() const;
  bool active(SeqId seq) const;  // waiting or running
  // One step. None if idle, or if stop was requested within it (then nothing of it counts).
  // Throws Error on a device fault; requests of the batch have then ended with an error.
  std::shared_ptr<const StepRecord> step(std::stop_token stop);

  Snapshot snapshot() const;
  std::vector<TextDelta> takeText();                     // since the last call, in order
  std::shared_ptr<const StepProgress> progress() const;  // may be read by any thread, also after the engine

  // The lane's clock: the sum of its own steps' times plus jumps.
  std::int64_t laneNow() const;
  void jumpTo(std::int64_t lane_ns);  // to the next arrival; never backwards

  // Cancels all requests and starts the sums of Totals anew. The clock, the ids and the step index go on.
  void reset();

  // Logits of the last sampled row of a sequence, kept only while asked for. [vocab_size]
  void keepLogits(bool keep);
  std::span<const float> lastLogits(SeqId seq) const;

  std::string check() const;  // empty if every invariant of the scheduler holds, else the first one broken

 private:
  struct Impl;
  std::unique_ptr<Impl> m_impl;
};

}  // namespace inferoscope::core
