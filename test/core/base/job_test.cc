#include "base/job.h"

#include <gtest/gtest.h>

#include <thread>

namespace durlog {
namespace {

// Waits for another process in each run that may.
class PatientJob final : public Job {
 public:
  int runs = 0;
  bool finished = false;

 protected:
  void Run() override {
    ++runs;
    if (MustLeaveThread()) return;
    finished = true;
  }
};

TEST(JobTest, AJobThatMustWaitLeavesAThreadThatOthersNeed) {
  PatientJob job;
  EXPECT_FALSE(job.RunBriefly());
  EXPECT_FALSE(job.done());
  job.RunOnce();
  EXPECT_TRUE(job.done());
  EXPECT_TRUE(job.finished);
  EXPECT_EQ(job.runs, 2);
  EXPECT_TRUE(job.RunBriefly()) << "it has ended";
  EXPECT_EQ(job.runs, 2);
}

TEST(JobTest, AJobThatLeftItsThreadIsRunByTheOneThatAwaitsIt) {
  PatientJob job;
  std::thread worker([&job] { EXPECT_FALSE(job.RunBriefly()); });
  worker.join();
  job.Await();
  EXPECT_TRUE(job.finished);
}

}  // namespace
}  // namespace durlog
