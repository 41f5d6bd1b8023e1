// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/schedule/scheduler.h"
#include "tests/support/paged_stub.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace inferoscope::tests {

// A scheduler, the stub as its model, and steps that can be read. Whatever is asked of it, it first looks for faults.
class SchedulerLab {
 public:
  explicit SchedulerLab(const core::SchedulerConfig& config);

  core::Scheduler& scheduler() { return m_scheduler; }

  // Labels name requests in drawings; the refusal if it is refused.
  std::string add(const std::string& label, const std::vector<core::TokenId>& prompt, int max_new_tokens);
  core::SeqId id(const std::string& label) const { return m_ids.at(label); }
  const core::Sequence& sequence(const std::string& label) { return *m_scheduler.find(id(label)); }
  void cancel(const std::string& label);
  std::string reconfigure(const core::SchedulerConfig& config, bool reset_cache = false);

  // One whole step, drawn:  "a:p0..7 b:d5* | c:blocks d:line"
  //   p, d   prefill, decode of these positions; h8: after a hit of 8 tokens; *: it gave a token
  //   | ...  who waits and why;  < a: preempted in this step
  // within: done between schedule() and commit().
  std::string step(const std::function<void()>& within = [] {});
  // The same, but stopped after num_rows rows.
  std::string abandonedStep(int num_rows);
  // Steps until nothing is left to do; how many.
  int runUntilIdle();

  std::vector<core::TokenId> output(const std::string& label);
  std::string drawTable(const std::string& label);  // "0 1 7"
  std::string drawFree() const;                     // the free list, head first
  std::string drawWaits() const;  // of the last step, with needed/available: "b:blocks 5/4 c:line 1/0"
  // Empty as long as every invariant held and every finished answer was the one of a request alone.
  const std::string& fault() const { return m_fault; }
  int now() const { return m_now; }  // steps begun

 private:
  core::Batch schedule();
  void look();
  void note(const std::string& what);
  std::string draw(const core::Batch& batch) const;

  core::Scheduler m_scheduler;
  PagedStub m_stub;
  std::map<std::string, core::SeqId> m_ids;
  std::vector<core::WaitEntry> m_waits;  // of the last step
  std::string m_fault;
  int m_now = 0;
};

// A configuration in tokens and blocks, all else as usual.
core::SchedulerConfig smallConfig(int block_size, int num_blocks);

}  // namespace inferoscope::tests
