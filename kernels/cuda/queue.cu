// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/queue.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace inferoscope::kernels::cuda {
namespace {

constexpr std::size_t kArenaBytes = std::size_t{1} << 20;
constexpr std::size_t kAlignment = 256;
constexpr std::size_t kMostGraphs = 64;

std::size_t padded(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

DeviceQueue::DeviceQueue(int device_index) : m_runtime(device_index) {}

DeviceQueue::~DeviceQueue() {
  freeArenas();
}

std::byte* DeviceQueue::allocate(std::size_t bytes) {
  return m_runtime.allocate(bytes);
}

// What was recorded may work on it, so that must start before; another graph begins behind.
void DeviceQueue::free(std::byte* memory) {
  const bool in_graph = endGraph();
  m_runtime.free(memory);
  if (in_graph) beginGraph();
}

void DeviceQueue::wait() {
  endGraph();
  m_runtime.synchronize();
}

void DeviceQueue::upload(std::byte* to, std::span<const std::byte> from) {
  endGraph();
  m_runtime.copyToDevice(to, from.data(), from.size());
  m_runtime.synchronize();
}

void DeviceQueue::download(std::span<std::byte> to, const std::byte* from) {
  endGraph();
  m_runtime.copyToHost(to.data(), from, to.size());
  m_runtime.synchronize();
}

// Waits, as the copies of the step before may still be read. Several arenas become one that would have been enough.
void DeviceQueue::beginStep() {
  m_recording.reset();  // the step before was left in the middle
  m_runtime.synchronize();
  m_copies.clear();
  m_num_marks = 0;
  if (m_arenas.size() > 1) {
    std::size_t total = 0;
    for (const Arena& arena : m_arenas) total += arena.bytes;
    freeArenas();
    arenaFor(total);
  }
  for (Arena& arena : m_arenas) arena.used = 0;
}

void DeviceQueue::mark() {
  const int event = m_num_marks++;
  enqueue([event, this] { m_runtime.record(event); }, event);
}

std::vector<std::int64_t> DeviceQueue::times() {
  wait();
  std::vector<std::int64_t> times;
  for (int i = 0; i < m_num_marks; ++i) times.push_back(std::llround(m_runtime.millisecondsBetween(0, i) * 1e6));
  return times;
}

void DeviceQueue::multiply(const Gemm& g) {
  enqueue([g, this] { m_runtime.multiply(g); }, g.transpose_a, g.transpose_b, g.m, g.n, g.k, g.alpha, g.a, g.lda,
          g.stride_a, g.b, g.ldb, g.stride_b, g.c, g.ldc, g.stride_c, g.batch);
}

// ---- Graphs ----------------------------------------------------------------------------------------------------

void DeviceQueue::beginGraph() {
  m_recording.emplace();
}

// True if there was one. What comes for the first time is enqueued as it is: work that is never the same, as that of
// attention through a score matrix, would pay for graphs that nobody starts again.
bool DeviceQueue::endGraph() {
  if (!m_recording) return false;
  Recording recording = *std::exchange(m_recording, std::nullopt);
  const auto known = std::ranges::find(m_graphs, recording.key, &KnownGraph::key);
  if (known == m_graphs.end()) {
    for (const auto& work : recording.work) work();
    if (m_graphs.size() == kMostGraphs) m_graphs.erase(m_graphs.begin());
    m_graphs.push_back({std::move(recording.key), nullptr});
    return true;
  }
  std::rotate(known, known + 1, m_graphs.end());
  std::unique_ptr<Graph>& graph = m_graphs.back().graph;
  if (graph == nullptr) graph = capture(recording);
  m_runtime.start(*graph);
  return true;
}

std::unique_ptr<Graph> DeviceQueue::capture(const Recording& recording) {
  m_runtime.beginCapture();
  try {
    for (const auto& work : recording.work) work();
  } catch (const DeviceError&) {
    try {
      m_runtime.endCapture();
    } catch (const DeviceError&) {  // of the first error
    }
    throw;
  }
  return m_runtime.endCapture();
}

// ---- Index arrays ----------------------------------------------------------------------------------------------

const std::byte* DeviceQueue::copyOf(const HostRows& host) {
  for (const Copy& copy : m_copies) {
    if (copy.host == host) return copy.device;
  }
  m_copies.push_back({host, staged(host)});
  return m_copies.back().device;
}

std::byte* DeviceQueue::staged(const HostRows& rows) {
  const std::size_t bytes = rows.num_rows * rows.distance;
  Arena& arena = arenaFor(bytes);
  std::byte* host = arena.host + arena.used;
  std::byte* device = arena.device + arena.used;
  arena.used += padded(bytes);
  if (bytes == 0) return device;
  for (std::size_t row = 0; row < rows.num_rows; ++row) {
    std::memcpy(host + row * rows.distance, rows.values + row * rows.bytes, rows.bytes);
  }
  enqueue([=, this] { m_runtime.copyToDevice(device, host, bytes); }, device, host, bytes);
  return device;
}

DeviceQueue::Arena& DeviceQueue::arenaFor(std::size_t bytes) {
  if (!m_arenas.empty() && m_arenas.back().used + bytes <= m_arenas.back().bytes) return m_arenas.back();
  const std::size_t size = std::max(kArenaBytes, padded(bytes));
  std::byte* host = m_runtime.allocatePinned(size);
  std::byte* device = m_runtime.allocate(size);
  if (device == nullptr) {
    m_runtime.freePinned(host);
    throw DeviceError("not enough device memory for the indices of a step: " + std::to_string(size) +
                      " bytes needed, " + std::to_string(freeBytes()) + " free");
  }
  m_arenas.push_back({host, device, size, 0});
  return m_arenas.back();
}

void DeviceQueue::freeArenas() {
  for (const Arena& arena : m_arenas) {
    m_runtime.free(arena.device);
    m_runtime.freePinned(arena.host);
  }
  m_arenas.clear();
}

}  // namespace inferoscope::kernels::cuda
