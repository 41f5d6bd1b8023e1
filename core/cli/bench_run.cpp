// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cli/bench_run.h"

#include "core/cli/peak_memory.h"
#include "core/engine/engine.h"
#include "core/engine/random.h"
#include "core/error.h"
#include "core/observe/drift.h"
#include "core/observe/request_metrics.h"
#include "core/observe/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace inferoscope::cli {
namespace {

using core::Phase;
using Records = std::vector<std::shared_ptr<const core::StepRecord>>;

// What one repeat gave, and whether the machine held still meanwhile.
struct Repeat {
  std::optional<core::Verdict> prefill;
  std::optional<core::Verdict> decode;
  core::MachineLimits limits;
  bool steady = false;
};

// Over those repeats that have the figure.
template <class Figure>
std::optional<double> median(const std::vector<Repeat>& repeats, Figure figure) {
  std::vector<double> values;
  for (const Repeat& repeat : repeats) {
    if (const std::optional<double> value = figure(repeat)) values.push_back(*value);
  }
  return core::percentile(values, 50);
}

template <class Figure>
auto ofPhase(std::optional<core::Verdict> Repeat::*phase, Figure figure) {
  return [phase, figure](const Repeat& repeat) -> std::optional<double> {
    return repeat.*phase ? std::optional<double>(figure(*(repeat.*phase))) : std::nullopt;
  };
}

// Room for all of them at once, with a block to spare each; prompts before answers, so that phases do not mix.
core::EngineOptions optionsFor(const core::Model& model, core::EngineOptions options, const BenchCase& wanted) {
  options.policy = core::Policy::kPrefillFirst;
  options.max_sequences = std::max(options.max_sequences, wanted.batch);
  if (wanted.depth > 0) options.prefix_cache = true;
  if (options.kv_budget_mib == 0) {
    const std::int64_t block = options.kv_layout == core::KvLayout::kPaged ? options.block_size : 1;
    const std::int64_t tokens = wanted.depth + wanted.prompt_tokens + wanted.new_tokens + block;
    const std::int64_t bytes = wanted.batch * tokens * core::kvBytesPerToken(model.config, options.kv_format);
    options.kv_budget_mib = static_cast<int>((bytes >> 20) + 1);
  }
  return options;
}

// Random ids; the first `depth` depend on the row alone, so that every repeat finds them in the cache.
core::Request makeRequest(const core::Model& model, const BenchCase& wanted, int row, int repeat, int num_tokens,
                          int new_tokens) {
  core::Request request;
  request.label = "bench";
  request.max_new_tokens = new_tokens;
  request.ignore_end_of_turn = true;
  const auto count = static_cast<std::uint64_t>(model.config.num_tokens);
  core::Random beginning(0, 0, static_cast<std::uint64_t>(row));
  core::Random rest(1, static_cast<std::uint64_t>(repeat), static_cast<std::uint64_t>(row));
  for (int i = 0; i < num_tokens; ++i) {
    request.prompt.push_back(static_cast<core::TokenId>((i < wanted.depth ? beginning : rest).below(count)));
  }
  return request;
}

Records runAll(core::Engine& engine, const std::stop_token& stop) {
  Records records;
  while (!engine.idle()) {
    auto record = engine.step(stop);
    if (!record) throw core::Cancelled();
    records.push_back(std::move(record));
  }
  engine.takeText();
  return records;
}

Records runBatch(core::Engine& engine, const BenchCase& wanted, int repeat, int num_tokens, int new_tokens,
                 const std::stop_token& stop) {
  for (int row = 0; row < wanted.batch; ++row) {
    const core::Submitted submitted =
        engine.submit(makeRequest(engine.model(), wanted, row, repeat, num_tokens, new_tokens));
    if (!submitted.seq.valid())
      throw core::Error("--batch, --depth, --prompt-tokens, --new-tokens: " + submitted.refusal);
  }
  return runAll(engine, stop);
}

BenchResult summarize(const BenchCase& wanted, std::vector<Repeat> repeats) {
  BenchResult result;
  result.batch = wanted.batch;
  result.num_kept = static_cast<int>(std::ranges::count_if(repeats, &Repeat::steady));
  result.num_dropped = static_cast<int>(repeats.size()) - result.num_kept;
  result.unsteady = result.num_kept == 0;
  if (!result.unsteady) std::erase_if(repeats, [](const Repeat& repeat) { return !repeat.steady; });

  const auto tokens_per_s = [](const core::Verdict& verdict) { return verdict.tokensPerSecond(); };
  result.prefill_tok_s = median(repeats, ofPhase(&Repeat::prefill, tokens_per_s));
  result.decode_tok_s = median(repeats, ofPhase(&Repeat::decode, tokens_per_s));
  result.prefill_mfu = median(
      repeats, [](const Repeat& repeat) { return repeat.prefill ? repeat.prefill->computeUse() : std::nullopt; });
  result.decode_mbu = median(
      repeats, [](const Repeat& repeat) { return repeat.decode ? repeat.decode->bandwidthUse() : std::nullopt; });
  result.decode_gb_s = median(
      repeats, ofPhase(&Repeat::decode, [](const core::Verdict& verdict) { return verdict.bytesPerSecond() * 1e-9; }));
  std::vector<core::MachineLimits> limits;
  for (const Repeat& repeat : repeats) limits.push_back(repeat.limits);
  result.read_gb_s = core::medianOf(limits).read_bytes_per_s * 1e-9;
  return result;
}

}  // namespace

Bench::Bench(std::shared_ptr<const core::Model> model, std::shared_ptr<core::Backend> backend,
             core::EngineOptions options)
    : m_model(std::move(model)), m_backend(std::move(backend)), m_options(std::move(options)) {
  m_peak_rss_bytes = cli::peakRssBytes();
}

core::MachineLimits Bench::probe(const std::stop_token& stop) {
  m_peak_rss_bytes = std::max(m_peak_rss_bytes, cli::peakRssBytes());
  m_probes.push_back(m_backend->probe(stop));
  resetPeakRss();
  return m_probes.back();
}

core::MachineLimits Bench::ceilings() const {
  return core::medianOf(m_probes);
}

BenchResult Bench::run(const BenchCase& wanted, const std::stop_token& stop) {
  if (wanted.depth > 0 && m_options.kv_layout != core::KvLayout::kPaged) {
    throw core::Error("--depth: needs --kv-layout paged, since it takes the tokens from the prefix cache");
  }
  core::Engine engine(m_model, m_backend, optionsFor(*m_model, m_options, wanted));
  std::vector<Repeat> repeats;
  core::MachineLimits before = probe(stop);
  for (int i = 0; i < wanted.repeats; ++i) {
    if (wanted.depth > 0) runBatch(engine, wanted, i, wanted.depth, 1, stop);
    const Records records =
        runBatch(engine, wanted, i, wanted.depth + wanted.prompt_tokens, wanted.new_tokens + 1, stop);
    const core::MachineLimits after = probe(stop);
    Repeat& repeat = repeats.emplace_back();
    repeat.limits = core::medianOf(std::vector{before, after});
    repeat.steady = core::heldStill(before, after);
    repeat.prefill = core::judge(records, Phase::kPrefill, repeat.limits);
    repeat.decode = core::judge(records, Phase::kDecode, repeat.limits);
    before = after;
  }
  return summarize(wanted, std::move(repeats));
}

}  // namespace inferoscope::cli
