// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/emulation/block.h"

#include "kernels/cuda/emulation/device.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>

namespace inferoscope::kernels::cuda::emulation {
namespace {

constexpr unsigned kMostThreads = 1024;
constexpr unsigned kMostBlocksYZ = 65535;
constexpr std::size_t kMostSharedBytes = 99 << 10;  // what every device from sm_80 on can give a block
constexpr int kWarp = 32;

thread_local Block* t_block = nullptr;

std::string shown(Site site) {
  const std::string file = site.file;
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(site.line);
}

std::string shown(Dim3 index) {
  return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) + ")";
}

Dim3 indexOf(unsigned flat, Dim3 shape) {
  return {flat % shape.x, flat / shape.x % shape.y, flat / (shape.x * shape.y)};
}

void check(const Launch& launch) {
  const Dim3 grid = launch.grid;
  const Dim3 block = launch.block;
  if (grid.count() == 0 || block.count() == 0) throw Fault("launch of an empty grid or block");
  if (block.count() > kMostThreads) throw Fault("launch of " + std::to_string(block.count()) + " threads a block");
  if (grid.y > kMostBlocksYZ || grid.z > kMostBlocksYZ) throw Fault("launch of too large a grid " + shown(grid));
  if (launch.shared_bytes > kMostSharedBytes) {
    throw Fault("launch with " + std::to_string(launch.shared_bytes) + " bytes of shared memory");
  }
}

}  // namespace

void runLaunch(const Launch& launch, const Schedule& schedule, StackPool& stacks) {
  if (isTheOne(inferoscopeEmulatedDevice()->failing_kernel)) throw Fault("an illegal memory access was encountered");
  check(launch);
  std::vector<unsigned> order(launch.grid.count());
  std::iota(order.begin(), order.end(), 0U);
  if (schedule.random_blocks) std::shuffle(order.begin(), order.end(), std::mt19937_64(schedule.seed));
  if (schedule.order == Order::kReverse) std::reverse(order.begin(), order.end());
  for (const unsigned flat : order) Block(launch, schedule, indexOf(flat, launch.grid), stacks).run();
  races::acquire(&stacks);  // what all its threads did comes before what follows
}

Block::Block(const Launch& launch, const Schedule& schedule, Dim3 index, StackPool& stacks)
    : m_launch(launch),
      m_schedule(schedule),
      m_index(index),
      m_stacks(stacks),
      m_num_threads(static_cast<int>(launch.block.count())),
      m_threads(static_cast<std::size_t>(m_num_threads)),
      m_meetings(static_cast<std::size_t>((m_num_threads + kWarp - 1) / kWarp)),
      m_dynamic_shared(poisoned(launch.shared_bytes)),
      m_num_live(m_num_threads),
      m_order{std::make_unique<char>(), std::make_unique<char>()} {
  orderThreads();
  t_block = this;
}

Block::~Block() {
  t_block = nullptr;
}

Block& Block::current() {
  return *t_block;
}

void Block::orderThreads() {
  m_by_rank.resize(m_threads.size());
  std::iota(m_by_rank.begin(), m_by_rank.end(), 0);
  std::mt19937_64 random(m_schedule.seed * 7919 + m_index.x + 31 * m_index.y + 961 * m_index.z);
  switch (m_schedule.order) {
    case Order::kForward:
      break;
    case Order::kReverse:
      std::reverse(m_by_rank.begin(), m_by_rank.end());
      break;
    case Order::kRandomThreads:
      std::shuffle(m_by_rank.begin(), m_by_rank.end(), random);
      break;
    case Order::kRandomWarps: {
      std::vector<std::uint64_t> key(m_meetings.size());
      for (std::uint64_t& k : key) k = random();
      std::stable_sort(m_by_rank.begin(), m_by_rank.end(),
                       [&](int a, int b) { return key[a / kWarp] < key[b / kWarp]; });
      break;
    }
  }
  m_rank.resize(m_threads.size());
  for (int rank = 0; rank < m_num_threads; ++rank) {
    m_rank[m_by_rank[rank]] = rank;
    m_ready[rank / 64] |= std::uint64_t{1} << (rank % 64);
  }
}

// ---- Who runs --------------------------------------------------------------------------------------------------

int Block::nextReady() const {
  for (int word = 0; word < static_cast<int>(m_ready.size()); ++word) {
    if (m_ready[word] != 0) return m_by_rank[word * 64 + std::countr_zero(m_ready[word])];
  }
  return -1;
}

void Block::setReady(int thread, State state) {
  m_threads[thread].state = state;
  const std::uint64_t bit = std::uint64_t{1} << (m_rank[thread] % 64);
  std::uint64_t& word = m_ready[m_rank[thread] / 64];
  word = state == State::kReady ? word | bit : word & ~bit;
}

void Block::run() {
  blockIdx = m_index;
  blockDim = m_launch.block;
  gridDim = m_launch.grid;
  while (m_num_live > 0 && m_fault.empty()) {
    const int thread = nextReady();
    if (thread < 0) throw Fault(deadlockReport());
    resume(thread);
  }
  // The other threads are left where they wait, and never resumed: nothing on their stacks owns anything.
  if (!m_fault.empty()) throw Fault(m_fault);
}

void Block::resume(int thread) {
  Thread& t = m_threads[thread];
  if (t.state == State::kNew) {
    t.stack = m_stacks.take();
    t.fiber.prepare(*t.stack, &Block::threadBody, this);
    t.state = State::kReady;
  }
  m_running = thread;
  threadIdx = indexOf(static_cast<unsigned>(thread), m_launch.block);
  Fiber::change(m_host, t.fiber);
  if (t.stack->overflowed()) m_fault = nameOf(thread) + " needs more stack than there is";
  if (t.state == State::kFinished) m_stacks.giveBack(std::move(t.stack));
}

void Block::wait(State state) {
  setReady(m_running, state);
  Fiber::change(m_threads[m_running].fiber, m_host);
}

void Block::threadBody(void* block) {
  auto* self = static_cast<Block*>(block);
  try {
    self->m_launch.body();
    const races::Unwatched unwatched;
    self->endThread();
  } catch (const std::exception& fault) {
    self->m_fault = fault.what();
    self->setReady(self->m_running, State::kFinished);
  }
  races::release(&self->m_stacks);
  Fiber::leaveForGood(self->m_threads[self->m_running].fiber, self->m_host);
}

// Those who wait for all others, or for the other lanes, wait no longer for this one.
void Block::endThread() {
  const Thread& t = m_threads[m_running];
  if (!t.copies.empty() || !t.open_copies.empty()) {
    m_fault = nameOf(m_running) + " ends without having waited for its asynchronous copies";
  }
  setReady(m_running, State::kFinished);
  --m_num_live;
  if (m_num_live > 0 && m_num_at_barrier == m_num_live) releaseBarrier();
  const int warp = m_running / kWarp;
  for (auto& meeting : m_meetings[warp]) {
    if (meeting->num_readers == 0) releaseIfComplete(*meeting, warp);
  }
}

void Block::fail(const std::string& what) {
  throw Fault(nameOf(m_running) + ": " + what);
}

// ---- Barriers --------------------------------------------------------------------------------------------------

void Block::syncBlock(Site site) {
  const races::Unwatched unwatched;
  char* const order = m_order[m_num_barriers % 2].get();
  races::release(order);
  if (m_num_at_barrier > 0 && site != m_barrier_site) {
    fail("waits for the block at " + shown(site) + ", while others do at " + shown(m_barrier_site));
  }
  m_barrier_site = site;
  m_threads[m_running].site = site;
  m_threads[m_running].state = State::kAtBarrier;
  if (++m_num_at_barrier == m_num_live) releaseBarrier();
  wait(m_threads[m_running].state);
  races::acquire(order);
}

void Block::releaseBarrier() {
  m_num_at_barrier = 0;
  ++m_num_barriers;
  for (int thread = 0; thread < m_num_threads; ++thread) {
    if (m_threads[thread].state == State::kAtBarrier) setReady(thread, State::kReady);
  }
}

// ---- Warps -----------------------------------------------------------------------------------------------------

int Block::lane() const {
  return m_running % kWarp;
}

std::uint32_t Block::liveLanes(int warp) const {
  std::uint32_t lanes = 0;
  for (int lane = 0; lane < kWarp && warp * kWarp + lane < m_num_threads; ++lane) {
    if (m_threads[warp * kWarp + lane].state != State::kFinished) lanes |= 1U << lane;
  }
  return lanes;
}

// Unlike a shuffle, it orders what its lanes do to memory.
void Block::syncWarp(Site site) {
  const races::Unwatched unwatched;
  WarpMeeting& meeting = meet("syncWarp", site, 0xFFFFFFFFU, "", 0);
  races::acquire(meeting.order.get());
  leave(meeting);
}

WarpMeeting& Block::openMeeting(const char* what, Site site, std::uint32_t mask) {
  Meetings& meetings = m_meetings[m_running / kWarp];
  for (auto& open : meetings) {
    if (open->num_readers > 0 || (open->wanted & mask) == 0) continue;
    if (open->site == site && open->wanted == mask && (open->arrived >> lane() & 1U) == 0) return *open;
    fail(std::string(what) + " at " + shown(site) + " with lanes of which some are at " + open->what + " at " +
         shown(open->site));
  }
  if (m_spare_meetings.empty()) m_spare_meetings.push_back(std::make_unique<WarpMeeting>());
  meetings.push_back(std::move(m_spare_meetings.back()));
  m_spare_meetings.pop_back();
  WarpMeeting& meeting = *meetings.back();
  meeting.what = what;
  meeting.site = site;
  meeting.wanted = mask;
  meeting.arrived = 0;
  meeting.num_readers = 0;
  if (races::kWatched) meeting.order = std::make_unique<char>();
  return meeting;
}

WarpMeeting& Block::meet(const char* what, Site site, std::uint32_t mask, const void* value, std::size_t bytes) {
  if ((mask >> lane() & 1U) == 0) fail(std::string(what) + " at " + shown(site) + ": its own lane is not in the mask");
  WarpMeeting& meeting = openMeeting(what, site, mask);
  const auto* from = static_cast<const volatile std::byte*>(value);  // volatile: no memcpy, which would be watched
  for (std::size_t i = 0; i < bytes; ++i) meeting.values[lane()][i] = from[i];
  races::release(meeting.order.get());
  meeting.arrived |= 1U << lane();
  Thread& self = m_threads[m_running];
  self.site = site;
  self.meeting = &meeting;
  self.state = State::kInMeeting;
  releaseIfComplete(meeting, m_running / kWarp);
  wait(self.state);
  return meeting;
}

void Block::releaseIfComplete(WarpMeeting& meeting, int warp) {
  if (meeting.arrived != (meeting.wanted & liveLanes(warp)) || meeting.arrived == 0) return;
  meeting.num_readers = std::popcount(meeting.arrived);
  for (int lane = 0; lane < kWarp; ++lane) {
    if (meeting.arrived >> lane & 1U) setReady(warp * kWarp + lane, State::kReady);
  }
}

void Block::leave(WarpMeeting& meeting) {
  m_threads[m_running].meeting = nullptr;
  if (--meeting.num_readers > 0) return;
  Meetings& meetings = m_meetings[m_running / kWarp];
  const auto found = std::find_if(meetings.begin(), meetings.end(), [&](auto& m) { return m.get() == &meeting; });
  m_spare_meetings.push_back(std::move(*found));
  meetings.erase(found);
}

// ---- Memory ----------------------------------------------------------------------------------------------------

std::unique_ptr<std::byte, Block::Freed> Block::poisoned(std::size_t bytes) const {
  std::byte* memory = races::takeUntouched(bytes, kSharedAlignment);
  std::memset(memory, 0xFF, bytes);
  return {memory, Freed{bytes}};
}

void* Block::shared(Site site, std::size_t bytes) {
  const races::Unwatched unwatched;
  for (const Shared& variable : m_shared) {
    if (variable.site == site && variable.bytes == bytes) return variable.memory.get();
  }
  std::size_t total = m_launch.shared_bytes + bytes;
  for (const Shared& variable : m_shared) total += variable.bytes;
  if (total > kMostSharedBytes) fail("the block's shared memory takes " + std::to_string(total) + " bytes");
  m_shared.push_back({site, bytes, poisoned(bytes)});
  return m_shared.back().memory.get();
}

void* Block::dynamicShared() {
  return m_dynamic_shared.get();
}

void Block::copyAsync(void* to, const void* from, int bytes, int num_valid) {
  const auto aligned = [&](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % bytes == 0; };
  if (!aligned(to) || (num_valid > 0 && !aligned(from))) fail("asynchronous copy from or to a misaligned address");
  const Copy copy{to, from, bytes, num_valid};
  {
    const races::Unwatched unwatched;
    m_threads[m_running].open_copies.push_back(copy);
  }
  if (m_schedule.late_copies) return;
  std::memcpy(to, from, num_valid);
  std::memset(static_cast<std::byte*>(to) + num_valid, 0, bytes - num_valid);
}

void Block::commitCopies() {
  const races::Unwatched unwatched;
  Thread& t = m_threads[m_running];
  t.copies.push_back(std::exchange(t.open_copies, {}));
}

void Block::waitCopies(int num_pending) {
  auto& groups = m_threads[m_running].copies;
  while (static_cast<int>(groups.size()) > num_pending) {
    for (const Copy& copy : groups.front()) {
      if (!m_schedule.late_copies) break;
      std::memcpy(copy.to, copy.from, copy.num_valid);
      std::memset(static_cast<std::byte*>(copy.to) + copy.num_valid, 0, copy.bytes - copy.num_valid);
    }
    const races::Unwatched unwatched;
    groups.erase(groups.begin());
  }
}

// ---- Reports ---------------------------------------------------------------------------------------------------

std::string Block::nameOf(int thread) const {
  return "thread " + shown(indexOf(static_cast<unsigned>(thread), m_launch.block)) + " of block " + shown(m_index);
}

// One line a place where threads wait.
std::string Block::deadlockReport() const {
  std::string report = "no thread of block " + shown(m_index) + " can go on:";
  std::vector<Site> told;
  for (int i = 0; i < m_num_threads; ++i) {
    const Thread& t = m_threads[i];
    if (t.state == State::kFinished || std::find(told.begin(), told.end(), t.site) != told.end()) continue;
    told.push_back(t.site);
    const auto same = [&](const Thread& other) { return other.state == t.state && other.site == t.site; };
    report += "\n  " + std::to_string(std::count_if(m_threads.begin(), m_threads.end(), same)) + " from " + nameOf(i) +
              " on wait at " + shown(t.site) + " for ";
    report += t.state == State::kAtBarrier ? std::string("the block") : std::string("the lanes of ") + t.meeting->what;
  }
  return report;
}

}  // namespace inferoscope::kernels::cuda::emulation
