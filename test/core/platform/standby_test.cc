#include "platform/standby.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace durlog {
namespace {

void YieldAtOnce() {}

// As if another thread had run meanwhile.
void YieldLate() {
  const Standby::Clock::time_point end = Standby::Clock::now() + 2 * Standby::kLate;
  while (Standby::Clock::now() < end) SpinThread();
}

class Count final : public Standby::Work {
 public:
  void RunOnStandby() override { ++runs; }
  std::atomic<int> runs{0};
};

// Work that ends when the test allows it.
class Held final : public Standby::Work {
 public:
  void RunOnStandby() override {
    while (!may_end) YieldThread();
    ended = true;
  }
  std::atomic<bool> may_end{false};
  std::atomic<bool> ended{false};
};

// A worker that is on standby again and again.
class Worker {
 public:
  explicit Worker(Standby* standby)
      : thread_([this, standby] {
          while (!stops_) {
            if (standby->Enter()) standby->Serve();
            YieldThread();
          }
        }) {}
  ~Worker() {
    stops_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

void OfferUntilAccepted(Standby* standby, Standby::Work* work) {
  while (!standby->Offer(work)) YieldThread();
}

TEST(StandbyTest, WithoutAWorkerNothingCanBeOffered) {
  Standby standby(YieldAtOnce);
  Count work;
  EXPECT_FALSE(standby.waiting());
  EXPECT_FALSE(standby.Offer(&work));
}

TEST(StandbyTest, AWorkerLeavesIfNothingIsOffered) {
  Standby standby(YieldAtOnce);
  ASSERT_TRUE(standby.Enter());
  standby.Serve();
  EXPECT_FALSE(standby.waiting());
}

TEST(StandbyTest, AWorkerLeavesAfterAWhileAlthoughWorkFollowsWork) {
  Standby standby(YieldAtOnce);
  Count work;
  std::atomic<bool> left{false};
  std::thread offers([&] {
    while (!left) standby.Offer(&work);
  });
  ASSERT_TRUE(standby.Enter());
  standby.Serve();
  left = true;
  offers.join();
}

TEST(StandbyTest, OnlyOneWorkerIsOnStandby) {
  Standby standby(YieldAtOnce);
  ASSERT_TRUE(standby.Enter());
  std::thread([&standby] { EXPECT_FALSE(standby.Enter()); }).join();
  standby.Serve();
}

TEST(StandbyTest, PausesIfAnotherThreadNeedsTheProcessor) {
  const Standby::Clock::time_point begin = Standby::Clock::now();
  Standby standby(YieldLate);
  ASSERT_TRUE(standby.Enter());
  standby.Serve();
  if (!standby.Enter()) return;
  EXPECT_GE(Standby::Clock::now(), begin + Standby::kPause);
  standby.Serve();
}

TEST(StandbyTest, CloseWaitsForTheWorkThatWasAccepted) {
  Standby standby(YieldAtOnce);
  const Worker worker(&standby);
  Held work;
  OfferUntilAccepted(&standby, &work);
  std::thread closer([&] {
    standby.Close();
    EXPECT_TRUE(work.ended);
  });
  work.may_end = true;
  closer.join();
  EXPECT_FALSE(standby.Enter());
}

// Whichever worker leaves meanwhile.
TEST(StandbyTest, AcceptedWorkRunsOnce) {
  Standby standby(YieldAtOnce);
  std::vector<std::unique_ptr<Count>> accepted;
  {
    const Worker first(&standby);
    const Worker second(&standby);
    const Worker third(&standby);
    for (int i = 0; i < 100; ++i) {
      accepted.push_back(std::make_unique<Count>());
      OfferUntilAccepted(&standby, accepted.back().get());
    }
  }
  for (const std::unique_ptr<Count>& work : accepted) EXPECT_EQ(work->runs, 1);
}

}  // namespace
}  // namespace durlog
