// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/module.h"

#include "kernels/cuda/planes.h"
#include "kernels/cuda/queue.h"
#include "kernels/cuda/rows.h"

#include <array>

namespace inferoscope::kernels::cuda {
namespace {

std::unique_ptr<Queue> open(int device_index) {
  return std::make_unique<DeviceQueue>(device_index);
}

Module makeModule() {
  // The preferred first, as in the catalog.
  static const std::array kEmbed = {embedRows()};
  static const std::array kRmsNorm = {rmsNormBlock(), rmsNormAdding()};
  static const std::array kLinear = {linearGemv(), linearCublas()};
  static const std::array kRope = {ropePairs()};
  static const std::array kKvAppend = {kvAppendWarp()};
  static const std::array kAttention = {attentionFlash(), attentionNaive()};
  static const std::array kSwiGlu = {swiGluElements()};
  static const std::array kAdd = {addElements()};
  static const std::array kSample = {sampleRows()};
  return {.abi_version = kModuleAbiVersion,
          .device = kThisDevice,
          .devices = listDevices,
          .open = open,
          .layout = layoutOf,
          .repack = repack,
          .catalog = {.embed = kEmbed,
                      .rms_norm = kRmsNorm,
                      .linear = kLinear,
                      .rope = kRope,
                      .kv_append = kKvAppend,
                      .attention = kAttention,
                      .swiglu = kSwiGlu,
                      .add = kAdd,
                      .sample = kSample}};
}

}  // namespace
}  // namespace inferoscope::kernels::cuda

extern "C" __attribute__((visibility("default"))) const inferoscope::kernels::cuda::Module* inferoscopeCudaModule() {
  static const inferoscope::kernels::cuda::Module kModule = inferoscope::kernels::cuda::makeModule();
  return &kModule;
}
