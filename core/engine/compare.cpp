// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/compare.h"

#include "core/engine/scorer.h"
#include "core/error.h"
#include "core/observe/drift.h"
#include "core/observe/logit_divergence.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace inferoscope::core {
namespace {

constexpr int kWarmUps = 1;

struct Repeat {
  ComparisonTally tally;
  bool steady = true;
};

// The machine's ceilings around each repeat, if they are asked for.
class Probes {
 public:
  Probes(Backend& backend, bool wanted) : m_backend(backend), m_wanted(wanted) {}

  // Whether the machine held still since the last call.
  bool steadySince(const std::stop_token& stop) {
    if (!m_wanted) return true;
    m_all.push_back(m_backend.probe(stop));
    return m_all.size() < 2 || heldStill(m_all[m_all.size() - 2], m_all.back());
  }
  MachineLimits median() const { return m_all.empty() ? MachineLimits{} : medianOf(m_all); }

 private:
  Backend& m_backend;
  bool m_wanted;
  std::vector<MachineLimits> m_all;
};

double throughputRatio(const Repeat& repeat) {
  const auto a = repeat.tally.summary(LaneId::kA).outputTokensPerSecond();
  const auto b = repeat.tally.summary(LaneId::kB).outputTokensPerSecond();
  return a && b && *a > 0 ? *b / *a : 1;
}

const Repeat& middleOf(std::vector<Repeat>& repeats) {
  std::ranges::sort(repeats, {}, throughputRatio);
  return repeats[(repeats.size() - 1) / 2];
}

std::vector<Difference> differencesOf(const std::vector<Repeat>& repeats, std::uint64_t seed) {
  std::vector<Pair> same_batch;
  for (const Repeat& repeat : repeats) {
    if (const auto pair = repeat.tally.sameBatchMs()) same_batch.push_back(*pair);
  }
  std::vector<Difference> differences = {differenceOf(kSameBatchTime, same_batch, seed)};
  for (const ComparedMetric& metric : comparedMetrics()) {
    std::vector<Pair> pairs;
    for (const Repeat& repeat : repeats) {
      const auto a = metric.value(repeat.tally.summary(LaneId::kA));
      const auto b = metric.value(repeat.tally.summary(LaneId::kB));
      if (a && b) pairs.push_back({*a, *b});
    }
    differences.push_back(differenceOf(metric, pairs, seed));
  }
  return differences;
}

// All requests of a workload, whenever they would have come.
std::vector<Request> requestsOf(const Scenario& scenario, const std::shared_ptr<const Model>& model) {
  Workload workload(scenario, model);
  std::vector<Request> requests;
  while (auto request = workload.take(std::numeric_limits<std::int64_t>::max())) {
    requests.push_back(std::move(*request));
    workload.answered(0);
  }
  return requests;
}

Repeat runRepeat(const LaneSource& a, const LaneSource& b, const CompareSetup& setup, int index, Probes& probes,
                 const std::stop_token& stop) {
  const LaneId first = index % 2 == 0 ? LaneId::kA : LaneId::kB;
  Repeat repeat{.tally = runBothLanes(a, b, setup, first, stop)};
  repeat.steady = probes.steadySince(stop);
  return repeat;
}

}  // namespace

ComparisonTally runBothLanes(const LaneSource& a, const LaneSource& b, const CompareSetup& setup, LaneId first,
                             const std::stop_token& stop) {
  Experiment experiment(Lane(a.model, a.backend, a.options, setup.time));
  experiment.setLaneB(Lane(b.model, b.backend, b.options, setup.time));
  experiment.setFirst(first);
  experiment.start(setup.scenario);
  ComparisonTally tally(setup.goal);
  while (!experiment.idle()) {
    const Experiment::Stepped stepped = experiment.step(stop);
    if (stop.stop_requested()) throw Cancelled();
    Engine& engine = experiment.lane(stepped.lane).engine();
    engine.takeText();
    if (stepped.record) tally.add(stepped.lane, *stepped.record, engine.snapshot());
  }
  for (const LaneId lane : {LaneId::kA, LaneId::kB}) {
    tally.addRefused(lane, static_cast<int>(experiment.lane(lane).takeRefusals().size()));
  }
  return tally;
}

void compareLogits(const LaneSource& a, const LaneSource& b, const CompareSetup& setup,
                   const std::map<std::string, std::vector<TokenId>>& answers, Quality& quality,
                   const std::stop_token& stop) {
  struct Text {
    std::vector<TokenId> tokens;
    int first_row;
  };
  std::vector<Text> texts;
  int longest = 0;
  std::int64_t num_rows = 0;
  for (Request& request : requestsOf(setup.scenario, a.model)) {
    const auto answer = answers.find(request.label);
    if (num_rows >= setup.quality_tokens || answer == answers.end()) continue;
    Text& text = texts.emplace_back(std::move(request.prompt), static_cast<int>(request.prompt.size()) - 1);
    text.tokens.insert(text.tokens.end(), answer->second.begin(), answer->second.end());
    longest = std::max(longest, static_cast<int>(text.tokens.size()));
    num_rows += std::ssize(answer->second);
  }
  if (texts.empty()) return;

  Scorer scorer_a(a.model, a.backend, a.options, longest);
  Scorer scorer_b(b.model, b.backend, b.options, longest);
  LogitDivergence divergence;
  const auto vocab_size = static_cast<std::size_t>(a.model->config.vocab_size);
  for (const Text& text : texts) {
    scorer_a.start(text.tokens, text.first_row);
    scorer_b.start(text.tokens, text.first_row);
    for (Scorer::Rows rows_a = scorer_a.next(stop); rows_a.count > 0; rows_a = scorer_a.next(stop)) {
      const Scorer::Rows rows_b = scorer_b.next(stop);
      for (std::size_t row = 0; row < static_cast<std::size_t>(rows_a.count); ++row) {
        divergence.add(rows_a.logits.subspan(row * vocab_size, vocab_size),
                       rows_b.logits.subspan(row * vocab_size, vocab_size), a.model->config.num_tokens);
      }
    }
  }
  quality.num_rows = divergence.numRows();
  quality.top1_agreement = divergence.top1Agreement();
  quality.kl_mean = divergence.klMean();
  quality.kl_p99 = divergence.klP99();
}

Comparison compare(const LaneSource& a, const LaneSource& b, const CompareSetup& setup, const CompareProgress& progress,
                   const std::stop_token& stop) {
  const int num_rounds = setup.repeats + kWarmUps + 1;  // the logits are the last
  const auto tell = [&](const std::string& what, int round) {
    if (progress) progress(what, static_cast<double>(round) / num_rounds);
  };
  tell("warming up", 0);
  runBothLanes(a, b, setup, LaneId::kA, stop);

  std::vector<Repeat> repeats;
  Probes probes(*a.backend, setup.probe);
  probes.steadySince(stop);
  for (int i = 0; i < setup.repeats; ++i) {
    tell(fmt::format("repeat {} of {}", i + 1, setup.repeats), i + kWarmUps);
    repeats.push_back(runRepeat(a, b, setup, i, probes, stop));
  }

  Comparison comparison{.scenario = setup.scenario.id,
                        .title = setup.scenario.title,
                        .model = a.model->source,
                        .model_name = a.model->config.name,
                        .seed = setup.scenario.seed,
                        .limits = probes.median()};
  const auto num_steady = std::ranges::count_if(repeats, &Repeat::steady);
  comparison.unsteady = num_steady == 0;
  comparison.num_dropped = static_cast<int>(std::ssize(repeats) - num_steady);
  if (!comparison.unsteady) std::erase_if(repeats, [](const Repeat& repeat) { return !repeat.steady; });
  comparison.num_repeats = comparison.unsteady ? 0 : static_cast<int>(num_steady);

  comparison.differences = differencesOf(repeats, setup.seed);
  const ComparisonTally& middle = middleOf(repeats).tally;
  comparison.a = middle.lane(LaneId::kA);
  comparison.b = middle.lane(LaneId::kB);
  comparison.quality = middle.answersCompared();
  if (setup.quality_tokens > 0) {
    tell("comparing logits", num_rounds - 1);
    compareLogits(a, b, setup, middle.answers(LaneId::kA), comparison.quality, stop);
  }
  return comparison;
}

}  // namespace inferoscope::core
