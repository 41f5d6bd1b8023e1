// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/emulation/race_detector.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace inferoscope::kernels::cuda::emulation::races {

// The sanitizer forgets what happened to memory when that is unmapped.
std::byte* takeUntouched(std::size_t bytes, std::size_t alignment) {
  if (!kWatched) return static_cast<std::byte*>(::operator new (bytes, std::align_val_t{alignment}));
  void* memory =
      mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

void giveBack(std::byte* memory, std::size_t bytes, std::size_t alignment) {
  if (!kWatched) return ::operator delete (memory, std::align_val_t{alignment});
  munmap(memory, std::max<std::size_t>(bytes, 1));
}

}  // namespace inferoscope::kernels::cuda::emulation::races
