#include <utility>

#include "fiber.h"

namespace durlog::crash {

struct Fiber::State {
  std::function<void()> work;
  bool done = false;
};

Fiber::Fiber(std::function<void()> work) : state_(new State) { state_->work = std::move(work); }

Fiber::~Fiber() = default;

void Fiber::Resume() {
  state_->work();
  state_->done = true;
}

bool Fiber::done() const { return state_->done; }

void Fiber::Pause() {}

}  // namespace durlog::crash
