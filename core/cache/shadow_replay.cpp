// SPDX-License-Identifier: GPL-3.0-or-later
// A trace through an allocator, in steps and without a model.
#include "core/cache/shadow_pool.h"

#include <algorithm>
#include <deque>

namespace inferoscope::core {
namespace {

class Replay {
 public:
  Replay(std::span<const ShadowRequest> trace, const ShadowPolicy& policy, int num_slots, int max_len,
         int max_sequences)
      : m_trace(trace), m_pool(policy, num_slots, max_len), m_max_sequences(max_sequences) {
    m_run.policy = policy;
    m_written.resize(trace.size());
    for (int i = 0; i < std::ssize(trace); ++i) {
      if (m_pool.canHold({request(i).prompt, finalTokens(i)})) {
        m_waiting.push_back(i);
      } else {
        ++m_run.num_refused;
      }
    }
  }

  ShadowRun go() {
    for (int step = 0; !m_waiting.empty() || !m_running.empty(); ++step) {
      if (m_running.empty()) admitFirst(step);
      writeTokens();
      while (admitFirst(step)) {
      }
      record();
      endFinished();
    }
    finish();
    return std::move(m_run);
  }

 private:
  // The last token is answered and never read again.
  int finalTokens(int i) const { return request(i).prompt + request(i).output - 1; }
  const ShadowRequest& request(int i) const { return m_trace[static_cast<std::size_t>(i)]; }
  int& written(int i) { return m_written[static_cast<std::size_t>(i)]; }
  bool arrived(int i, int step) const { return request(i).arrival_step <= step; }

  // A preempted one comes back with all it had written.
  bool admitFirst(int step) {
    if (m_waiting.empty() || std::ssize(m_running) >= m_max_sequences) return false;
    const int i = m_waiting.front();
    const int now = std::max(written(i), request(i).prompt);
    if (!arrived(i, step) || !m_pool.admit(SeqId{i}, {request(i).prompt, finalTokens(i)}, now)) return false;
    written(i) = now;
    m_waiting.pop_front();
    m_running.push_back(i);
    return true;
  }

  void writeTokens() {
    for (std::size_t at = 0; at < m_running.size(); ++at) {
      const int i = m_running[at];
      if (written(i) >= finalTokens(i)) continue;
      while (!m_pool.grow(SeqId{i}, written(i) + 1)) {
        const bool is_last = m_running.back() == i;
        preemptLast();
        if (is_last) return;
      }
      ++written(i);
    }
  }

  void preemptLast() {
    const int i = m_running.back();
    m_running.pop_back();
    m_pool.release(SeqId{i});
    m_waiting.push_front(i);
    ++m_run.num_preempted;
  }

  void record() {
    m_run.curve.push_back(m_pool.use());
    m_run.most_at_once = std::max(m_run.most_at_once, m_pool.numHeld());
    m_run.mean_at_once += m_pool.numHeld();
  }

  void endFinished() {
    std::erase_if(m_running, [&](int i) {
      if (written(i) < finalTokens(i)) return false;
      m_pool.release(SeqId{i});
      return true;
    });
  }

  void finish() {
    const auto count = static_cast<double>(std::max<std::size_t>(1, m_run.curve.size()));
    m_run.mean_at_once /= count;
    for (const KvUse& use : m_run.curve) {
      m_run.mean.written += use.written / count;
      m_run.mean.reserved += use.reserved / count;
      m_run.mean.internal += use.internal / count;
      m_run.mean.external += use.external / count;
      m_run.mean.total += use.total / count;
    }
  }

  std::span<const ShadowRequest> m_trace;
  ShadowPool m_pool;
  int m_max_sequences;
  std::vector<int> m_written;
  std::deque<int> m_waiting;
  std::vector<int> m_running;
  ShadowRun m_run;
};

}  // namespace

ShadowRun replayTrace(std::span<const ShadowRequest> trace, const ShadowPolicy& policy, int num_slots, int max_len,
                      int max_sequences) {
  return Replay(trace, policy, num_slots, max_len, max_sequences).go();
}

}  // namespace inferoscope::core
