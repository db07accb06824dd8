#include <ucontext.h>

#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "fiber.h"

namespace durlog::crash {
namespace {

// Enough for three nested sessions.
constexpr size_t kStackBytes = 512 << 10;

std::vector<void*>& SpareStacks() {
  static auto* const stacks = new std::vector<void*>;
  return *stacks;
}

void* TakeStack() {
  std::vector<void*>& spare = SpareStacks();
  if (spare.empty()) return std::malloc(kStackBytes);
  void* const stack = spare.back();
  spare.pop_back();
  return stack;
}

}  // namespace

struct Fiber::State {
  std::function<void()> work;
  void* stack = nullptr;
  ucontext_t own;
  ucontext_t resumer;
  bool done = false;

  // makecontext passes only ints.
  static void Enter(unsigned high, unsigned low) {
    const uint64_t bits = (uint64_t{high} << 32) | low;
    auto* const state = reinterpret_cast<State*>(static_cast<uintptr_t>(bits));
    state->work();
    state->done = true;
    swapcontext(&state->own, &state->resumer);
    std::abort();
  }
};

Fiber::Fiber(std::function<void()> work) : state_(new State) {
  state_->work = std::move(work);
  state_->stack = TakeStack();
  if (state_->stack == nullptr || getcontext(&state_->own) != 0) std::abort();
  state_->own.uc_stack.ss_sp = state_->stack;
  state_->own.uc_stack.ss_size = kStackBytes;
  state_->own.uc_link = nullptr;
  const uint64_t bits = reinterpret_cast<uintptr_t>(state_.get());
  makecontext(&state_->own, reinterpret_cast<void (*)()>(&State::Enter), 2,
              static_cast<unsigned>(bits >> 32), static_cast<unsigned>(bits));
}

Fiber::~Fiber() { SpareStacks().push_back(state_->stack); }

void Fiber::Resume() { swapcontext(&state_->resumer, &state_->own); }

bool Fiber::done() const { return state_->done; }

void Fiber::Pause() { swapcontext(&state_->own, &state_->resumer); }

}  // namespace durlog::crash
