// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/backend/backend.h"

#include <cstring>

namespace inferoscope::tests {

// A backend that holds memory and runs nothing. It counts what it gave out, so that a test sees what is still held.
class HostBackend : public core::Backend {
 public:
  std::size_t heldBytes() const { return *m_held_bytes; }

  std::string_view id() const override { return "host"; }
  kernels::Device device() const override { return kernels::Device::kCpu; }
  int numThreads() const override { return 1; }
  void setThreads(int) override {}

  std::shared_ptr<core::Buffer> allocate(std::size_t bytes, std::string_view) override {
    return std::make_shared<HostBuffer>(bytes, m_held_bytes);
  }
  void upload(core::Buffer& to, std::size_t offset, std::span<const std::byte> from) override {
    std::memcpy(to.data() + offset, from.data(), from.size());
  }
  void download(const core::Buffer&, std::size_t, std::span<std::byte>) override {}

  kernels::Exec exec(std::size_t, std::stop_token) override { return {}; }
  void resetMarks() override {}
  void mark() override {}
  std::span<const std::int64_t> times() override { return {}; }
  core::MachineLimits probe(std::stop_token) override { return {}; }

 private:
  class HostBuffer final : public core::Buffer {
   public:
    HostBuffer(std::size_t bytes, std::shared_ptr<std::size_t> held) : m_memory(bytes), m_held(std::move(held)) {
      *m_held += bytes;
    }
    ~HostBuffer() override { *m_held -= m_memory.size(); }
    std::byte* data() override { return m_memory.data(); }
    std::size_t bytes() const override { return m_memory.size(); }

   private:
    std::vector<std::byte> m_memory;
    std::shared_ptr<std::size_t> m_held;
  };

  std::shared_ptr<std::size_t> m_held_bytes = std::make_shared<std::size_t>(0);
};

}  // namespace inferoscope::tests
