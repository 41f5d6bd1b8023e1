// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/gpu_utilisation.h"

#include <dlfcn.h>

#include <chrono>

namespace inferoscope::core {
namespace {

constexpr int kSuccess = 0;
constexpr std::int64_t kPauseNs = 100'000'000;

std::int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

GpuUtilisation::GpuUtilisation(const std::string& pci_bus_id, const char* library) {
  if (pci_bus_id.empty()) return;
  m_library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (m_library == nullptr) return;
  int (*init)() = nullptr;
  int (*device_of)(const char* pci_bus_id, void** device) = nullptr;
  const bool complete = find(m_library, "nvmlInit_v2", init) && find(m_library, "nvmlShutdown", m_shutdown) &&
                        find(m_library, "nvmlDeviceGetHandleByPciBusId_v2", device_of) &&
                        find(m_library, "nvmlDeviceGetUtilizationRates", m_rates);
  if (!complete || init() != kSuccess) {
    m_shutdown = nullptr;
    return;
  }
  if (device_of(pci_bus_id.c_str(), &m_device) != kSuccess) m_device = nullptr;
}

GpuUtilisation::~GpuUtilisation() {
  if (m_shutdown != nullptr) m_shutdown();
  if (m_library != nullptr) dlclose(m_library);
}

std::optional<double> GpuUtilisation::read() {
  const std::int64_t now = nowNs();
  if (m_device == nullptr || now < m_next_read_ns) return m_last;
  m_next_read_ns = now + kPauseNs;
  Rates rates;
  m_last = std::nullopt;
  if (m_rates(m_device, &rates) == kSuccess) m_last = rates.gpu * 0.01;
  return m_last;
}

}  // namespace inferoscope::core
