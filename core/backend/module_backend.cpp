// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/module_backend.h"

#include "core/backend/gpu_utilisation.h"
#include "core/error.h"
#include "kernels/cuda/module.h"

#include <fmt/format.h>

#include <dlfcn.h>

#include <charconv>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

namespace inferoscope::core {
namespace {

namespace cuda = kernels::cuda;
namespace fs = std::filesystem;

constexpr const char* kCudaLibrary = "libinferoscope_cuda.so";
constexpr const char* kEmulationLibrary = "libinferoscope_cuda_emu.so";
constexpr std::string_view kEmulation = "cuda-emu";
constexpr std::string_view kCudaPrefix = "cuda:";

double gib(std::size_t bytes) {
  return static_cast<double>(bytes) / (1 << 30);
}

std::string describe(const cuda::DeviceInfo& info) {
  return fmt::format("{}, compute capability {}.{}, {:.1f} GiB", info.name, info.compute_major, info.compute_minor,
                     gib(info.total_bytes));
}

// Beside the program; tests lie in a folder next to it.
fs::path pathOf(const char* library) {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path : {folder / library, folder.parent_path() / "bin" / library}) {
    if (fs::exists(path, error)) return path;
  }
  return {};
}

// Never closed: buffers may outlive every backend.
const cuda::Module& openModule(const char* library) {
  const fs::path path = pathOf(library);
  if (path.empty()) throw Error("this program was built without its CUDA module");
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw Error(fmt::format("the CUDA module does not load: {}", dlerror()));
  using GetModule = const cuda::Module* (*)();
  const auto get = reinterpret_cast<GetModule>(dlsym(handle, cuda::kModuleSymbol));
  if (get == nullptr || get()->abi_version != cuda::kModuleAbiVersion) {
    throw Error(fmt::format("{} is of another version than this program; build both anew", path.string()));
  }
  return *get();
}

class DeviceBuffer : public Buffer {
 public:
  DeviceBuffer(std::shared_ptr<cuda::Queue> queue, std::byte* data, std::size_t bytes)
      : m_queue(std::move(queue)), m_data(data), m_bytes(bytes) {}
  ~DeviceBuffer() override {
    try {
      m_queue->free(m_data);
    } catch (const cuda::DeviceError&) {  // of work enqueued before; whoever waits for that hears of it
    }
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  std::byte* data() override { return m_data; }
  std::size_t bytes() const override { return m_bytes; }

 private:
  std::shared_ptr<cuda::Queue> m_queue;
  std::byte* m_data;
  std::size_t m_bytes;
};

class ModuleBackend : public Backend {
 public:
  ModuleBackend(const cuda::Module& module, std::string id, int device_index, const cuda::DeviceInfo& info)
      : m_module(module),
        m_id(std::move(id)),
        m_hardware(describe(info)),
        m_queue(module.open(device_index)),
        m_utilisation(info.pci_bus_id) {}

  std::string_view id() const override { return m_id; }
  std::string hardware() const override { return m_hardware; }
  kernels::Device device() const override { return m_module.device; }
  kernels::Catalog catalog() const override { return m_module.catalog; }
  // Threads of the CPU do none of the work; the number is kept for those who set it.
  int numThreads() const override { return m_num_threads; }
  void setThreads(int num_threads) override { m_num_threads = num_threads; }

  std::size_t freeBytes() const override { return m_queue->freeBytes(); }
  std::shared_ptr<Buffer> allocate(std::size_t bytes, std::string_view what) override {
    std::byte* data = m_queue->allocate(bytes);
    if (data == nullptr) {
      throw Error(fmt::format("not enough memory on {} for {}: {:.2f} GiB needed, {:.2f} GiB free", m_id, what,
                              gib(bytes), gib(m_queue->freeBytes())));
    }
    return std::make_shared<DeviceBuffer>(m_queue, data, bytes);
  }
  void upload(Buffer& to, std::size_t offset, std::span<const std::byte> from) override {
    m_queue->upload(to.data() + offset, from);
  }
  void download(const Buffer& from, std::size_t offset, std::span<std::byte> to) override {
    m_queue->download(to, const_cast<Buffer&>(from).data() + offset);
  }

  kernels::Layout layoutFor(const kernels::WeightMatrix& w) const override { return m_module.layout(w.format); }
  void uploadRows(Buffer& to, std::size_t offset, const kernels::WeightMatrix& w, int first_row,
                  std::span<const std::byte> rows) override {
    struct Target {
      cuda::Queue& queue;
      std::byte* matrix;
    } target{*m_queue, to.data() + offset};
    const std::int64_t row_blocks = w.num_cols / kernels::formatOf(w.format).block_elems;
    m_module.repack(
        w, first_row * row_blocks, rows,
        [](void* context, std::int64_t at, std::span<const std::byte> bytes) {
          const Target& to_matrix = *static_cast<Target*>(context);
          to_matrix.queue.upload(to_matrix.matrix + at, bytes);
        },
        &target);
  }

  kernels::Exec exec(std::size_t scratch_bytes, std::stop_token stop) override {
    if (scratch_bytes > 0 && (!m_scratch || m_scratch->bytes() < scratch_bytes)) {
      m_scratch.reset();  // first, so that two never exist at once
      m_scratch = allocate(scratch_bytes, "the kernels' scratch memory");
    }
    const std::span<std::byte> scratch =
        m_scratch ? std::span(m_scratch->data(), m_scratch->bytes()) : std::span<std::byte>();
    return {.pool = nullptr, .queue = m_queue.get(), .scratch = scratch, .stop = std::move(stop)};
  }

  void beginGraph() override { m_queue->beginGraph(); }
  void resetMarks() override { m_queue->beginStep(); }
  void mark() override { m_queue->mark(); }
  std::span<const std::int64_t> times() override {
    m_times = m_queue->times();
    return m_times;
  }

  std::optional<double> utilisation() override { return m_utilisation.read(); }
  std::string failure() override {
    try {
      m_queue->wait();
      return {};
    } catch (const cuda::DeviceError& error) {
      return fmt::format("{} broke ({}); open the model again to start it anew", m_id, error.what());
    }
  }

  // Copies count what they read and write. Of arithmetic only the fastest kind is measured: halves with float sums.
  MachineLimits probe(std::stop_token stop) override {
    const cuda::DeviceCeilings ceilings = m_queue->probe();
    if (stop.stop_requested()) throw Cancelled();
    MachineLimits limits;
    limits.read_bytes_per_s = ceilings.copy_bytes_per_s;
    limits.f16_flop_per_s = ceilings.half_flop_per_s;
    limits.num_threads = m_num_threads;
    limits.measured_at_unix_s =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    return limits;
  }

 private:
  const cuda::Module& m_module;
  std::string m_id;
  std::string m_hardware;
  int m_num_threads = 1;
  std::shared_ptr<cuda::Queue> m_queue;
  std::shared_ptr<Buffer> m_scratch;
  std::vector<std::int64_t> m_times;
  GpuUtilisation m_utilisation;
};

std::unique_ptr<Backend> openDevice(const char* library, const std::string& id, int index) {
  const cuda::Module& module = openModule(library);
  try {
    std::string why;
    const std::vector<cuda::DeviceInfo> devices = module.devices(why);
    const std::size_t count = devices.size();
    if (count == 0) throw Error(fmt::format("{}: {}", id, why));
    if (std::cmp_greater_equal(index, count)) {
      throw Error(fmt::format("{}: there {} only {} such device{}", id, count == 1 ? "is" : "are", count,
                              count == 1 ? "" : "s"));
    }
    return std::make_unique<ModuleBackend>(module, id, index, devices[static_cast<std::size_t>(index)]);
  } catch (const cuda::DeviceError& error) {
    throw Error(fmt::format("{}: {}", id, error.what()));
  }
}

}  // namespace

GpuListing listGpus() {
  GpuListing listing;
  try {
    const auto devices = openModule(kCudaLibrary).devices(listing.why_none);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      listing.gpus.push_back({fmt::format("{}{}", kCudaPrefix, i), describe(devices[i])});
    }
  } catch (const std::runtime_error& error) {  // Error or, of a broken driver, DeviceError
    listing = {.gpus = {}, .why_none = error.what()};
  }
  return listing;
}

std::unique_ptr<Backend> makeBackend(std::string_view device, int num_threads) {
  if (device == "cpu") return makeCpuBackend(num_threads);
  if (device == kEmulation) return openDevice(kEmulationLibrary, std::string(device), 0);
  int index = -1;
  if (device.starts_with(kCudaPrefix)) {
    const std::string_view number = device.substr(kCudaPrefix.size());
    std::from_chars(number.data(), number.data() + number.size(), index);
  }
  if (index < 0) throw Error(fmt::format("there is no device \"{}\", only cpu and cuda:0, cuda:1, ...", device));
  return openDevice(kCudaLibrary, std::string(device), index);
}

}  // namespace inferoscope::core
