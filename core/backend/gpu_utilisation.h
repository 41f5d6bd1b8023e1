// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace inferoscope::core {

// "Utilisation" as NVIDIA's driver reports it through NVML, the way nvidia-smi shows it: the share of the last moments
// in which any kernel ran at all, however little of the device it used. NVML is opened at run time; without it there is
// nothing to tell.
class GpuUtilisation {
 public:
  // pci_bus_id: as CUDA names the device; empty: none.
  explicit GpuUtilisation(const std::string& pci_bus_id, const char* library = "libnvidia-ml.so.1");
  ~GpuUtilisation();
  GpuUtilisation(const GpuUtilisation&) = delete;
  GpuUtilisation& operator=(const GpuUtilisation&) = delete;

  // In 0..1. The driver is asked ten times a second at most.
  std::optional<double> read();

 private:
  struct Rates {
    unsigned gpu = 0;  // percent
    unsigned memory = 0;
  };

  void* m_library = nullptr;
  void* m_device = nullptr;
  int (*m_shutdown)() = nullptr;
  int (*m_rates)(void* device, Rates* rates) = nullptr;
  std::int64_t m_next_read_ns = 0;
  std::optional<double> m_last;
};

}  // namespace inferoscope::core
