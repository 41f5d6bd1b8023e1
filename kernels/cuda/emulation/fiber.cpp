// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/emulation/fiber.h"

#include "kernels/cuda/emulation/race_detector.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
// AddressSanitizer's own interface: it must be told which stack is in use.
extern "C" {
void __asan_unpoison_memory_region(void const volatile* memory, std::size_t bytes);
void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, std::size_t bytes);
void __sanitizer_finish_switch_fiber(void* fake_stack, const void** old_bottom, std::size_t* old_bytes);
}
#endif

#if !defined(__x86_64__)
#error "the emulation changes stacks with x86-64 instructions"
#endif

// Saves the registers that a call must keep, changes the stack, restores. C++ has no words for this, and
// swapcontext() asks the system for the signal mask each time: several times slower.
extern "C" __attribute__((visibility("hidden"))) void inferoscopeChangeStack(void** save, void* load);
asm(R"(
.text
.hidden inferoscopeChangeStack
.globl inferoscopeChangeStack
.type inferoscopeChangeStack, @function
inferoscopeChangeStack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size inferoscopeChangeStack, .-inferoscopeChangeStack
)");

namespace inferoscope::kernels::cuda::emulation {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kStackBytes = 256 << 10;  // frames are larger
#else
constexpr std::size_t kStackBytes = 64 << 10;
#endif
constexpr std::size_t kAlignment = 4096;
constexpr unsigned char kCanary[16] = {0xC5, 0x3A, 0x96, 0x1F, 0x70, 0xE8, 0x4D, 0xB2,
                                       0x0B, 0xD7, 0x68, 0x91, 0xFE, 0x25, 0xAC, 0x53};

// The fiber being entered: handed over to it in this variable, as a switch carries no arguments.
thread_local Fiber* t_entered = nullptr;
thread_local Fiber* t_left = nullptr;

}  // namespace

Stack::Stack() : m_bottom(races::takeUntouched(kStackBytes, kAlignment)) {
  std::memcpy(m_bottom, kCanary, sizeof(kCanary));
}

Stack::~Stack() {
  forgetFrames();
  races::giveBack(m_bottom, kStackBytes, kAlignment);
}

bool Stack::overflowed() const {
  return std::memcmp(m_bottom, kCanary, sizeof(kCanary)) != 0;
}

std::size_t Stack::bytes() const {
  return kStackBytes;
}

void Stack::forgetFrames() const {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(m_bottom, kStackBytes);
#endif
}

void StackPool::giveBack(std::unique_ptr<Stack> stack) {
  if (!races::kWatched) m_free.push_back(std::move(stack));
}

std::unique_ptr<Stack> StackPool::take() {
  if (m_free.empty()) return std::make_unique<Stack>();
  std::unique_ptr<Stack> stack = std::move(m_free.back());
  m_free.pop_back();
  return stack;
}

Fiber::~Fiber() {
  if (m_ended) races::endFiber(m_watched);
}

void Fiber::prepare(Stack& stack, void (*body)(void*), void* argument) {
  m_watched = races::makeFiber();
  m_is_host = false;
  stack.forgetFrames();
  m_body = body;
  m_argument = argument;
  m_stack_bottom = stack.bottom();
  m_stack_bytes = stack.bytes();
  // As if inferoscopeChangeStack() had been called from a function whose caller is nobody: six registers, where to
  // return to, and a return address that keeps the stack aligned as at any function's first instruction.
  auto* top = reinterpret_cast<void**>(stack.bottom() + stack.bytes());
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&Fiber::enter);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  m_stack_pointer = top;
}

void Fiber::enter() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &t_left->m_stack_bottom, &t_left->m_stack_bytes);
#endif
  Fiber* self = t_entered;
  self->m_body(self->m_argument);
  std::abort();  // the body may not return
}

void Fiber::enterFrom(Fiber& from, Fiber& to, [[maybe_unused]] bool for_good) {
  t_left = &from;
  t_entered = &to;
  if (from.m_is_host) from.m_watched = races::currentFiber();
  races::changeTo(to.m_watched);
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_stack, to.m_stack_bottom, to.m_stack_bytes);
#endif
  inferoscopeChangeStack(&from.m_stack_pointer, to.m_stack_pointer);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack, &t_left->m_stack_bottom, &t_left->m_stack_bytes);
#endif
}

void Fiber::change(Fiber& from, Fiber& to) {
  enterFrom(from, to, false);
}

void Fiber::leaveForGood(Fiber& from, Fiber& to) {
  from.m_ended = true;
  enterFrom(from, to, true);
  std::abort();  // someone resumed a finished fiber
}

}  // namespace inferoscope::kernels::cuda::emulation
