// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"
#include "core/engine/knobs.h"
#include "core/error.h"
#include "core/model/model_store.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace inferoscope::tests {

using Settings = std::vector<std::pair<const char*, std::string>>;

// Options with these knobs set on top of others.
inline core::EngineOptions with(const Settings& settings, core::EngineOptions options = {}) {
  for (const auto& [id, value] : settings) {
    const std::string wrong = core::setKnob(options, id, value);
    if (!wrong.empty()) throw core::Error(wrong);
  }
  return options;
}

inline std::shared_ptr<const core::Model> loadOn(core::Backend& backend, const std::string& source) {
  return core::loadModel(source, backend, {}, {});
}

// `count` ids that look random and are the same for the same `first`.
inline std::vector<core::TokenId> someIds(int count, int first, int below = 250) {
  std::vector<core::TokenId> ids;
  auto state = static_cast<std::uint32_t>(first) * 2654435761U + 12345U;
  for (int i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    ids.push_back(static_cast<core::TokenId>((state >> 8) % static_cast<std::uint32_t>(below)));
  }
  return ids;
}

inline core::Request ask(std::vector<core::TokenId> prompt, int max_new_tokens) {
  core::Request request;
  request.label = "test";
  request.prompt = std::move(prompt);
  request.max_new_tokens = max_new_tokens;
  request.ignore_end_of_turn = true;
  return request;
}

// What an engine gave to one request, step by step.
struct Answer {
  std::vector<core::TokenId> tokens;
  std::vector<float> logits;  // [num tokens, vocab_size], only with keepLogits()
  std::string text;
  bool finished = false;
};
using Answers = std::map<core::SeqId, Answer>;

// Adds what a step gave. Null is nothing.
inline void collect(core::Engine& engine, const std::shared_ptr<const core::StepRecord>& record, Answers& answers) {
  if (record) {
    for (const core::StepEntry& entry : record->entries) {
      if (entry.sampled < 0) continue;
      Answer& answer = answers[entry.seq];
      answer.tokens.push_back(entry.sampled);
      const std::span<const float> row = engine.lastLogits(entry.seq);
      answer.logits.insert(answer.logits.end(), row.begin(), row.end());
    }
  }
  for (const core::TextDelta& delta : engine.takeText()) {
    answers[delta.seq].text += delta.text;
    answers[delta.seq].finished |= delta.finished;
  }
}

// Steps until nothing is left to do; at most `max_steps`.
inline Answers runAll(core::Engine& engine, int max_steps = 100000) {
  Answers answers;
  for (int i = 0; i < max_steps && !engine.idle(); ++i) collect(engine, engine.step({}), answers);
  return answers;
}

}  // namespace inferoscope::tests
