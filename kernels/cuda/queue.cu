// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/queue.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace inferoscope::kernels::cuda {
namespace {

constexpr std::size_t kArenaBytes = std::size_t{1} << 20;
constexpr std::size_t kAlignment = 256;

std::size_t padded(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

DeviceQueue::DeviceQueue(int device_index) : m_runtime(device_index) {}

DeviceQueue::~DeviceQueue() {
  freeArenas();
}

// Memory can't be had or given back within a graph: it ends before, and another begins behind.
std::byte* DeviceQueue::allocate(std::size_t bytes) {
  const bool in_graph = endGraph();
  std::byte* memory = m_runtime.allocate(bytes);
  if (in_graph) beginGraph();
  return memory;
}

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
  if (m_in_graph) m_runtime.endCapture(false);  // the step before was left in the middle
  m_in_graph = false;
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
  m_runtime.record(m_num_marks++);
}

std::vector<std::int64_t> DeviceQueue::times() {
  wait();
  std::vector<std::int64_t> times;
  for (int i = 0; i < m_num_marks; ++i) times.push_back(std::llround(m_runtime.millisecondsBetween(0, i) * 1e6));
  return times;
}

void DeviceQueue::beginGraph() {
  m_runtime.beginCapture();
  m_in_graph = true;
}

// True if there was one.
bool DeviceQueue::endGraph() {
  if (!m_in_graph) return false;
  m_in_graph = false;
  m_runtime.endCapture(true);
  return true;
}

const std::byte* DeviceQueue::copyOf(std::span<const std::byte> values) {
  for (const Copy& copy : m_copies) {
    if (copy.host == values.data() && copy.bytes == values.size()) return copy.device;
  }
  m_copies.push_back({values.data(), values.size(), staged(values)});
  return m_copies.back().device;
}

std::byte* DeviceQueue::staged(std::span<const std::byte> values) {
  Arena& arena = arenaFor(values.size());
  std::byte* host = arena.host + arena.used;
  std::byte* device = arena.device + arena.used;
  arena.used += padded(values.size());
  if (values.empty()) return device;
  std::memcpy(host, values.data(), values.size());
  m_runtime.copyToDevice(device, host, values.size());
  return device;
}

DeviceQueue::Arena& DeviceQueue::arenaFor(std::size_t bytes) {
  if (!m_arenas.empty() && m_arenas.back().used + bytes <= m_arenas.back().bytes) return m_arenas.back();
  const std::size_t size = std::max(kArenaBytes, padded(bytes));
  const bool in_graph = endGraph();
  std::byte* device = m_runtime.allocate(size);
  if (device == nullptr) throw DeviceError("no device memory for the indices of a step");
  m_arenas.push_back({m_runtime.allocatePinned(size), device, size, 0});
  if (in_graph) beginGraph();
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
