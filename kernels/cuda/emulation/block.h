// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/emulation/fiber.h"
#include "kernels/cuda/emulation/race_detector.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace inferoscope::kernels::cuda {

struct Dim3 {
  constexpr Dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  unsigned x, y, z;
  unsigned count() const { return x * y * z; }
};

// Of the CUDA thread that runs; the names are CUDA's.
inline thread_local Dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulation {

// A program that could not have run on a device, or not rightly.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Who runs first. Strict priorities, not turns: the first that can run does so until it must wait, which is how far
// apart threads of a real device may get. Results must not depend on it.
enum class Order { kForward, kReverse, kRandomThreads, kRandomWarps };
struct Schedule {
  Order order = Order::kForward;
  bool late_copies = false;  // asynchronous copies happen when waited for, not at once
  bool random_blocks = false;
  std::uint64_t seed = 1;
};

// Where in a kernel a thread is.
struct Site {
  const char* file = "";
  int line = 0;
  friend bool operator==(const Site&, const Site&) = default;
};

// A meeting of lanes of one warp: each brings a value and may read everyone's once all are there.
struct WarpMeeting {
  const char* what = "";
  Site site;
  std::uint32_t wanted = 0;  // lanes that must come
  std::uint32_t arrived = 0;
  int num_readers = 0;  // who have not read yet
  alignas(16) std::byte values[32][48];
  std::unique_ptr<char> order = nullptr;  // what the thread sanitizer orders its lanes by, if they are
};

struct Launch {
  Dim3 grid, block;
  std::size_t shared_bytes = 0;
  std::function<void()> body;  // what each thread runs
};

// Runs all blocks of a launch, one after the other. Throws Fault.
void runLaunch(const Launch& launch, const Schedule& schedule, StackPool& stacks);

// The block of threads that runs at present.
class Block {
 public:
  Block(const Launch& launch, const Schedule& schedule, Dim3 index, StackPool& stacks);
  ~Block();
  void run();

  static Block& current();

  // What the running thread does in it. Each may let others run.
  void syncBlock(Site site);
  void syncWarp(Site site);
  // Calls read(meeting) once all lanes of `mask` have come with as many bytes.
  template <class Read>
  void meetWarp(const char* what, Site site, std::uint32_t mask, const void* value, std::size_t bytes, Read read) {
    const races::Unwatched unwatched;
    WarpMeeting& meeting = meet(what, site, mask, value, bytes);
    read(static_cast<const WarpMeeting&>(meeting));
    leave(meeting);
  }
  void* shared(Site site, std::size_t bytes);  // the block's variable of that place, filled with 0xFF
  void* dynamicShared();
  void copyAsync(void* to, const void* from, int bytes, int num_valid);
  void commitCopies();
  void waitCopies(int num_pending);
  int lane() const;
  [[noreturn]] void fail(const std::string& what);  // of the running thread

 private:
  static constexpr std::size_t kSharedAlignment = 128;
  enum class State : std::uint8_t { kNew, kReady, kAtBarrier, kInMeeting, kFinished };
  struct Copy {
    void* to;
    const void* from;
    int bytes, num_valid;
  };
  struct Thread {
    Fiber fiber;
    std::unique_ptr<Stack> stack;
    State state = State::kNew;
    Site site;  // where it waits
    const WarpMeeting* meeting = nullptr;
    std::vector<std::vector<Copy>> copies;  // committed groups that are not done
    std::vector<Copy> open_copies;
  };
  struct Freed {
    std::size_t bytes = 0;
    void operator()(std::byte* memory) const { races::giveBack(memory, bytes, kSharedAlignment); }
  };
  struct Shared {
    Site site;
    std::size_t bytes;
    std::unique_ptr<std::byte, Freed> memory;
  };
  using Meetings = std::vector<std::unique_ptr<WarpMeeting>>;

  static void threadBody(void* block);
  void orderThreads();
  void resume(int thread);
  void wait(State state);
  void setReady(int thread, State state);
  int nextReady() const;
  std::uint32_t liveLanes(int warp) const;
  void endThread();
  void releaseBarrier();
  void releaseIfComplete(WarpMeeting& meeting, int warp);
  WarpMeeting& meet(const char* what, Site site, std::uint32_t mask, const void* value, std::size_t bytes);
  WarpMeeting& openMeeting(const char* what, Site site, std::uint32_t mask);
  void leave(WarpMeeting& meeting);
  std::unique_ptr<std::byte, Freed> poisoned(std::size_t bytes) const;
  std::string nameOf(int thread) const;
  std::string deadlockReport() const;

  const Launch& m_launch;
  const Schedule& m_schedule;
  const Dim3 m_index;
  StackPool& m_stacks;
  int m_num_threads;
  Fiber m_host;
  std::vector<Thread> m_threads;
  std::vector<int> m_by_rank;               // rank -> thread; rank 0 runs first
  std::vector<int> m_rank;                  // thread -> rank
  std::array<std::uint64_t, 16> m_ready{};  // bit per rank
  std::vector<Meetings> m_meetings;         // [warps]: open, or not read by all
  Meetings m_spare_meetings;
  std::vector<Shared> m_shared;
  std::unique_ptr<std::byte, Freed> m_dynamic_shared;
  int m_running = -1;
  int m_num_live = 0;
  int m_num_at_barrier = 0;
  Site m_barrier_site;
  // What the thread sanitizer orders threads by at barriers: two in turn, as who has passed one may come to the next
  // while others still have to leave it.
  std::unique_ptr<char> m_order[2];
  int m_num_barriers = 0;
  std::string m_fault;
};

}  // namespace emulation
}  // namespace inferoscope::kernels::cuda
