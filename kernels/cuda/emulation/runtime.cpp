// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/runtime.h"

#include "kernels/cuda/emulation/device.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
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

// A piece of the device's memory. Guarded, it lies on pages of its own that are closed but while the device works.
class Allocation {
 public:
  Allocation(std::size_t bytes, bool guarded) : m_bytes(bytes) {
    if (!guarded) {
      m_memory = poisoned(bytes);
      return;
    }
    void* pages = mmap(nullptr, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    m_pages = static_cast<std::byte*>(pages);
    std::memset(m_pages, 0xFF, bytes);
    open(false);
  }
  ~Allocation() {
    if (m_pages != nullptr) munmap(m_pages, m_bytes + 1);
  }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  std::byte* address() const { return m_pages != nullptr ? m_pages : m_memory.get(); }
  std::size_t bytes() const { return m_bytes; }
  void open(bool is_open) const {
    if (m_pages != nullptr) mprotect(m_pages, m_bytes + 1, is_open ? PROT_READ | PROT_WRITE : PROT_NONE);
  }

 private:
  std::size_t m_bytes;
  Memory m_memory;
  std::byte* m_pages = nullptr;
};

// What lies in the device's memory, whoever asked for it: a reset takes it all. Threads may allocate and free at once,
// each on a queue of its own.
std::mutex& memoryMutex() {
  static std::mutex mutex;
  return mutex;
}
std::map<std::byte*, std::unique_ptr<Allocation>>& allocations() {
  static std::map<std::byte*, std::unique_ptr<Allocation>> all;
  return all;
}

// While the device works.
struct OpenMemory {
  OpenMemory() { setOpen(true); }
  ~OpenMemory() { setOpen(false); }
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;

 private:
  static void setOpen(bool is_open) {
    const std::scoped_lock lock(memoryMutex());
    for (const auto& [address, allocation] : allocations()) allocation->open(is_open);
  }
};

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
    const std::scoped_lock lock(memoryMutex());
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
  auto allocation = std::make_unique<Allocation>(bytes, device().guarded);
  std::byte* address = allocation->address();
  const std::scoped_lock lock(memoryMutex());
  allocations().emplace(address, std::move(allocation));
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
  const std::scoped_lock lock(memoryMutex());
  const auto found = allocations().find(memory);
  device().used_bytes -= found->second->bytes();
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
  const std::scoped_lock lock(memoryMutex());
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
  const OpenMemory open;
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
