// Zeros that a worker writes to the next segment before it gets its name.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "log_test_folder.h"
#include "observed_file_system.h"
#include "record/segment_name.h"
#include "segment/zeros.h"

namespace durlog {
namespace {

// Runs each job in the call that hands it over, except those that write zeros.
class ZerosHeld final : public Executor {
 public:
  void Execute(std::shared_ptr<Job> job) override {
    const bool writes_zeros = dynamic_cast<ZerosJob*>(job.get()) != nullptr;
    if (writes_zeros && holds) {
      held.push_back(std::move(job));
    } else {
      job->RunOnce();
    }
  }
  bool holds = false;
  std::vector<std::shared_ptr<Job>> held;
};

class SpareZerosTest : public LogTestFolder {
 protected:
  std::unique_ptr<Log> OpenObserved() {
    std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kDirect), file_system_);
    log->Attach(&zeros_held_, &listener_);
    return log;
  }
  // Returns the most bytes that one append has written to a segment, including the append that
  // rotated.
  uint64_t AppendUntilRotated(Log& log) {
    uint64_t most = 0;
    for (const size_t rotated = listener_.rotated.size(); listener_.rotated.size() == rotated;) {
      segment_bytes_ = 0;
      AppendMany(log, 1, Level::kSync);
      Settle(log);
      most = std::max(most, segment_bytes_);
    }
    return most;
  }
  void ExpectWhole(std::unique_ptr<Log> log) {
    const uint64_t end = log->next_seq();
    Close(std::move(log));
    EXPECT_TRUE(listener_.failures.empty());
    ExpectRecords(0, end);
  }

  // A record takes two blocks at most.
  static constexpr uint64_t kMostBytesOfARecord = 2 * 4096;
  ZerosHeld zeros_held_;
  uint64_t segment_bytes_ = 0;
  uint64_t spare_bytes_ = 0;
  bool spares_fail_ = false;
  ObservedFileSystem file_system_{
      [this](const ObservedCall& call) {
        if (call.call != "write-direct") return Status::Ok();
        if (ParseSegmentName(call.name)) {
          segment_bytes_ += call.length;
          return Status::Ok();
        }
        spare_bytes_ += call.length;
        return spares_fail_ ? Status::Error(Code::kIo, "the device is gone") : Status::Ok();
      },
      "ext4"};
};

TEST_F(SpareZerosTest, CommitsFindTheSegmentWritten) {
  std::unique_ptr<Log> log = OpenObserved();
  EXPECT_GT(AppendUntilRotated(*log), kMostBytesOfARecord) << "the first segment was no spare";
  EXPECT_GT(spare_bytes_, 0u);
  for (int segment = 0; segment < 3; ++segment) {
    EXPECT_LE(AppendUntilRotated(*log), kMostBytesOfARecord);
  }
  ExpectWhole(std::move(log));
}

TEST_F(SpareZerosTest, ARotationGivesUpZerosThatAreNotBegun) {
  std::unique_ptr<Log> log = OpenObserved();
  zeros_held_.holds = true;
  AppendUntilRotated(*log);
  EXPECT_GT(AppendUntilRotated(*log), kMostBytesOfARecord);
  ASSERT_EQ(zeros_held_.held.size(), 2u) << "one for each spare";
  for (const std::shared_ptr<Job>& job : zeros_held_.held) job->RunOnce();
  EXPECT_EQ(spare_bytes_, 0u);
  ExpectWhole(std::move(log));
}

TEST_F(SpareZerosTest, AFailureIsLeftToTheCommits) {
  std::unique_ptr<Log> log = OpenObserved();
  spares_fail_ = true;
  AppendUntilRotated(*log);
  EXPECT_GT(spare_bytes_, 0u);
  EXPECT_GT(AppendUntilRotated(*log), kMostBytesOfARecord);
  ExpectWhole(std::move(log));
}

TEST_F(SpareZerosTest, ASpareIsRemovedAtClose) {
  std::unique_ptr<Log> log = OpenObserved();
  zeros_held_.holds = true;
  while (zeros_held_.held.empty()) {
    AppendMany(*log, 1, Level::kSync);
    Settle(*log);
  }
  ExpectWhole(std::move(log));
  for (const auto& entry : std::filesystem::directory_iterator(PathOf("log"))) {
    EXPECT_FALSE(IsSpareName(entry.path().filename().string())) << entry.path();
  }
}

}  // namespace
}  // namespace durlog
