// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scheduler_lab.h"

#include <algorithm>

namespace inferoscope::tests {
namespace {

using namespace core;

std::string shortName(WaitReason reason) {
  switch (reason) {
    case WaitReason::kNone:
      return "none";
    case WaitReason::kStepTokens:
      return "tokens";
    case WaitReason::kBlocks:
      return "blocks";
    case WaitReason::kMaxSequences:
      return "sequences";
    case WaitReason::kHeadOfLine:
      return "line";
    case WaitReason::kAfterPreemption:
      return "preemption";
    case WaitReason::kStaticBatch:
      return "static";
  }
  return "?";
}

std::string drawIds(const std::vector<BlockId>& blocks) {
  std::string text;
  for (const BlockId block : blocks) text += (text.empty() ? "" : " ") + std::to_string(block.value);
  return text;
}

std::string drawEntry(const BatchEntry& entry) {
  const int last = entry.start_position + entry.num_tokens - 1;
  std::string text = entry.phase == Phase::kDecode ? "d" : "p";
  text += std::to_string(entry.start_position);
  if (entry.num_tokens > 1) text += ".." + std::to_string(last);
  if (entry.num_hit_tokens > 0) text += "h" + std::to_string(entry.num_hit_tokens);
  return entry.samples ? text + "*" : text;
}

}  // namespace

SchedulerConfig smallConfig(int block_size, int num_blocks) {
  SchedulerConfig config;
  config.block_size = block_size;
  config.num_blocks = num_blocks;
  config.max_len = block_size * num_blocks;
  return config;
}

SchedulerLab::SchedulerLab(const SchedulerConfig& config)
    : m_scheduler(config), m_stub(config.num_blocks, config.block_size) {}

std::string SchedulerLab::add(const std::string& label, const std::vector<TokenId>& prompt, int max_new_tokens) {
  Request request;
  request.label = label;
  request.prompt = prompt;
  request.max_new_tokens = max_new_tokens;
  std::string refusal = m_scheduler.refusal(request);
  if (refusal.empty()) m_ids[label] = m_scheduler.submit(std::move(request), m_now);
  look();
  return refusal;
}

void SchedulerLab::cancel(const std::string& label) {
  m_scheduler.finish(id(label), FinishReason::kCancelled);
  look();
}

std::string SchedulerLab::reconfigure(const SchedulerConfig& config, bool reset_cache) {
  const SchedulerConfig before = m_scheduler.config();
  std::string refusal = m_scheduler.reconfigure(config, reset_cache);
  const bool is_new_memory = config.block_size != before.block_size || config.num_blocks != before.num_blocks;
  if (refusal.empty() && is_new_memory) m_stub = PagedStub(config.num_blocks, config.block_size);
  look();
  return refusal;
}

Batch SchedulerLab::schedule() {
  Batch batch = m_scheduler.schedule(m_now++);
  m_waits = batch.waiting;
  if (batch.empty() && !m_scheduler.idle()) note("nothing is done, though there is work");
  if (const std::string wrong = m_stub.faultOf(batch); !wrong.empty()) note(wrong);
  const bool is_alone = batch.numSeqs() == 1 && m_scheduler.config().prefill_chunk == 0;
  if (batch.numTokens() > m_scheduler.config().step_tokens && !is_alone) note("more tokens than the step may have");
  return batch;
}

std::string SchedulerLab::step(const std::function<void()>& within) {
  const Batch batch = schedule();
  within();
  std::vector<SampledToken> sampled;
  for (const TokenId token : m_stub.run(batch)) sampled.push_back({.token = token, .finish = {}, .error = {}});
  for (const SeqId ended : m_scheduler.commit(batch, sampled, m_now)) {
    const Sequence& seq = *m_scheduler.find(ended);
    const std::vector<TokenId> alone = PagedStub::answer(seq.request.prompt, seq.request.max_new_tokens);
    if (!std::equal(alone.begin(), alone.end(), seq.tokens.begin() + seq.num_prompt_tokens, seq.tokens.end())) {
      note(seq.request.label + ": another answer than alone");
    }
  }
  look();
  return draw(batch);
}

std::string SchedulerLab::abandonedStep(int num_rows) {
  const Batch batch = schedule();
  m_stub.runRows(batch, std::min(num_rows, batch.numTokens()));
  m_scheduler.abandon(batch);
  look();
  return draw(batch);
}

int SchedulerLab::runUntilIdle() {
  const int first = m_now;
  while (!m_scheduler.idle() && m_now < first + 100'000) step();
  if (!m_scheduler.idle()) note("it never comes to an end");
  return m_now - first;
}

std::vector<TokenId> SchedulerLab::output(const std::string& label) {
  const Sequence& seq = sequence(label);
  return {seq.tokens.begin() + seq.num_prompt_tokens, seq.tokens.end()};
}

std::string SchedulerLab::drawTable(const std::string& label) {
  return drawIds(sequence(label).block_table);
}

std::string SchedulerLab::drawFree() const {
  return drawIds(m_scheduler.pool().freeList());
}

std::string SchedulerLab::drawWaits() const {
  std::string text;
  for (const WaitEntry& wait : m_waits) {
    text += (text.empty() ? "" : " ") + m_scheduler.find(wait.seq)->request.label + ":" + shortName(wait.reason) + " " +
            std::to_string(wait.needed) + "/" + std::to_string(wait.available);
  }
  return text;
}

void SchedulerLab::look() {
  if (const std::string broken = m_scheduler.check(); !broken.empty()) note(broken);
}

void SchedulerLab::note(const std::string& what) {
  if (m_fault.empty()) m_fault = "step " + std::to_string(m_now) + ": " + what;
}

std::string SchedulerLab::draw(const Batch& batch) const {
  const auto label = [this](SeqId id) { return m_scheduler.find(id)->request.label; };
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
  for (const BatchEntry& entry : batch.entries) add(label(entry.seq) + ":" + drawEntry(entry));
  if (!batch.waiting.empty()) add("|");
  for (const WaitEntry& wait : batch.waiting) add(label(wait.seq) + ":" + shortName(wait.reason));
  if (!batch.preempted.empty()) add("<");
  for (const SeqId id : batch.preempted) add(label(id));
  return text;
}

}  // namespace inferoscope::tests
