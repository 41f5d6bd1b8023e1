// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <stop_token>
#include <type_traits>

namespace inferoscope::kernels::cpu {

// N threads that share out the row panels of an op: the caller is thread 0, N - 1 workers wait for it. Workers spin
// briefly between ops and then sleep, so that a busy core beside us does not collapse the speed.
class Pool {
 public:
  explicit Pool(int num_threads);  // at least 1
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int numThreads() const;

  // Calls body(task, thread) once for every task in 0..num_tasks-1, handed out dynamically in increasing order;
  // returns when all are done. After a stop request no further task is begun. Never allocates. `body` may not throw.
  template <class Body>
  void parallelFor(int num_tasks, const std::stop_token& stop, Body&& body) {
    using B = std::remove_reference_t<Body>;
    run(
        num_tasks, stop, [](void* b, int task, int thread) { (*static_cast<B*>(b))(task, thread); },
        const_cast<std::remove_const_t<B>*>(&body));
  }

 private:
  using TaskFn = void (*)(void* body, int task, int thread);
  void run(int num_tasks, const std::stop_token& stop, TaskFn fn, void* body);

  struct State;
  std::unique_ptr<State> m_state;
};

}  // namespace inferoscope::kernels::cpu
