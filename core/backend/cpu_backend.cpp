// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/backend.h"
#include "core/backend/cpu_probe.h"
#include "core/backend/huge_memory.h"
#include "kernels/catalog.h"
#include "kernels/cpu/pool.h"
#include "kernels/interleave.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace inferoscope::core {
namespace {

constexpr int kMaxThreads = 256;

std::int64_t steadyNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int threadsOrCores(int num_threads) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return num_threads <= 0 ? cores : std::min(num_threads, kMaxThreads);
}

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(int num_threads) { setThreads(num_threads); }

  std::string_view id() const override { return "cpu"; }
  kernels::Device device() const override { return kernels::Device::kCpu; }
  int numThreads() const override { return m_pool->numThreads(); }

  void setThreads(int num_threads) override {
    const int wanted = threadsOrCores(num_threads);
    if (!m_pool || m_pool->numThreads() != wanted) m_pool = std::make_unique<kernels::cpu::Pool>(wanted);
  }

  std::size_t freeBytes() const override { return availableMemory(); }
  std::shared_ptr<Buffer> allocate(std::size_t bytes, std::string_view what) override {
    return allocateHuge(bytes, what);
  }
  void upload(Buffer& to, std::size_t offset, std::span<const std::byte> from) override {
    std::memcpy(to.data() + offset, from.data(), from.size());
  }
  void download(const Buffer& from, std::size_t offset, std::span<std::byte> to) override {
    std::memcpy(to.data(), const_cast<Buffer&>(from).data() + offset, to.size());
  }

  kernels::Layout layoutFor(const kernels::WeightMatrix& w) const override {
    return kernels::preferredLayout(device(), w);
  }
  void uploadRows(Buffer& to, std::size_t offset, const kernels::WeightMatrix& w, int first_row,
                  std::span<const std::byte> rows) override {
    if (w.layout == kernels::Layout::kRows) return Backend::uploadRows(to, offset, w, first_row, rows);
    static_assert(kUploadRows % kernels::kGroupRows == 0);
    const std::int64_t row_bytes = kernels::groupBytes(w) / kernels::kGroupRows;
    const auto num_rows = static_cast<int>(static_cast<std::int64_t>(rows.size()) / row_bytes);
    std::byte* const first = to.data() + offset + first_row * row_bytes;
    m_pool->parallelFor((num_rows + kernels::kGroupRows - 1) / kernels::kGroupRows, {}, [&](int group, int) {
      const int row = group * kernels::kGroupRows;
      kernels::interleaveGroup(w, rows.data() + row * row_bytes, std::min(kernels::kGroupRows, num_rows - row),
                               first + row * row_bytes);
    });
  }

  kernels::Exec exec(std::size_t scratch_bytes, std::stop_token stop) override {
    if (!m_scratch || m_scratch->bytes() < scratch_bytes) {
      m_scratch.reset();  // first, so that two never exist at once
      m_scratch = allocateHuge(scratch_bytes, "the kernels' scratch memory");
    }
    return {.pool = m_pool.get(), .scratch = {m_scratch->data(), m_scratch->bytes()}, .stop = std::move(stop)};
  }

  void resetMarks() override { m_times.clear(); }
  void mark() override {
    const std::int64_t now = steadyNs();
    if (m_times.empty()) m_first_mark = now;
    m_times.push_back(now - m_first_mark);
  }
  std::span<const std::int64_t> times() override { return m_times; }

  MachineLimits probe(std::stop_token stop) override { return probeCpu(*m_pool, stop); }

 private:
  std::unique_ptr<kernels::cpu::Pool> m_pool;
  std::shared_ptr<Buffer> m_scratch;
  std::vector<std::int64_t> m_times;  // since m_first_mark
  std::int64_t m_first_mark = 0;
};

}  // namespace

std::unique_ptr<Backend> makeCpuBackend(int num_threads) {
  return std::make_unique<CpuBackend>(num_threads);
}

}  // namespace inferoscope::core
