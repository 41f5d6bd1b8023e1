// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/comparison_run.h"

#include "core/engine/perplexity.h"
#include "core/engine/scorer.h"
#include "core/error.h"
#include "core/observe/drift.h"
#include "core/observe/logit_divergence.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace inferoscope::core {
namespace {

Experiment twoLanes(const LaneSource& a, const LaneSource& b, const CompareSetup& setup, LaneId first) {
  Experiment experiment(Lane(a.model, a.backend, a.options, setup.time));
  experiment.setLaneB(Lane(b.model, b.backend, b.options, setup.time));
  experiment.setFirst(first);
  experiment.start(setup.scenario);
  return experiment;
}

int numRequests(const Scenario& scenario) {
  const int asked = scenario.arrivals.num_requests;
  const bool is_trace = scenario.arrivals.kind == ArrivalKind::kTrace;
  return is_trace && asked == 0 ? static_cast<int>(scenario.trace.size()) : asked;
}

// What a reader must know before any figure: lanes that served other requests can't be compared by them.
std::vector<std::string> workNotices(const RunSummary& a, const RunSummary& b) {
  if (a.num_refused == b.num_refused && a.num_finished == b.num_finished) return {};
  return {fmt::format("the lanes did not do the same work: A served {} requests and refused {}, B {} and {}",
                      a.num_finished, a.num_refused, b.num_finished, b.num_refused)};
}

double throughputRatio(const ComparisonTally& tally) {
  const auto a = tally.summary(LaneId::kA).outputTokensPerSecond();
  const auto b = tally.summary(LaneId::kB).outputTokensPerSecond();
  return a && b && *a > 0 ? *b / *a : 1;
}

// By the ratio of the lanes' throughput.
const ComparisonTally& middleOf(std::vector<const ComparisonTally*> tallies) {
  std::ranges::sort(tallies, {}, [](const ComparisonTally* tally) { return throughputRatio(*tally); });
  return *tallies[(tallies.size() - 1) / 2];
}

std::vector<Difference> differencesOf(const std::vector<const ComparisonTally*>& tallies, std::uint64_t seed) {
  std::vector<Pair> same_batch;
  std::vector<RunSummary> runs_a, runs_b;
  for (const ComparisonTally* tally : tallies) {
    if (const auto pair = tally->sameBatchMs()) same_batch.push_back(*pair);
    runs_a.push_back(tally->summary(LaneId::kA));
    runs_b.push_back(tally->summary(LaneId::kB));
  }
  std::vector<Difference> differences = {differenceOf(kSameBatchTime, same_batch, seed)};
  for (const ComparedMetric& metric : comparedMetrics()) {
    differences.push_back(differenceOf(metric, runs_a, runs_b, seed));
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

}  // namespace

std::vector<std::string> loadNotices(const Model& a, const Model& b) {
  std::vector<std::string> notices;
  const auto add = [&](const char* lane, const Model& model, const Model& other) {
    for (const std::string& notice : model.notices) {
      const bool in_both = std::ranges::find(other.notices, notice) != other.notices.end();
      const std::string line = in_both ? notice : fmt::format("{}: {}", lane, notice);
      if (std::ranges::find(notices, line) == notices.end()) notices.push_back(line);
    }
  };
  add("A", a, b);
  add("B", b, a);
  return notices;
}

Round::Round(const LaneSource& a, const LaneSource& b, const CompareSetup& setup, LaneId first)
    : m_experiment(twoLanes(a, b, setup, first)), m_tally(setup.goal) {}

Round::Step Round::advance(const std::stop_token& stop) {
  const Experiment::Stepped stepped = m_experiment.step(stop);
  if (stop.stop_requested()) throw Cancelled();
  Lane& lane = m_experiment.lane(stepped.lane);
  Step step{stepped.lane, stepped.record, std::make_shared<const Snapshot>(lane.engine().snapshot()),
            lane.engine().takeText()};
  if (step.record) m_tally.add(step.lane, *step.record, *step.after);
  m_tally.addRefused(step.lane, static_cast<int>(lane.takeRefusals().size()));
  return step;
}

// A's answers, read by both settings, some tokens at a time.
class ComparisonRun::Logits {
 public:
  Logits(const LaneSource& a, const LaneSource& b, const CompareSetup& setup,
         const std::map<std::string, std::vector<TokenId>>& answers)
      : m_config(a.model->config) {
    int longest = 0;
    for (Request& request : requestsOf(setup.scenario, a.model)) {
      const auto answer = answers.find(request.label);
      if (m_num_wanted >= setup.quality_tokens || answer == answers.end()) continue;
      Text& text = m_texts.emplace_back(std::move(request.prompt), static_cast<int>(request.prompt.size()) - 1);
      text.tokens.insert(text.tokens.end(), answer->second.begin(), answer->second.end());
      longest = std::max(longest, static_cast<int>(text.tokens.size()));
      m_num_wanted += std::ssize(answer->second);
    }
    if (m_texts.empty()) return;
    m_a.emplace(a.model, a.backend, a.options, longest);
    m_b.emplace(b.model, b.backend, b.options, longest);
  }

  // False: all is read.
  bool advance(const std::stop_token& stop) {
    if (m_next == m_texts.size() && !m_reading) return false;
    if (!std::exchange(m_reading, true)) {
      const Text& text = m_texts[m_next++];
      m_a->start(text.tokens, text.first_row);
      m_b->start(text.tokens, text.first_row);
    }
    const Scorer::Rows a = m_a->next(stop);
    const Scorer::Rows b = m_b->next(stop);
    m_reading = a.count > 0;
    const auto vocab_size = static_cast<std::size_t>(m_config.vocab_size);
    for (std::size_t row = 0; row < static_cast<std::size_t>(a.count); ++row) {
      m_divergence.add(a.logits.subspan(row * vocab_size, vocab_size), b.logits.subspan(row * vocab_size, vocab_size),
                       m_config.num_tokens);
    }
    return true;
  }

  double share() const {
    return m_num_wanted > 0 ? static_cast<double>(m_divergence.numRows()) / static_cast<double>(m_num_wanted) : 1;
  }

  void addTo(Quality& quality) const {
    quality.num_rows = m_divergence.numRows();
    quality.top1_agreement = m_divergence.top1Agreement();
    quality.kl_mean = m_divergence.klMean();
    quality.kl_p99 = m_divergence.klP99();
  }

 private:
  struct Text {
    std::vector<TokenId> tokens;
    int first_row;
  };

  ModelConfig m_config;
  std::vector<Text> m_texts;
  std::int64_t m_num_wanted = 0;
  std::optional<Scorer> m_a;
  std::optional<Scorer> m_b;
  std::size_t m_next = 0;
  bool m_reading = false;
  LogitDivergence m_divergence;
};

ComparisonRun::ComparisonRun(LaneSource a, LaneSource b, CompareSetup setup)
    : m_a(std::move(a)), m_b(std::move(b)), m_setup(std::move(setup)) {
  if (!m_setup.text.empty() && windowsOf(m_setup.text, *m_a.model).empty()) {
    throw Error(fmt::format("{}: the text has too few tokens to be scored", m_setup.text_name));
  }
  startRound();
}

ComparisonRun::~ComparisonRun() = default;

// Who begins alternates.
void ComparisonRun::startRound() {
  ++m_round_index;
  m_round.reset();  // its memory first
  m_round = std::make_unique<Round>(m_a, m_b, m_setup, m_round_index % 2 == 0 ? LaneId::kA : LaneId::kB);
  m_stage = Stage::kRound;
}

std::optional<Round::Step> ComparisonRun::advance(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Cancelled();
  if (m_stage == Stage::kRound) {
    Round::Step step = m_round->advance(stop);
    if (m_round->done()) endRound();
    return step;
  }
  if (m_stage == Stage::kProbe) {
    probe(stop);
  } else if (m_stage == Stage::kLogits && !m_logits->advance(stop)) {
    m_logits->addTo(m_quality);
    m_logits.reset();
    startText();
  } else if (m_stage == Stage::kText && !m_text->advance(stop)) {
    endText();
  }
  return std::nullopt;
}

void ComparisonRun::endRound() {
  if (m_round_index > 0) m_repeats.push_back({.tally = m_round->tally()});
  m_stage = Stage::kProbe;
}

// Between two rounds: was the machine the same before and after the one that ended?
void ComparisonRun::probe(const std::stop_token& stop) {
  if (m_setup.probe) {
    m_probes.push_back(m_a.backend->probe(stop));
    if (m_probes.size() > 1) m_repeats.back().steady = heldStill(m_probes[m_probes.size() - 2], m_probes.back());
  }
  if (m_round_index < m_setup.repeats) return startRound();
  startLogits();
}

void ComparisonRun::startLogits() {
  std::vector<const ComparisonTally*> tallies;
  for (const Repeat* repeat : counted()) tallies.push_back(&repeat->tally);
  const ComparisonTally& middle = middleOf(tallies);
  m_quality = middle.answersCompared();
  if (m_setup.quality_tokens <= 0) return startText();
  m_logits = std::make_unique<Logits>(m_a, m_b, m_setup, middle.answers(LaneId::kA));
  m_stage = Stage::kLogits;
}

void ComparisonRun::startText() {
  m_stage = Stage::kDone;
  if (m_setup.text.empty()) return;
  m_text = std::make_unique<PerplexityRun>(m_a, m_b, windowsOf(m_setup.text, *m_a.model));
  m_stage = Stage::kText;
}

void ComparisonRun::endText() {
  const Perplexity result = m_text->result();
  m_quality.text = {.name = m_setup.text_name,
                    .num_tokens = result.num_tokens,
                    .perplexity_a = result.perplexity,
                    .perplexity_b = result.vs->perplexity,
                    .kl_mean = result.vs->kl_mean,
                    .kl_p99 = result.vs->kl_p99,
                    .top1_agreement = result.vs->top1_agreement};
  m_text.reset();
  m_stage = Stage::kDone;
}

std::vector<const ComparisonRun::Repeat*> ComparisonRun::counted() const {
  const bool any_steady = std::ranges::any_of(m_repeats, &Repeat::steady);
  std::vector<const Repeat*> kept;
  for (const Repeat& repeat : m_repeats) {
    if (repeat.steady || !any_steady) kept.push_back(&repeat);
  }
  return kept;
}

std::string ComparisonRun::doing() const {
  if (m_stage == Stage::kDone) return "done";
  if (m_stage == Stage::kLogits) return "comparing logits";
  if (m_stage == Stage::kText) return "reading the text";
  if (m_stage == Stage::kProbe && m_setup.probe) return "probing the machine";
  return m_round_index == 0 ? "warming up" : fmt::format("repeat {} of {}", m_round_index, m_setup.repeats);
}

double ComparisonRun::share() const {
  if (done()) return 1;
  double rounds = m_round_index;
  if (m_stage == Stage::kRound) {
    const ComparisonTally& tally = m_round->tally();
    const auto answered = tally.summary(LaneId::kA).num_finished + tally.summary(LaneId::kB).num_finished;
    rounds += static_cast<double>(answered) / (2.0 * std::max(1, numRequests(m_setup.scenario)));
  } else {
    rounds += 1 + (m_logits ? m_logits->share() : 0) + (m_text ? 1 + m_text->share() : 0);
  }
  const int num_rounds = m_setup.repeats + 2 + (m_setup.text.empty() ? 0 : 1);  // one warms up, one for the logits
  return std::min(1.0, rounds / num_rounds);
}

Comparison ComparisonRun::described() const {
  return {.scenario = m_setup.scenario.id,
          .title = m_setup.scenario.title,
          .model = m_a.model->source,
          .model_name = m_a.model->config.name,
          .seed = m_setup.scenario.seed,
          .limits = m_probes.empty() ? MachineLimits{} : medianOf(m_probes)};
}

Comparison ComparisonRun::result() const {
  Comparison comparison = described();
  std::vector<const ComparisonTally*> tallies;
  for (const Repeat* repeat : counted()) tallies.push_back(&repeat->tally);
  const auto num_steady = std::ranges::count_if(m_repeats, &Repeat::steady);
  comparison.unsteady = !m_repeats.empty() && num_steady == 0;
  comparison.num_dropped = static_cast<int>(std::ssize(m_repeats) - num_steady);
  comparison.num_repeats = static_cast<int>(num_steady);

  const ComparisonTally& shown = tallies.empty() ? m_round->tally() : middleOf(tallies);
  // A single repeat says more by its steps and requests than as one sample.
  comparison.differences =
      tallies.size() < 2 && !done() ? shown.differencesSoFar(m_setup.seed) : differencesOf(tallies, m_setup.seed);
  comparison.a = shown.lane(LaneId::kA);
  comparison.b = shown.lane(LaneId::kB);
  comparison.a.run.options = m_a.options;  // also before the first step
  comparison.b.run.options = m_b.options;
  comparison.quality = done() ? m_quality : shown.answersCompared();
  if (done()) comparison.notices = workNotices(comparison.a.run, comparison.b.run);
  return comparison;
}

}  // namespace inferoscope::core
