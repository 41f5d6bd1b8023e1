// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/native.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace inferoscope::kernels::cuda {
namespace {

std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Why CUDA says that there is no device.
std::string reasonOf(cudaError_t error) {
  int driver = 0;
  if (error == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess) {
    if (driver == 0) return "no NVIDIA driver is installed";
    return "the NVIDIA driver knows CUDA " + versionText(driver) + ", but CUDA " + versionText(CUDART_VERSION) +
           " is needed; install a newer driver";
  }
  if (error == cudaErrorNoDevice) return "the NVIDIA driver finds no device (see CUDA_VISIBLE_DEVICES)";
  return cudaGetErrorString(error);
}

struct NativeGraph : Graph {
  NativeGraph() = default;
  NativeGraph(const NativeGraph&) = delete;
  NativeGraph& operator=(const NativeGraph&) = delete;
  ~NativeGraph() override {
    if (exec != nullptr) (void)cudaGraphExecDestroy(exec);
  }
  cudaGraphExec_t exec = nullptr;
};

DeviceInfo describe(int index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "asking for a device's properties");
  char bus_id[32] = {};
  check(cudaDeviceGetPCIBusId(bus_id, sizeof(bus_id), index), "asking for a device's place");
  return {.name = properties.name,
          .total_bytes = properties.totalGlobalMem,
          .compute_major = properties.major,
          .compute_minor = properties.minor,
          .num_processors = properties.multiProcessorCount,
          .pci_bus_id = bus_id};
}

// After an illegal access every call fails, until the device is reset; that takes the memory of all who use it. Their
// addresses may soon be others', so they count the resets before they free any. CUDA's state of a device is one a
// process, and so is this.
std::atomic<int> g_num_resets = 0;

// Returns the number of resets so far.
int makeUsable(int device_index) {
  check(cudaSetDevice(device_index), "choosing the device");
  if (cudaFree(nullptr) != cudaSuccess) {
    (void)cudaDeviceReset();
    (void)cudaGetLastError();
    ++g_num_resets;
    check(cudaFree(nullptr), "resetting the device (start the program anew)");
  }
  return g_num_resets;
}

// The least of a few runs, in seconds.
template <class Work>
double bestSeconds(Runtime& runtime, Work work) {
  constexpr int kPasses = 5;
  double best = 1e30;
  for (int pass = 0; pass <= kPasses; ++pass) {  // the first warms up
    runtime.record(0);
    work();
    runtime.record(1);
    runtime.synchronize();
    if (pass > 0) best = std::min(best, runtime.millisecondsBetween(0, 1) * 1e-3);
  }
  return best;
}

}  // namespace

std::vector<DeviceInfo> listDevices(std::string& why_none) {
  constexpr int kLeastMajor = 7;
  constexpr int kLeastMinor = 5;
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    why_none = reasonOf(error);
    (void)cudaGetLastError();  // the next call must not meet it again
    return {};
  }
  std::vector<DeviceInfo> devices;
  for (int i = 0; i < count; ++i) {
    DeviceInfo info = describe(i);
    if (std::pair(info.compute_major, info.compute_minor) < std::pair(kLeastMajor, kLeastMinor)) {
      why_none = info.name + " is older than compute capability 7.5";
      break;  // an index of the list is CUDA's
    }
    devices.push_back(std::move(info));
  }
  if (devices.empty() && why_none.empty()) why_none = "the NVIDIA driver finds no device (see CUDA_VISIBLE_DEVICES)";
  return devices;
}

Runtime::Runtime(int device_index) : m_impl(std::make_unique<Impl>()) {
  m_impl->device = device_index;
  m_impl->num_resets = makeUsable(device_index);
  check(cudaStreamCreateWithFlags(&m_impl->stream, cudaStreamNonBlocking), "making a stream");
  check(cublasCreate(&m_impl->blas), "starting cuBLAS");
  m_impl->workspace = allocate(kBlasWorkspaceBytes);
  check(cublasSetStream(m_impl->blas, m_impl->stream), "giving cuBLAS its stream");
  const std::size_t workspace_bytes = m_impl->workspace == nullptr ? 0 : kBlasWorkspaceBytes;
  check(cublasSetWorkspace(m_impl->blas, m_impl->workspace, workspace_bytes), "giving cuBLAS its memory");
}

Runtime::~Runtime() = default;

Runtime::Impl::~Impl() {
  if (num_resets != g_num_resets) return;
  (void)cudaSetDevice(device);
  if (stream != nullptr) (void)cudaStreamSynchronize(stream);
  for (const cudaEvent_t event : events) (void)cudaEventDestroy(event);
  if (blas != nullptr) (void)cublasDestroy(blas);
  (void)cudaFree(workspace);
  if (stream != nullptr) (void)cudaStreamDestroy(stream);
}

Stream Runtime::stream() const {
  return m_impl->current().stream;
}

std::byte* Runtime::allocate(std::size_t bytes) {
  m_impl->current();
  void* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, bytes);
  if (error == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    return nullptr;
  }
  check(error, "allocating device memory");
  return static_cast<std::byte*>(memory);
}

void Runtime::free(std::byte* memory) {
  if (m_impl->num_resets == g_num_resets) (void)cudaFree(memory);
}

std::byte* Runtime::allocatePinned(std::size_t bytes) {
  m_impl->current();
  void* memory = nullptr;
  check(cudaMallocHost(&memory, bytes), "allocating pinned memory");
  return static_cast<std::byte*>(memory);
}

void Runtime::freePinned(std::byte* memory) {
  if (m_impl->num_resets == g_num_resets) (void)cudaFreeHost(memory);
}

std::size_t Runtime::freeBytes() {
  m_impl->current();
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for the free memory");
  return free_bytes;
}

void Runtime::copyToDevice(std::byte* to, const std::byte* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, m_impl->current().stream), "copying to the device");
}

void Runtime::copyToHost(std::byte* to, const std::byte* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, m_impl->current().stream), "copying from the device");
}

void Runtime::copyOnDevice(std::byte* to, const std::byte* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, m_impl->current().stream), "copying on the device");
}

void Runtime::checkLaunch() {
  check(cudaGetLastError(), "starting a kernel");
}

void Runtime::synchronize() {
  check(cudaStreamSynchronize(m_impl->stream), "waiting for the device");
}

void Runtime::record(int event) {
  auto& events = m_impl->current().events;
  while (static_cast<int>(events.size()) <= event) {
    cudaEvent_t made = nullptr;
    check(cudaEventCreate(&made), "making an event");
    events.push_back(made);
  }
  // External: inside a graph it is a node that records whenever the graph runs.
  const unsigned flags = m_impl->capturing ? cudaEventRecordExternal : cudaEventRecordDefault;
  check(cudaEventRecordWithFlags(events[static_cast<std::size_t>(event)], m_impl->stream, flags), "recording an event");
}

double Runtime::millisecondsBetween(int first, int second) {
  float milliseconds = 0.0F;
  const auto& events = m_impl->events;
  check(cudaEventElapsedTime(&milliseconds, events[static_cast<std::size_t>(first)],
                             events[static_cast<std::size_t>(second)]),
        "reading an event");
  return milliseconds;
}

void Runtime::beginCapture() {
  check(cudaStreamBeginCapture(m_impl->current().stream, cudaStreamCaptureModeThreadLocal), "beginning a graph");
  m_impl->capturing = true;
}

std::unique_ptr<Graph> Runtime::endCapture() {
  m_impl->capturing = false;
  cudaGraph_t captured = nullptr;
  const cudaError_t error = cudaStreamEndCapture(m_impl->stream, &captured);
  auto graph = std::make_unique<NativeGraph>();
  const cudaError_t made = error == cudaSuccess ? cudaGraphInstantiate(&graph->exec, captured, 0) : error;
  if (captured != nullptr) (void)cudaGraphDestroy(captured);
  if (made != cudaSuccess) (void)cudaGetLastError();
  check(made, "making a graph");
  return graph;
}

void Runtime::start(Graph& graph) {
  check(cudaGraphLaunch(static_cast<NativeGraph&>(graph).exec, m_impl->current().stream), "starting a graph");
}

// A copy far past the caches, and a square product of halves; both within a gigabyte.
DeviceCeilings Runtime::probe() {
  constexpr std::size_t kCopyBytes = std::size_t{256} << 20;
  constexpr int kSide = 8192;
  constexpr std::size_t kHalfBytes = std::size_t{2} * kSide * kSide;
  std::byte* memory = allocate(4 * kHalfBytes);
  if (memory == nullptr) throw DeviceError("no device memory for the probe of its ceilings");
  check(cudaMemsetAsync(memory, 0x11, 4 * kHalfBytes, m_impl->current().stream), "filling memory");
  const double copy_s = bestSeconds(*this, [&] { copyOnDevice(memory + kCopyBytes, memory, kCopyBytes); });
  auto* halves = reinterpret_cast<std::uint16_t*>(memory);
  const Gemm gemm{.m = kSide,
                  .n = kSide,
                  .k = kSide,
                  .a = halves,
                  .lda = kSide,
                  .b = halves + kHalfBytes / 2,
                  .ldb = kSide,
                  .c = reinterpret_cast<float*>(memory + 2 * kHalfBytes),
                  .ldc = kSide};
  const double gemm_s = bestSeconds(*this, [&] { multiply(gemm); });
  free(memory);
  return {.copy_bytes_per_s = 2.0 * kCopyBytes / copy_s, .half_flop_per_s = 2.0 * kSide * kSide * kSide / gemm_s};
}

}  // namespace inferoscope::kernels::cuda
