// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/backend/backend.h"
#include "core/error.h"

#include <functional>
#include <utility>

namespace inferoscope::tests {

// A backend, by default the CPU's, with trouble made to order: hooks are called before the real thing and may wait or
// throw.
class TriedBackend final : public core::Backend {
 public:
  explicit TriedBackend(int num_threads = 1) : TriedBackend(core::makeCpuBackend(num_threads)) {}
  explicit TriedBackend(std::unique_ptr<core::Backend> real) : m_real(std::move(real)) {}

  std::function<void()> before_op;  // of each kernel call
  std::function<void()> before_allocate;
  std::function<void(std::span<std::byte>)> after_download;  // may change what was got

  std::string hardware_name = "a processor";

  std::string_view id() const override { return m_real->id(); }
  std::string hardware() const override { return hardware_name; }
  kernels::Device device() const override { return m_real->device(); }
  kernels::Catalog catalog() const override { return m_real->catalog(); }
  int numThreads() const override { return m_real->numThreads(); }
  void setThreads(int num_threads) override { m_real->setThreads(num_threads); }
  std::shared_ptr<core::Buffer> allocate(std::size_t bytes, std::string_view what) override {
    if (before_allocate) before_allocate();
    return m_real->allocate(bytes, what);
  }
  void upload(core::Buffer& to, std::size_t offset, std::span<const std::byte> from) override {
    m_real->upload(to, offset, from);
  }
  kernels::Layout layoutFor(const kernels::WeightMatrix& w) const override { return m_real->layoutFor(w); }
  void uploadRows(core::Buffer& to, std::size_t offset, const kernels::WeightMatrix& w, int first_row,
                  std::span<const std::byte> rows) override {
    m_real->uploadRows(to, offset, w, first_row, rows);
  }
  void download(const core::Buffer& from, std::size_t offset, std::span<std::byte> to) override {
    m_real->download(from, offset, to);
    if (after_download) after_download(to);
  }
  kernels::Exec exec(std::size_t scratch_bytes, std::stop_token stop) override {
    if (before_op) before_op();
    return m_real->exec(scratch_bytes, std::move(stop));
  }
  void resetMarks() override { m_real->resetMarks(); }
  void mark() override { m_real->mark(); }
  std::span<const std::int64_t> times() override { return m_real->times(); }
  core::MachineLimits probe(std::stop_token stop) override { return m_real->probe(std::move(stop)); }

 private:
  std::unique_ptr<core::Backend> m_real;
};

}  // namespace inferoscope::tests
