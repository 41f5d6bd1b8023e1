// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/pool.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace inferoscope::kernels::cpu {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSpinTime = std::chrono::microseconds(50);

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Spins until done() or the spin time is over.
template <class Done>
void spinUntil(const Done& done) {
  const Clock::time_point end = Clock::now() + kSpinTime;
  while (!done()) {
    // A pause can take some 40 ns: ops follow each other within microseconds, so each is followed by a look.
    for (int i = 0; i < 16 && !done(); ++i) pause();
    if (Clock::now() > end) return;
  }
}

}  // namespace

// Threads claim tasks from one word that holds both the number of tasks and the next one. The fields of the job are
// only read after a successful claim, and only rewritten once every claimed task is done, so that a worker that wakes
// late finds either nothing to claim or a task of whatever job is current.
struct Pool::State {
  explicit State(int n) : num_threads(n), spins(n <= static_cast<int>(std::thread::hardware_concurrency())) {}

  // Runs tasks until none is left to claim.
  void work(int thread) {
    std::uint64_t seen = ticket.load(std::memory_order_acquire);
    for (;;) {
      const auto next = static_cast<std::uint32_t>(seen);
      if (next >= seen >> 32) return;
      if (!ticket.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
      if (!stop->stop_requested()) fn(body, static_cast<int>(next), thread);
      if (num_unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) num_unfinished.notify_one();
      seen = ticket.load(std::memory_order_acquire);
    }
  }

  void workerLoop(int thread) {
    for (;;) {
      const std::uint32_t job = num_jobs.load(std::memory_order_acquire);
      if (quit.load(std::memory_order_acquire)) return;
      work(thread);
      if (spins) spinUntil([&] { return num_jobs.load(std::memory_order_acquire) != job; });
      num_jobs.wait(job, std::memory_order_acquire);
    }
  }

  void announce() {
    num_jobs.fetch_add(1, std::memory_order_release);
    num_jobs.notify_all();
  }

  // For the last tasks, in other threads' hands.
  void waitForAll() {
    if (spins) spinUntil([&] { return num_unfinished.load(std::memory_order_acquire) == 0; });
    for (int left = num_unfinished.load(std::memory_order_acquire); left != 0;
         left = num_unfinished.load(std::memory_order_acquire)) {
      num_unfinished.wait(left, std::memory_order_acquire);
    }
  }

  const int num_threads;
  const bool spins;  // more threads than cores would spin at the expense of those that work

  TaskFn fn = nullptr;
  void* body = nullptr;
  const std::stop_token* stop = nullptr;

  alignas(64) std::atomic<std::uint64_t> ticket = 0;         // high half: number of tasks, low half: next task
  alignas(64) std::atomic<std::int32_t> num_unfinished = 0;  // tasks of the job
  alignas(64) std::atomic<std::uint32_t> num_jobs = 0;       // what workers sleep on
  std::atomic<bool> quit = false;
  std::vector<std::thread> workers;
};

Pool::Pool(int num_threads) : m_state(std::make_unique<State>(num_threads)) {
  for (int thread = 1; thread < num_threads; ++thread) {
    m_state->workers.emplace_back([state = m_state.get(), thread] { state->workerLoop(thread); });
  }
}

Pool::~Pool() {
  m_state->quit.store(true, std::memory_order_release);
  m_state->announce();
  for (std::thread& worker : m_state->workers) worker.join();
}

int Pool::numThreads() const {
  return m_state->num_threads;
}

void Pool::run(int num_tasks, const std::stop_token& stop, TaskFn fn, void* body) {
  if (num_tasks == 1 || m_state->num_threads == 1) {
    for (int task = 0; task < num_tasks && !stop.stop_requested(); ++task) fn(body, task, 0);
    return;
  }
  if (num_tasks <= 0) return;
  m_state->fn = fn;
  m_state->body = body;
  m_state->stop = &stop;
  m_state->num_unfinished.store(num_tasks, std::memory_order_relaxed);
  m_state->ticket.store(static_cast<std::uint64_t>(num_tasks) << 32, std::memory_order_release);
  m_state->announce();
  m_state->work(0);
  m_state->waitForAll();
}

}  // namespace inferoscope::kernels::cpu
