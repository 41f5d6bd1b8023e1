// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace inferoscope::kernels::cuda::emulation {

// Memory for a fiber's calls.
class Stack {
 public:
  Stack();
  ~Stack();
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  std::byte* bottom() const { return m_bottom; }
  std::size_t bytes() const;
  bool overflowed() const;    // something wrote to its far end
  void forgetFrames() const;  // of a fiber that was left in the middle

 private:
  std::byte* m_bottom;
};

// Stacks for those who need one for a while; few exist where few are in use at once.
class StackPool {
 public:
  std::unique_ptr<Stack> take();
  void giveBack(std::unique_ptr<Stack> stack);

 private:
  std::vector<std::unique_ptr<Stack>> m_free;
};

// A line of execution that can be left and resumed at any call. The one that starts a fiber is a fiber too: the host,
// made by the constructor.
class Fiber {
 public:
  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Will call body(argument) when first switched to; body must end with leaveForGood().
  void prepare(Stack& stack, void (*body)(void*), void* argument);

  // Leaves `from`, which is running, for `to`. Returns when someone switches to `from` again.
  static void change(Fiber& from, Fiber& to);
  [[noreturn]] static void leaveForGood(Fiber& from, Fiber& to);

 private:
  static void enter();
  static void enterFrom(Fiber& from, Fiber& to, bool for_good);

  void* m_stack_pointer = nullptr;
  void (*m_body)(void*) = nullptr;
  void* m_argument = nullptr;
  const void* m_stack_bottom = nullptr;  // for AddressSanitizer; unknown for the host until it is left
  std::size_t m_stack_bytes = 0;
  void* m_watched = nullptr;  // the thread sanitizer's fiber
  bool m_is_host = true;
  bool m_ended = false;
};

}  // namespace inferoscope::kernels::cuda::emulation
