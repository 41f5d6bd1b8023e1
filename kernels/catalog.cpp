// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/catalog.h"

namespace inferoscope::kernels {

template <class Args>
std::span<const Kernel<Args>> kernelsFor(Device) {
  return {};
}

template std::span<const Kernel<EmbedArgs>> kernelsFor(Device);
template std::span<const Kernel<RmsNormArgs>> kernelsFor(Device);
template std::span<const Kernel<LinearArgs>> kernelsFor(Device);
template std::span<const Kernel<RopeArgs>> kernelsFor(Device);
template std::span<const Kernel<KvAppendArgs>> kernelsFor(Device);
template std::span<const Kernel<AttentionArgs>> kernelsFor(Device);
template std::span<const Kernel<SwiGluArgs>> kernelsFor(Device);
template std::span<const Kernel<AddArgs>> kernelsFor(Device);

}  // namespace inferoscope::kernels
