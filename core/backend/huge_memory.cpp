// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/huge_memory.h"

#include "core/error.h"

#include <fmt/format.h>

#include <sys/mman.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace inferoscope::core {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

class Mapping : public Buffer {
 public:
  Mapping(void* base, std::size_t mapped, std::byte* data, std::size_t bytes)
      : m_base(base), m_mapped(mapped), m_data(data), m_bytes(bytes) {}
  ~Mapping() override { munmap(m_base, m_mapped); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::byte* data() override { return m_data; }
  std::size_t bytes() const override { return m_bytes; }

 private:
  void* m_base;
  std::size_t m_mapped;
  std::byte* m_data;
  std::size_t m_bytes;
};

double mib(std::size_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

[[noreturn]] void refuse(std::size_t bytes, std::string_view what) {
  throw Error(fmt::format("not enough memory for {}: {:.1f} MiB needed, {:.1f} MiB available", what, mib(bytes),
                          mib(availableMemory())));
}

}  // namespace

std::size_t availableMemory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::size_t kib = 0;
  while (file >> key >> kib) {
    if (key == "MemAvailable:") return kib << 10;
    file.ignore(256, '\n');
  }
  return 0;
}

std::shared_ptr<Buffer> allocateHuge(std::size_t bytes, std::string_view what) {
  // Pages come into being when touched: ask now, or the process is killed later instead of told.
  const std::size_t available = availableMemory();
  if (available != 0 && bytes > available) refuse(bytes, what);

  const bool large = bytes >= kHugePage;
  const std::size_t mapped = (bytes == 0 ? 1 : bytes) + (large ? kHugePage : 0);
  if (mapped < bytes) refuse(bytes, what);
  void* base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) refuse(bytes, what);

  auto address = reinterpret_cast<std::uintptr_t>(base);
  if (large) {
    address = (address + kHugePage - 1) / kHugePage * kHugePage;
    // Advice: without huge pages all works, slower.
    (void)madvise(reinterpret_cast<void*>(address), bytes, MADV_HUGEPAGE);
  }
  return std::make_shared<Mapping>(base, mapped, reinterpret_cast<std::byte*>(address), bytes);
}

}  // namespace inferoscope::core
