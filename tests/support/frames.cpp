// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/frames.h"

#include "tests/support/toy_ops.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>
#include <random>
#include <string>

namespace inferoscope::tests {

namespace {

using core::BlockState;
using core::SeqId;
using core::SeqState;

constexpr int kBlockSize = 16;
constexpr int kSharedBlocks = 3;  // of the prefix that every second request begins with

struct ToyShape {
  int num_blocks = 256;
  int max_sequences = 8;
  int num_requests = 1;
  int num_steps = 3;
  // Another lane: one block for a whole request, scores in memory, and as many steps as the clock allows.
  int block_size = kBlockSize;
  bool naive_attention = false;
  std::int64_t until_ns = std::numeric_limits<std::int64_t>::max();

  bool contiguous() const { return block_size > kBlockSize; }
};

// Scores that go through memory: more bytes and more time.
void slowAttention(core::StepRecord& step) {
  std::int64_t late_ns = 0;
  for (core::OpRecord& op : step.ops) {
    op.start_ns += late_ns;
    if (op.kind != kernels::OpKind::kAttention) continue;
    const std::uint64_t scores = 3 * (op.cost.kv_read + op.cost.activations);
    op.kernel = "attention.naive";
    op.cost.scores += scores;
    step.cost.scores += scores;
    late_ns += 2 * op.duration_ns;
    op.duration_ns *= 3;
  }
  step.kernel_ns += late_ns;
  step.duration_ns += late_ns;
}

// Requests come one a step, prompts are prefilled 128 tokens at a time, a lack of blocks preempts the newest.
constexpr int kEqualTokens = 6;  // of two lanes' answers

class ToyScheduler {
 public:
  explicit ToyScheduler(const ToyShape& shape)
      : m_shape(shape),
        m_blocks(static_cast<std::size_t>(shape.num_blocks)),
        m_held(static_cast<std::size_t>(shape.num_requests)) {
    m_snapshot.blocks = m_blocks;
    m_snapshot.block_size = shape.block_size;
    m_snapshot.kv_block_bytes = shape.block_size * 11'520;
    if (shape.contiguous()) m_snapshot.options.kv_layout = core::KvLayout::kContiguous;
    if (shape.naive_attention) m_snapshot.options.attention = "naive";
    m_snapshot.options.max_sequences = shape.max_sequences;
    m_free.resize(m_blocks.size());
    std::iota(m_free.rbegin(), m_free.rend(), 0);
  }

  gui::Frame run() {
    for (int step = 0; step < m_shape.num_steps && m_now_ns < m_shape.until_ns; ++step) oneStep(step);
    if (m_requests.size() > 2) failOne();
    gui::Frame frame;
    m_snapshot.blocks = m_blocks;
    m_snapshot.requests = {m_requests.rbegin(), m_requests.rend()};
    for (const core::RequestInfo& request : m_snapshot.requests) {
      if (request.state == SeqState::kRunning) m_snapshot.tables.push_back(tableOf(request));
    }
    std::ranges::stable_sort(m_snapshot.requests, {},
                             [](const core::RequestInfo& r) { return r.state != SeqState::kRunning; });
    frame.snapshot = std::make_shared<const core::Snapshot>(m_snapshot);
    frame.steps = std::move(m_steps);
    frame.texts = std::move(m_texts);
    return frame;
  }

 private:
  std::vector<int>& held(const core::RequestInfo& request) {
    return m_held[static_cast<std::size_t>(request.seq.value)];
  }

  core::BlockTableInfo tableOf(const core::RequestInfo& request) {
    core::BlockTableInfo table{.seq = request.seq, .blocks = {}, .prefixes = {}};
    for (const int id : held(request)) {
      table.blocks.push_back(core::BlockId{id});
      const bool full = block(id).num_tokens == m_shape.block_size;
      if (full) table.prefixes.push_back(0x9e3779b97f4a7c15U * static_cast<std::uint64_t>(id + 1));
    }
    return table;
  }

  core::BlockInfo& block(int id) { return m_blocks[static_cast<std::size_t>(id)]; }

  void oneStep(int step) {
    if (static_cast<int>(m_requests.size()) < m_shape.num_requests) arrive();
    auto record = std::make_shared<core::StepRecord>();
    record->step_index = step;
    record->start_ns = m_now_ns;
    admit(*record);
    for (std::size_t i = 0; i < m_requests.size(); ++i) {
      if (m_requests[i].state == SeqState::kRunning) compute(m_requests[i], *record);
    }
    for (core::RequestInfo& request : m_requests) {
      const bool waits = request.state == SeqState::kWaiting || request.state == SeqState::kPreempted;
      if (waits) record->waiting.push_back(waitOf(request, static_cast<int>(record->waiting.size())));
    }
    finishStep(*record);
    m_steps.push_back(std::move(record));
  }

  core::WaitEntry waitOf(const core::RequestInfo& request, int num_before) {
    core::WaitEntry wait{.seq = request.seq, .reason = request.wait_reason};
    if (wait.reason == core::WaitReason::kHeadOfLine) wait.needed = num_before;
    if (wait.reason == core::WaitReason::kMaxSequences) {
      wait.needed = m_shape.max_sequences + 1;
      wait.available = m_shape.max_sequences;
    }
    if (wait.reason == core::WaitReason::kBlocks) {
      wait.needed = (request.num_prompt_tokens + m_shape.block_size - 1) / m_shape.block_size;
      wait.available = static_cast<int>(m_free.size());
    }
    return wait;
  }

  void arrive() {
    core::RequestInfo request;
    request.seq = SeqId{static_cast<std::int32_t>(m_requests.size())};
    request.label = "chat " + std::to_string(request.seq.value + 1);
    request.num_prompt_tokens = 40 + static_cast<int>(m_random() % 360);
    request.max_new_tokens = 24 + static_cast<int>(m_random() % 90);
    request.arrival_ns = m_now_ns;
    m_requests.push_back(request);
  }

  int numRunning() const {
    return static_cast<int>(std::ranges::count(m_requests, SeqState::kRunning, &core::RequestInfo::state));
  }

  void admit(core::StepRecord& record) {
    bool blocked = false;
    for (core::RequestInfo& request : m_requests) {
      if (request.state != SeqState::kWaiting && request.state != SeqState::kPreempted) continue;
      const bool batch_full = numRunning() >= m_shape.max_sequences;
      const bool no_block = static_cast<int>(m_free.size()) * m_shape.block_size < request.num_prompt_tokens;
      request.wait_reason = blocked      ? core::WaitReason::kHeadOfLine
                            : batch_full ? core::WaitReason::kMaxSequences
                            : no_block   ? core::WaitReason::kBlocks
                                         : core::WaitReason::kNone;
      blocked = request.wait_reason != core::WaitReason::kNone;
      if (blocked) continue;
      request.state = SeqState::kRunning;
      record.admitted.push_back(request.seq);
      if (request.seq.value % 2 == 0 && !m_shape.contiguous()) sharePrefix(request);
    }
  }

  // The first to come that finds the prefix gone computes it for the others.
  void sharePrefix(core::RequestInfo& request) {
    if (m_prefix.empty() || block(m_prefix.front()).ref_count == 0) {
      m_prefix.clear();
      m_prefix_owner = request.seq;
      return;
    }
    for (const int id : m_prefix) {
      ++block(id).ref_count;
      block(id).state = BlockState::kShared;
      held(request).push_back(id);
    }
    request.num_hit_tokens = std::min(kSharedBlocks * m_shape.block_size, request.num_prompt_tokens - 1);
    request.num_computed_tokens = request.num_hit_tokens;
  }

  void compute(core::RequestInfo& request, core::StepRecord& record) {
    const int left = request.num_prompt_tokens - request.num_computed_tokens;
    const bool prefill = left > 0;
    const int tokens = prefill ? std::min(left, 128) : 1;
    if (!grow(request, request.num_computed_tokens + tokens)) {
      preempt(request, record);
      return;
    }
    request.num_computed_tokens += tokens;
    core::StepEntry entry{.seq = request.seq,
                          .phase = prefill ? core::Phase::kPrefill : core::Phase::kDecode,
                          .num_tokens = tokens,
                          .kv_len = request.num_computed_tokens};
    if (left <= tokens) say(request, entry);
    (prefill ? record.num_prefill_tokens : record.num_decode_tokens) += tokens;
    record.entries.push_back(entry);
  }

  void say(core::RequestInfo& request, core::StepEntry& entry) {
    static constexpr std::array kWords = {"The",     " cache", " holds", " keys",  " and",
                                          " values", " of",    " each",  " token", ",\n"};
    // The naive kernel parts from the other one after a while.
    const int place = request.num_output_tokens;
    entry.sampled = m_shape.naive_attention && place >= kEqualTokens ? place + 1 : place;
    m_texts.push_back(
        {request.seq, kWords[static_cast<std::size_t>(entry.sampled) % kWords.size()], 1, false, {entry.sampled}});
    ++request.num_output_tokens;
    if (!request.first_token_ns) {
      request.first_token_ns = m_now_ns;
      request.ttft_ms = static_cast<double>(m_now_ns - request.arrival_ns) / 1e6 + 31.4;
    }
    if (request.num_output_tokens > 1) request.tpot_ms = 18.0 + request.seq.value;
    if (request.num_output_tokens < request.max_new_tokens) return;
    entry.finished = true;
    m_texts.back().finished = true;
    release(request);
    request.state = SeqState::kFinished;
    request.finish = request.seq.value % 2 == 0 ? core::FinishReason::kEndOfTurn : core::FinishReason::kLength;
  }

  bool grow(core::RequestInfo& request, int num_tokens) {
    std::vector<int>& ids = held(request);
    while (static_cast<int>(ids.size()) * m_shape.block_size < num_tokens) {
      if (m_free.empty()) return false;
      ids.push_back(m_free.back());
      m_free.pop_back();
      block(ids.back()) = {.owner = request.seq, .ref_count = 1, .state = BlockState::kUsed};
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const int filled = std::clamp(num_tokens - static_cast<int>(i) * m_shape.block_size, 0, m_shape.block_size);
      block(ids[i]).num_tokens = std::max<std::int32_t>(block(ids[i]).num_tokens, filled);
    }
    if (request.seq == m_prefix_owner && m_prefix.empty() && ids.size() > kSharedBlocks) {
      m_prefix.assign(ids.begin(), ids.begin() + kSharedBlocks);
    }
    request.num_blocks = static_cast<int>(ids.size());
    return true;
  }

  // Full blocks stay cached; they are free again all the same.
  void release(core::RequestInfo& request) {
    for (const int id : held(request)) {
      core::BlockInfo& info = block(id);
      if (--info.ref_count > 0) {
        info.state = info.ref_count > 1 ? BlockState::kShared : BlockState::kUsed;
        continue;
      }
      const bool full = info.num_tokens == m_shape.block_size;
      info = {.owner = {},
              .num_tokens = full ? m_shape.block_size : 0,
              .state = full ? BlockState::kCached : BlockState::kFree};
      m_free.insert(m_free.begin(), id);
    }
    held(request).clear();
    request.num_blocks = 0;
  }

  void preempt(core::RequestInfo& request, core::StepRecord& record) {
    release(request);
    request.state = SeqState::kPreempted;
    request.wait_reason = core::WaitReason::kBlocks;
    request.num_computed_tokens = 0;
    ++request.num_preemptions;
    record.preempted.push_back(request.seq);
  }

  void finishStep(core::StepRecord& record) {
    addToyOps(record);
    if (m_shape.naive_attention) slowAttention(record);
    record.num_blocks = m_shape.num_blocks;
    record.num_blocks_used = m_shape.num_blocks - static_cast<int>(m_free.size());
    m_now_ns += record.duration_ns;
    m_snapshot.step_index = record.step_index + 1;
    m_snapshot.lane_ns = m_now_ns;
  }

  void failOne() {
    core::RequestInfo& request = m_requests[1];
    release(request);
    request.state = SeqState::kFinished;
    request.finish = core::FinishReason::kError;
    request.error = "non-finite logits at token 12";
  }

  ToyShape m_shape;
  std::vector<core::BlockInfo> m_blocks;
  std::vector<std::vector<int>> m_held;  // block ids by request
  std::vector<int> m_free;
  std::vector<int> m_prefix;
  SeqId m_prefix_owner;
  std::vector<core::RequestInfo> m_requests;
  std::vector<std::shared_ptr<const core::StepRecord>> m_steps;
  std::vector<core::TextDelta> m_texts;
  core::Snapshot m_snapshot;
  std::int64_t m_now_ns = 0;
  std::mt19937 m_random{7};
};

gui::LaneFrame nextOf(const gui::LaneFrame& frame) {
  core::Snapshot snapshot = *frame.snapshot;
  core::StepRecord step = frame.steps.empty() ? core::StepRecord{} : *frame.steps.back();
  ++step.step_index;
  step.start_ns += step.duration_ns;
  snapshot.step_index = step.step_index + 1;
  gui::LaneFrame next;
  for (core::RequestInfo& request : snapshot.requests) {
    if (request.state != SeqState::kRunning) continue;
    ++request.num_output_tokens;
    next.texts.push_back({request.seq, " word", 1, false});
  }
  next.snapshot = std::make_shared<const core::Snapshot>(std::move(snapshot));
  next.steps = {std::make_shared<const core::StepRecord>(std::move(step))};
  return next;
}

}  // namespace

gui::ModelInfo toyModel() {
  gui::ModelInfo model;
  model.config.architecture = "llama";
  model.config.name = "Toy";
  model.config.num_layers = kToyLayers;
  model.config.context_length = 2048;
  model.source = "synthetic:tiny";
  model.weight_bytes = 105'000'000;
  model.kv_bytes_per_token = 11'520;
  return model;
}

core::MachineLimits toyLimits() {
  core::MachineLimits limits;
  limits.read_bytes_per_s = 34.0e9;
  limits.cache_read_bytes_per_s = 130e9;
  limits.fp32_flop_per_s = 194e9;
  limits.int8_op_per_s = 400e9;
  limits.num_threads = 2;
  return limits;
}

gui::Frame emptyFrame() {
  return ToyScheduler({.num_requests = 0, .num_steps = 0}).run();
}

gui::Frame smallFrame() {
  return ToyScheduler({.num_requests = 1, .num_steps = 3}).run();
}

gui::Frame fullFrame() {
  return ToyScheduler({.num_blocks = 110, .max_sequences = 8, .num_requests = 40, .num_steps = 160}).run();
}

gui::Frame comparedFrame() {
  gui::Frame frame = ToyScheduler({.num_blocks = 128, .max_sequences = 8, .num_requests = 40, .num_steps = 160}).run();
  frame.b = ToyScheduler({.num_blocks = 4,
                          .max_sequences = 8,
                          .num_requests = 40,
                          .num_steps = 1'000,
                          .block_size = 32 * kBlockSize,
                          .naive_attention = true,
                          .until_ns = frame.snapshot->lane_ns})
                .run();
  return frame;
}

gui::Frame blocksFrame(int num_blocks) {
  core::Snapshot snapshot;
  snapshot.block_size = kBlockSize;
  snapshot.blocks.resize(static_cast<std::size_t>(num_blocks));
  for (int i = 0; i < num_blocks; ++i) {
    const int owner = i / 37 % 60;
    if (owner % 5 == 4) continue;  // free
    const bool cached = owner % 5 == 3;
    snapshot.blocks[static_cast<std::size_t>(i)] = {
        .owner = SeqId{cached ? -1 : owner},
        .num_tokens = 1 + i % kBlockSize,
        .ref_count = static_cast<std::int16_t>(cached ? 0 : 1 + (i % 11 == 0)),
        .state = cached        ? BlockState::kCached
                 : i % 11 == 0 ? BlockState::kShared
                               : BlockState::kUsed};
  }
  gui::Frame frame;
  frame.snapshot = std::make_shared<const core::Snapshot>(std::move(snapshot));
  return frame;
}

gui::Frame nextFrame(const gui::Frame& frame) {
  gui::Frame next{nextOf(frame), std::nullopt};
  if (frame.b) next.b = nextOf(*frame.b);
  return next;
}

}  // namespace inferoscope::tests
