// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>

// What the thread sanitizer must be told so that it sees each CUDA thread as a thread, ordered with others by barriers
// alone. Nothing of it is left in other builds. Made for clang's: g++ 12's is an order of magnitude slower.
#if defined(INFEROSCOPE_TSAN)
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace inferoscope::kernels::cuda::emulation::races {

#if defined(INFEROSCOPE_TSAN)

constexpr bool kWatched = true;
constexpr unsigned kNoOrder = 1;  // changing fibers orders nothing

inline void* currentFiber() {
  return __tsan_get_current_fiber();
}
inline void* makeFiber() {
  return __tsan_create_fiber(0);
}
inline void endFiber(void* fiber) {
  if (fiber != nullptr) __tsan_destroy_fiber(fiber);
}
inline void changeTo(void* fiber) {
  __tsan_switch_to_fiber(fiber, kNoOrder);
}
// What came before a release comes before what follows an acquire of the same object.
inline void release(void* object) {
  __tsan_release(object);
}
inline void acquire(void* object) {
  __tsan_acquire(object);
}

// While one exists, what this thread does is the emulation's own affair.
class Unwatched {
 public:
  Unwatched() {
    AnnotateIgnoreReadsBegin("", 0);
    AnnotateIgnoreWritesBegin("", 0);
  }
  ~Unwatched() {
    AnnotateIgnoreWritesEnd("", 0);
    AnnotateIgnoreReadsEnd("", 0);
  }
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;
};

#else

constexpr bool kWatched = false;
inline void* currentFiber() {
  return nullptr;
}
inline void* makeFiber() {
  return nullptr;
}
inline void endFiber(void*) {}
inline void changeTo(void*) {}
inline void release(void*) {}
inline void acquire(void*) {}
struct Unwatched {
  ~Unwatched() {}  // not trivial: so that nobody warns of an unused variable
};

#endif

// Memory that no thread has touched before, as far as the sanitizer knows: memory of an ended thread would seem to be
// fought over otherwise.
std::byte* takeUntouched(std::size_t bytes, std::size_t alignment);
void giveBack(std::byte* memory, std::size_t bytes, std::size_t alignment);

}  // namespace inferoscope::kernels::cuda::emulation::races
