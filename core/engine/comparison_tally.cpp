// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/comparison_tally.h"

#include <algorithm>

namespace inferoscope::core {
namespace {

constexpr int kMostPoints = 400;
constexpr double kMsPerNs = 1e-6;

using Labels = std::unordered_map<SeqId, const std::string*>;

Labels labelsOf(const Snapshot& snapshot) {
  Labels labels;
  for (const RequestInfo& request : snapshot.requests) labels.emplace(request.seq, &request.label);
  return labels;
}

// FNV-1a, 64 bits: two batches of a run that hash alike by chance are not to be expected.
struct Hash {
  std::uint64_t value = 14695981039346656037ULL;
  void add(std::uint64_t word) { value = (value ^ word) * 1099511628211ULL; }
};

// What a step computed: which tokens of which requests. Equal in both lanes if they did the same work. How full a
// cache is goes in too, since it decides what attention reads.
std::uint64_t batchKey(const StepRecord& step, const Labels& labels) {
  Hash hash;
  for (const StepEntry& entry : step.entries) {
    const auto label = labels.find(entry.seq);
    if (label != labels.end()) hash.add(std::hash<std::string>{}(*label->second));
    hash.add(static_cast<std::uint64_t>(entry.num_tokens));
    hash.add(static_cast<std::uint64_t>(entry.kv_len));
  }
  return hash.value;
}

// Every second point goes, once there are too many.
void thin(std::vector<SeriesPoint>& series) {
  for (std::size_t i = 0; 2 * i < series.size(); ++i) series[i] = series[2 * i];
  series.resize((series.size() + 1) / 2);
}

}  // namespace

ComparisonTally::ComparisonTally(const ServiceGoal& goal) {
  for (Side& each : m_sides) each.tally = RunTally(goal);
}

void ComparisonTally::add(LaneId lane, const StepRecord& step, const Snapshot& after) {
  Side& side = m_sides[static_cast<std::size_t>(lane)];
  const Labels labels = labelsOf(after);
  side.tally.add(step, after);
  for (const StepEntry& entry : step.entries) {
    const auto label = labels.find(entry.seq);
    if (entry.sampled >= 0 && label != labels.end()) side.answers[*label->second].push_back(entry.sampled);
  }
  for (const RequestInfo& request : after.requests) {
    if (request.state == SeqState::kFinished) side.ended.try_emplace(request.label, request.ttft_ms, request.tpot_ms);
  }
  addToSeries(side, step, after);
  pairStep(lane, batchKey(step, labels), step.duration_ns);
}

void ComparisonTally::addRefused(LaneId lane, int num_requests) {
  m_sides[static_cast<std::size_t>(lane)].tally.addRefused(num_requests);
}

void ComparisonTally::addToSeries(Side& side, const StepRecord& step, const Snapshot& after) {
  side.num_tokens += step.num_sampled;
  if (step.step_index % side.stride != 0) return;
  const KvUse use = kvUse(after);
  side.series.push_back({.time_s = static_cast<double>(step.start_ns + step.duration_ns) * 1e-9,
                         .output_tokens = side.num_tokens,
                         .running = static_cast<double>(step.entries.size()),
                         .kv_written = use.written,
                         .kv_held = use.held()});
  if (std::ssize(side.series) <= kMostPoints) return;
  thin(side.series);
  side.stride *= 2;
}

// The lane that comes second to a batch makes the pair.
void ComparisonTally::pairStep(LaneId lane, std::uint64_t key, std::int64_t duration_ns) {
  Side& own = m_sides[static_cast<std::size_t>(lane)];
  Side& other = m_sides[1 - static_cast<std::size_t>(lane)];
  const auto found = other.steps.find(key);
  if (found == other.steps.end()) {
    own.steps.emplace(key, duration_ns);
    return;
  }
  const double own_ms = static_cast<double>(duration_ns) * kMsPerNs;
  const double other_ms = static_cast<double>(found->second) * kMsPerNs;
  m_same_batch_ms.push_back(lane == LaneId::kB ? Pair{other_ms, own_ms} : Pair{own_ms, other_ms});
  other.steps.erase(found);
}

ComparedLane ComparisonTally::lane(LaneId lane) const {
  const Side& from = side(lane);
  ComparedLane compared{.run = from.tally.summary(), .series = from.series, .itl_ms = {}};
  std::vector<double> gaps = from.tally.gapsMs();
  std::ranges::sort(gaps);
  for (int p = 0; p <= 100 && !gaps.empty(); ++p) {
    compared.itl_ms.push_back(gaps[static_cast<std::size_t>(p) * (gaps.size() - 1) / 100]);
  }
  return compared;
}

std::optional<Pair> ComparisonTally::sameBatchMs() const {
  if (m_same_batch_ms.empty()) return std::nullopt;
  Pair sum;
  for (const Pair& pair : m_same_batch_ms) {
    sum.a += pair.a;
    sum.b += pair.b;
  }
  const auto count = static_cast<double>(m_same_batch_ms.size());
  return Pair{sum.a / count, sum.b / count};
}

std::vector<Difference> ComparisonTally::differencesSoFar(std::uint64_t seed) const {
  const auto pairsOf = [&](std::optional<double> Ended::*figure) {
    std::vector<Pair> pairs;
    for (const auto& [label, a] : m_sides[0].ended) {
      const auto b = m_sides[1].ended.find(label);
      if (b != m_sides[1].ended.end() && a.*figure && b->second.*figure) {
        pairs.push_back({*(a.*figure), *(b->second.*figure)});
      }
    }
    return pairs;
  };
  std::vector<Difference> differences = {differenceOf(kSameBatchTime, m_same_batch_ms, seed)};
  const RunSummary a = summary(LaneId::kA);
  const RunSummary b = summary(LaneId::kB);
  for (const ComparedMetric& metric : comparedMetrics()) {
    if (metric.id == "ttft_ms_p50") {
      differences.push_back(differenceOf(metric, pairsOf(&Ended::ttft_ms), seed));
    } else if (metric.id == "tpot_ms_p50") {
      differences.push_back(differenceOf(metric, pairsOf(&Ended::tpot_ms), seed));
    } else {
      differences.push_back(differenceOf(metric, {&a, 1}, {&b, 1}, seed));
    }
  }
  return differences;
}

// Only as far as both have answered: what one lane has not said yet is no difference.
Quality ComparisonTally::answersCompared() const {
  Quality quality;
  for (const auto& [label, a] : m_sides[0].answers) {
    const auto found = m_sides[1].answers.find(label);
    if (found == m_sides[1].answers.end()) continue;
    const std::vector<TokenId>& b = found->second;
    ++quality.num_answers;
    const auto at = std::mismatch(a.begin(), a.begin() + std::min(std::ssize(a), std::ssize(b)), b.begin()).first;
    const auto place = static_cast<int>(at - a.begin());
    if (place == std::min(std::ssize(a), std::ssize(b))) {
      ++quality.num_equal_answers;
    } else {
      quality.first_divergent_token = std::min(quality.first_divergent_token.value_or(place), place);
    }
  }
  return quality;
}

}  // namespace inferoscope::core
