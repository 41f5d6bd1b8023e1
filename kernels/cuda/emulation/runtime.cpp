// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/runtime.h"

#include "kernels/cuda/emulation/device.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <new>

extern "C" __attribute__((visibility("default"))) inferoscope::kernels::cuda::emulation::Device*
inferoscopeEmulatedDevice() {
  static inferoscope::kernels::cuda::emulation::Device device;
  return &device;
}

namespace inferoscope::kernels::cuda {
namespace {

constexpr std::align_val_t kAlignment{256};
constexpr const char* kName = "emulated device";

struct FreeMemory {
  void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
};
using Memory = std::unique_ptr<std::byte, FreeMemory>;

Memory poisoned(std::size_t bytes) {
  Memory memory(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
  std::memset(memory.get(), 0xFF, bytes);
  return memory;
}

emulation::Device& device() {
  return *inferoscopeEmulatedDevice();
}

// What lies in the device's memory, whoever asked for it: a reset takes it all.
struct Allocation {
  Memory memory;
  std::size_t bytes;
};
std::map<std::byte*, Allocation>& allocations() {
  static std::map<std::byte*, Allocation> all;
  return all;
}

void needWhole(const char* doing) {
  if (device().broken) throw DeviceError(std::string(doing) + ": an illegal memory access was encountered");
}

// Holds arguments as they were when it was made, as a device does.
struct EmulatedGraph : Graph {
  std::vector<emulation::Stream::Work> work;
};

}  // namespace

std::vector<DeviceInfo> listDevices(std::string&) {
  return {{.name = kName,
           .total_bytes = device().total_bytes,
           .compute_major = 8,
           .compute_minor = 0,
           .num_processors = 1,
           .pci_bus_id = {}}};
}

struct Runtime::Impl {
  emulation::Stream stream;
  int num_resets = device().num_resets;
  std::vector<std::chrono::steady_clock::time_point> events;
};

Runtime::Runtime(int device_index) {
  if (device_index != 0) throw DeviceError("there is one emulated device, number 0");
  if (device().broken) {
    allocations().clear();
    device().used_bytes = 0;
    device().broken = false;
    ++device().num_resets;
  }
  m_impl = std::make_unique<Impl>();
}

Runtime::~Runtime() = default;

Stream Runtime::stream() const {
  return &m_impl->stream;
}

std::byte* Runtime::allocate(std::size_t bytes) {
  needWhole("allocating device memory");
  if (emulation::isTheOne(device().failing_allocation) || bytes > freeBytes()) return nullptr;
  Memory memory = poisoned(bytes);
  std::byte* address = memory.get();
  allocations().emplace(address, Allocation{std::move(memory), bytes});
  device().used_bytes += bytes;
  return address;
}

void Runtime::free(std::byte* memory) {
  if (memory == nullptr || device().broken || m_impl->num_resets != device().num_resets) return;
  try {
    synchronize();
  } catch (const DeviceError&) {  // whoever waits next hears of it
    return;
  }
  const auto found = allocations().find(memory);
  device().used_bytes -= found->second.bytes;
  allocations().erase(found);
}

std::byte* Runtime::allocatePinned(std::size_t bytes) {
  needWhole("allocating pinned memory");
  return poisoned(bytes).release();
}

void Runtime::freePinned(std::byte* memory) {
  FreeMemory{}(memory);
}

std::size_t Runtime::freeBytes() {
  needWhole("asking for the free memory");
  return device().total_bytes - std::min(device().total_bytes, device().used_bytes);
}

void Runtime::copyToDevice(std::byte* to, const std::byte* from, std::size_t bytes) {
  needWhole("copying to the device");
  m_impl->stream.enqueue([=](emulation::Stream&) { std::memcpy(to, from, bytes); });
}

void Runtime::copyToHost(std::byte* to, const std::byte* from, std::size_t bytes) {
  copyToDevice(to, from, bytes);
}

void Runtime::copyOnDevice(std::byte* to, const std::byte* from, std::size_t bytes) {
  copyToDevice(to, from, bytes);
}

void Runtime::checkLaunch() {
  needWhole("starting a kernel");
}

void Runtime::synchronize() {
  needWhole("waiting for the device");
  try {
    m_impl->stream.synchronize();
  } catch (const emulation::Fault& fault) {
    device().broken = true;
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

std::unique_ptr<Graph> Runtime::endCapture() {
  auto graph = std::make_unique<EmulatedGraph>();
  graph->work = m_impl->stream.endCapture();
  ++device().graphs_made;
  return graph;
}

void Runtime::start(Graph& graph) {
  needWhole("starting a graph");
  for (const auto& work : static_cast<EmulatedGraph&>(graph).work) m_impl->stream.enqueue(work);
  ++device().graphs_started;
}

// Nothing to measure: a share of what an emulation can do says nothing.
DeviceCeilings Runtime::probe() {
  return {};
}

}  // namespace inferoscope::kernels::cuda
