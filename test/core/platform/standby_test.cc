#include "platform/standby.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace durlog {
namespace {

using std::chrono::nanoseconds;

Standby::Delay NoDelay() { return nanoseconds(0); }

// A thread that is delayed for a second between two calls.
Standby::Delay GrowingDelay() {
  static std::atomic<int64_t> seconds{0};
  return nanoseconds(std::chrono::seconds(seconds++));
}

Standby::Delay UnknownDelay() { return std::nullopt; }

class Count final : public Standby::Work {
 public:
  void RunOnStandby() override { ++runs; }
  std::atomic<int> runs{0};
};

TEST(StandbyTest, WithoutAWorkerNothingCanBeOffered) {
  Standby standby(NoDelay);
  Count work;
  EXPECT_FALSE(standby.waiting());
  EXPECT_FALSE(standby.Offer(&work));
}

TEST(StandbyTest, AWorkerRunsWhatIsOfferedAfterItHasEntered) {
  Standby standby(NoDelay);
  Count work;
  ASSERT_TRUE(standby.Enter());
  EXPECT_TRUE(standby.waiting());
  ASSERT_TRUE(standby.Offer(&work));
  EXPECT_FALSE(standby.Offer(&work));
  standby.Serve();
  EXPECT_EQ(work.runs, 1);
  EXPECT_FALSE(standby.Offer(&work));
}

TEST(StandbyTest, AWorkerLeavesIfNothingIsOffered) {
  Standby standby(NoDelay);
  ASSERT_TRUE(standby.Enter());
  standby.Serve();
  EXPECT_FALSE(standby.waiting());
  EXPECT_TRUE(standby.Enter());
  standby.Serve();
}

TEST(StandbyTest, AWorkerLeavesAfterAWhileAlthoughWorkFollowsWork) {
  Standby standby(NoDelay);
  Count work;
  std::atomic<bool> left{false};
  std::thread offers([&] {
    while (!left) standby.Offer(&work);
  });
  while (!standby.Enter()) std::this_thread::yield();
  standby.Serve();
  left = true;
  offers.join();
}

TEST(StandbyTest, OnlyOneWorkerIsOnStandby) {
  Standby standby(NoDelay);
  ASSERT_TRUE(standby.Enter());
  std::thread([&standby] { EXPECT_FALSE(standby.Enter()); }).join();
  standby.Serve();
}

// The end of the pause, if a worker with this delay has been on standby.
Standby::Clock::time_point PauseAfter(Standby::Delay (*delay)()) {
  Standby standby(delay);
  EXPECT_TRUE(standby.Enter());
  standby.Serve();
  return standby.paused_until();
}

TEST(StandbyTest, PausesAfterAStayInWhichTheWorkerWasDelayed) {
  const Standby::Clock::time_point begin = Standby::Clock::now();
  EXPECT_LT(PauseAfter(NoDelay), begin);
  EXPECT_GE(PauseAfter(GrowingDelay), begin + Standby::kPause);
}

TEST(StandbyTest, PausesIfTheDelayIsUnknown) {
  const Standby::Clock::time_point begin = Standby::Clock::now();
  EXPECT_GE(PauseAfter(UnknownDelay), begin + Standby::kPause);
}

TEST(StandbyTest, CloseWaitsForTheWorkerAndItsWork) {
  Standby standby(NoDelay);
  Count work;
  ASSERT_TRUE(standby.Enter());
  ASSERT_TRUE(standby.Offer(&work));
  std::thread closer([&standby] { standby.Close(); });
  standby.Serve();
  closer.join();
  EXPECT_EQ(work.runs, 1);
  EXPECT_FALSE(standby.Enter());
}

// Every piece of work that is accepted runs exactly once, whichever worker leaves meanwhile.
TEST(StandbyTest, AcceptedWorkRunsOnce) {
  Standby standby(NoDelay);
  std::atomic<bool> ended{false};
  std::vector<std::thread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([&] {
      while (!ended) {
        if (standby.Enter()) standby.Serve();
        std::this_thread::yield();
      }
    });
  }
  std::vector<std::unique_ptr<Count>> accepted;
  while (accepted.size() < 500) {
    auto work = std::make_unique<Count>();
    if (standby.Offer(work.get())) accepted.push_back(std::move(work));
  }
  ended = true;
  for (std::thread& worker : workers) worker.join();
  for (const std::unique_ptr<Count>& work : accepted) EXPECT_EQ(work->runs, 1);
}

TEST(StandbyTest, TheDelayOfAThreadNeverFalls) {
  const Standby::Delay before = ThreadDelay();
  const Standby::Delay after = ThreadDelay();
#ifdef __linux__
  ASSERT_TRUE(before.has_value());
#endif
  EXPECT_LE(before.value_or(nanoseconds(0)), after.value_or(nanoseconds(0)));
}

}  // namespace
}  // namespace durlog
