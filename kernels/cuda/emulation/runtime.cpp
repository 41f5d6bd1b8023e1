// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/runtime.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

namespace inferoscope::kernels::cuda {
namespace {

constexpr std::align_val_t kAlignment{256};
constexpr std::size_t kTotalBytes = std::size_t{4} << 30;
constexpr const char* kName = "emulated device";

struct FreeMemory {
  void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
};

std::byte* poisoned(std::size_t bytes) {
  auto* memory = static_cast<std::byte*>(::operator new(bytes, kAlignment));
  std::memset(memory, 0xFF, bytes);
  return memory;
}

}  // namespace

std::vector<DeviceInfo> listDevices(std::string&) {
  return {{.name = kName, .total_bytes = kTotalBytes, .compute_major = 8, .compute_minor = 0, .num_processors = 1}};
}

struct Runtime::Impl {
  emulation::Stream stream;
  std::map<std::byte*, std::size_t> allocations;
  std::size_t used_bytes = 0;
  std::vector<std::chrono::steady_clock::time_point> events;
};

Runtime::Runtime(int device_index) : m_impl(std::make_unique<Impl>()) {
  if (device_index != 0) throw DeviceError("there is one emulated device, number 0");
}

Runtime::~Runtime() = default;

Stream Runtime::stream() const {
  return &m_impl->stream;
}

std::byte* Runtime::allocate(std::size_t bytes) {
  if (bytes > kTotalBytes - m_impl->used_bytes) return nullptr;
  std::byte* memory = poisoned(bytes);
  m_impl->allocations.emplace(memory, bytes);
  m_impl->used_bytes += bytes;
  return memory;
}

void Runtime::free(std::byte* memory) {
  if (memory == nullptr) return;
  m_impl->stream.synchronize();
  m_impl->used_bytes -= m_impl->allocations.at(memory);
  m_impl->allocations.erase(memory);
  FreeMemory{}(memory);
}

std::byte* Runtime::allocatePinned(std::size_t bytes) {
  return poisoned(bytes);
}

void Runtime::freePinned(std::byte* memory) {
  FreeMemory{}(memory);
}

std::size_t Runtime::freeBytes() {
  return kTotalBytes - m_impl->used_bytes;
}

void Runtime::copyToDevice(std::byte* to, const std::byte* from, std::size_t bytes) {
  m_impl->stream.enqueue([=](emulation::Stream&) { std::memcpy(to, from, bytes); });
}

void Runtime::copyToHost(std::byte* to, const std::byte* from, std::size_t bytes) {
  copyToDevice(to, from, bytes);
}

void Runtime::copyOnDevice(std::byte* to, const std::byte* from, std::size_t bytes) {
  copyToDevice(to, from, bytes);
}

void Runtime::checkLaunch() {}

void Runtime::synchronize() {
  try {
    m_impl->stream.synchronize();
  } catch (const emulation::Fault& fault) {
    throw DeviceError(fault.what());
  }
}

void Runtime::record(int event) {
  auto& events = m_impl->events;
  events.resize(std::max(events.size(), static_cast<std::size_t>(event) + 1));
  m_impl->stream.enqueue([&events, event](emulation::Stream&) { events[event] = std::chrono::steady_clock::now(); });
}

double Runtime::millisecondsBetween(int first, int second) {
  return std::chrono::duration<double, std::milli>(m_impl->events[second] - m_impl->events[first]).count();
}

void Runtime::beginCapture() {
  m_impl->stream.beginCapture();
}

void Runtime::endCapture(bool launch) {
  for (auto& work : m_impl->stream.endCapture()) {
    if (launch) m_impl->stream.enqueue(std::move(work));
  }
}

// Nothing to measure: a share of what an emulation can do says nothing.
DeviceCeilings Runtime::probe() {
  return {};
}

}  // namespace inferoscope::kernels::cuda
