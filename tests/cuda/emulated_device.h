// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/error.h"
#include "kernels/cuda/emulation/device.h"

#include <dlfcn.h>

namespace inferoscope::tests {

// The device that engines on cuda-emu run on: that of the module, not of a program it is linked into.
inline kernels::cuda::emulation::Device& emulatedDevice() {
  void* module = dlopen(INFEROSCOPE_BINARY_DIR "/libinferoscope_cuda_emu.so", RTLD_NOW | RTLD_LOCAL);
  void* get = module == nullptr ? nullptr : dlsym(module, "inferoscopeEmulatedDevice");
  if (get == nullptr) throw core::Error(dlerror());
  return *reinterpret_cast<kernels::cuda::emulation::Device* (*)()>(get)();
}

}  // namespace inferoscope::tests
