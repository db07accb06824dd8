// Replaces src-native/base/job.h, so that a job can be suspended in the middle of its work. Workers
// are fibers here, and waiting for a job that another fiber has begun lets that fiber continue.
// Each explorer defines the function.
#pragma once

#include <cstdint>

namespace durlog {

namespace stand_in {
void LetOthersRun();
}

class Job {
 public:
  virtual ~Job() = default;
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  void RunOnce() {
    if (state_ != State::kQueued) return;
    state_ = State::kRunning;
    Run();
    state_ = State::kDone;
  }

  void Await() {
    RunOnce();
    while (!done()) stand_in::LetOthersRun();
  }

  virtual bool waits() const { return false; }

  bool done() const { return state_ == State::kDone; }

  // A job that checks whether it is cancelled ends soon, with or without its work done.
  void Cancel() { cancelled_ = true; }

 protected:
  virtual void Run() = 0;
  bool cancelled() const { return cancelled_; }
  // A fiber may always wait.
  bool MustLeaveThread() { return false; }
  bool leaves_thread() const { return false; }

 private:
  enum class State : uint8_t { kQueued, kRunning, kDone };
  State state_ = State::kQueued;
  bool cancelled_ = false;
};

}  // namespace durlog
