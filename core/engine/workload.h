// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/ids.h"
#include "core/model/model.h"
#include "core/options.h"
#include "core/schedule/request.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace inferoscope::core {

enum class ArrivalKind : std::uint8_t { kClosedLoop, kConstant, kPoisson, kGamma, kTrace };

struct Arrivals {
  ArrivalKind kind = ArrivalKind::kClosedLoop;
  int concurrency = 4;        // closed loop: users who ask again when their answer is there
  double think_time_s = 0;    // closed loop
  double requests_per_s = 1;  // the others
  double burstiness = 1;      // gamma: shape of the gaps; 1 is Poisson, below 1 bursty
  int num_requests = 0;       // 0: without end; of a trace: all of it
  double time_scale = 1;      // trace: its times are multiplied by this

  friend bool operator==(const Arrivals&, const Arrivals&) = default;
};

enum class LengthKind : std::uint8_t { kFixed, kUniform, kLognormal, kEither };

struct Lengths {
  LengthKind kind = LengthKind::kFixed;
  double mean = 64;    // fixed: the length; lognormal: exp(mu)
  double sigma = 0.5;  // lognormal: of ln
  int min = 1;
  int max = 512;
  double share = 0.5;  // either: of those that are `max` long; the others are `min`

  friend bool operator==(const Lengths&, const Lengths&) = default;
};

// One request of a recorded trace.
struct TraceRow {
  double arrival_s = 0;
  int prompt_tokens = 1;
  int output_tokens = 1;

  friend bool operator==(const TraceRow&, const TraceRow&) = default;
};

// A workload as a person writes it: resources/scenarios/*.json. Plain value.
//
// The file is one JSON object. Every field but `id` may be left out; unknown ones are refused. A text may also be
// written as a list of its lines.
//   id, title, explanation  texts
//   model                   MODEL to load: a GGUF file, "default", "synthetic:NAME[:FORMAT]"
//   seed                    whole number: the same seed gives the same requests
//   arrivals                {"kind": "closed-loop", "concurrency": users, "think_time_s": pause before asking again}
//                           or {"kind": "constant" | "poisson" | "gamma", "requests_per_s": rate,
//                               "burstiness": shape of gamma's gaps, 1 = Poisson, below 1 bursty};
//                           both with "num_requests": how many in all, 0 = without end;
//                           or {"kind": "trace", "file": a CSV beside this file with the columns arrival_s,
//                               prompt_tokens, output_tokens and a line of names, "time_scale": factor of its times}
//   prompts                 texts, asked in a shuffled order, then again in another; none: random token ids
//   variations              texts added to the prompts, in turn, from the second time on
//   chat                    true: prompts go through the model's chat template
//   system_prompt           text that all requests begin with
//   prompt_tokens           length of prompts of random ids: a number, or {"kind": "fixed", "mean"},
//                           {"kind": "uniform", "min", "max"}, {"kind": "lognormal", "mean": exp(mu), "sigma", "min",
//                           "max"}, {"kind": "either", "min", "max", "share": of those that are max long}
//   turns                   with prompts of random ids: so many requests in a row make a conversation, each prompt
//                           being the one before with prompt_tokens more
//   output_tokens           most tokens of an answer, in the same form
//   ignore_end_of_turn      true: answers have exactly that many
//   sampling                {"temperature", "top_k", "top_p", "min_p", "repeat_penalty", "repeat_last_n"}
//   knobs                   {"block-size": 16, "prefix-cache": "off", ...}: any of the knob table
struct Scenario {
  std::string id;
  std::string title;
  std::string explanation;
  std::string model;  // empty: whatever is loaded
  std::uint64_t seed = 1;
  Arrivals arrivals;
  std::vector<std::string> prompts;     // texts asked in a seeded order; empty: token ids by prompt_tokens
  std::vector<std::string> variations;  // added to the prompts, in turn, when they come round again
  bool chat = true;                     // prompts go through the model's chat template
  std::string system_prompt;            // shared by all requests; empty: none
  Lengths prompt_tokens;                // used where there are no prompts
  int turns = 1;                        // with random ids: requests that go on from each other
  Lengths output_tokens;                // most tokens of an answer
  bool ignore_end_of_turn = false;      // answers have exactly output_tokens tokens
  std::vector<TraceRow> trace;          // in order of arrival; its lengths go before the two above
  SamplingParams sampling;
  std::map<std::string, std::string> knobs;  // id -> value; checked, applied by whoever runs the scenario
};

// It has requests as long as somebody serves them.
bool endless(const Scenario& scenario);

// The options to run it with: `base` with the scenario's knobs set. Throws Error if a knob is unknown or its value
// wrong.
EngineOptions optionsOf(const Scenario& scenario, EngineOptions base);

// Throws Error naming the file and the field.
Scenario loadScenario(const std::filesystem::path& file);
// The scenarios that come with the program, by id. The first is the one to start with.
std::vector<Scenario> builtinScenarios();
// A file, or the id of one that comes with the program. Throws Error.
Scenario findScenario(const std::string& id_or_file);

// Makes the requests of a scenario, in order of arrival, from its seed alone. Owns no engine.
class Workload {
 public:
  // start_ns: the lane's time at which it begins.
  Workload(Scenario scenario, std::shared_ptr<const Model> model, std::int64_t start_ns = 0);

  // The next request due at or before lane_ns, if any; its arrival is when it was due.
  std::optional<Request> take(std::int64_t lane_ns);
  // When the next one is due; none: nothing more to come, or it waits for an answer (closed loop).
  std::optional<std::int64_t> nextArrival() const;
  // An answer is there: a user of a closed loop may ask again.
  void answered(std::int64_t lane_ns);
  bool finished() const;  // all requests taken
  const Scenario& scenario() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> m_impl;
};

}  // namespace inferoscope::core
