#include "platform/overflow_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace durlog {
namespace {

// A door that threads wait at until the test opens it.
class Door {
 public:
  void Open() {
    const std::lock_guard<std::mutex> guard(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  void Pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

class Work final : public OverflowWork {
 public:
  bool taken() const override { return taken_.load(); }
  bool TakeForOverflow() override { return !taken_.exchange(true); }
  void RunInOverflow() override {
    begun.Open();
    may_end.Pass();
    ended.Open();
  }

  Door begun;
  Door may_end;
  Door ended;

 private:
  std::atomic<bool> taken_{false};
};

std::shared_ptr<Work> WorkThatEnds() {
  auto work = std::make_shared<Work>();
  work->may_end.Open();
  return work;
}

TEST(OverflowThreadsTest, WorkThatNoWorkerBeginsIsRun) {
  OverflowThreads threads;
  for (int round = 0; round < 50; ++round) {
    const std::shared_ptr<Work> work = WorkThatEnds();
    threads.Watch(work);
    work->ended.Pass();
  }
}

TEST(OverflowThreadsTest, WorkThatAWorkerHasTakenIsNotRun) {
  OverflowThreads threads;
  const auto taken = std::make_shared<Work>();  // would never end
  ASSERT_TRUE(taken->TakeForOverflow());
  threads.Watch(taken);
  ASSERT_TRUE(threads.Run(taken));
  const std::shared_ptr<Work> next = WorkThatEnds();
  threads.Watch(next);
  next->ended.Pass();
}

TEST(OverflowThreadsTest, WorkThatLastsHoldsUpNoOtherWork) {
  OverflowThreads threads;
  std::vector<std::shared_ptr<Work>> lasting;
  for (int i = 0; i < 8; ++i) {
    lasting.push_back(std::make_shared<Work>());
    if (i % 2 == 0) {
      threads.Watch(lasting.back());
    } else {
      ASSERT_TRUE(threads.Run(lasting.back()));
    }
    lasting.back()->begun.Pass();
    const std::shared_ptr<Work> watched = WorkThatEnds();
    threads.Watch(watched);
    const std::shared_ptr<Work> run = WorkThatEnds();
    ASSERT_TRUE(threads.Run(run));
    watched->ended.Pass();
    run->ended.Pass();
  }
  for (const std::shared_ptr<Work>& work : lasting) work->may_end.Open();
}

TEST(OverflowThreadsTest, ManyAtOnceAreAllRun) {
  OverflowThreads threads;
  std::vector<std::shared_ptr<Work>> all;
  for (size_t i = 0; i < 4 * OverflowThreads::kMaxThreads; ++i) {
    all.push_back(WorkThatEnds());
    if (i % 3 == 0) {
      threads.Watch(all.back());
    } else {
      ASSERT_TRUE(threads.Run(all.back()));
    }
  }
  for (const std::shared_ptr<Work>& work : all) work->ended.Pass();
}

TEST(OverflowThreadsTest, StopWaitsForTheWorkThatHasBegun) {
  OverflowThreads threads;
  const std::shared_ptr<Work> work = WorkThatEnds();
  ASSERT_TRUE(threads.Run(work));
  work->begun.Pass();
  threads.Stop();
  work->ended.Pass();
  EXPECT_FALSE(threads.Run(WorkThatEnds()));
}

}  // namespace
}  // namespace durlog
