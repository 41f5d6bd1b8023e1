// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>

namespace inferoscope::kernels::cuda::emulation {

// The one emulated device, as a test sets it up and looks at it.
struct Device {
  std::size_t total_bytes = std::size_t{4} << 30;
  std::size_t used_bytes = 0;

  // Memory allocated from now on can be touched by the device's work alone: a host that reads or writes it crashes.
  // For one queue at a time.
  bool guarded = false;

  // The n-th allocation, or kernel, from now on fails; 0: none. A kernel that fails breaks the device.
  int failing_allocation = 0;
  int failing_kernel = 0;

  bool broken = false;  // as after an illegal access: all calls fail until someone opens the device anew
  int num_resets = 0;   // memory from before is gone

  int graphs_made = 0;
  int graphs_started = 0;
};

// Counts down to the one that fails.
inline bool isTheOne(int& countdown) {
  return countdown > 0 && --countdown == 0;
}

}  // namespace inferoscope::kernels::cuda::emulation

// Also a symbol of the emulation's library.
extern "C" inferoscope::kernels::cuda::emulation::Device* inferoscopeEmulatedDevice();
