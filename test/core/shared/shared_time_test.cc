// The times of the records that several members append to one segment.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "observed_file_system.h"
#include "retention/segment_survey.h"
#include "shared_test_folder.h"

namespace durlog {
namespace {

constexpr uint64_t kFiftyDaysMs = uint64_t{50} * 24 * 60 * 60 * 1000;
constexpr uint64_t kHourMs = 60 * 60 * 1000;

class SharedTimeTest : public SharedTestFolder {
 protected:
  SharedTimeTest() : files_([](const ObservedCall&) { return Status::Ok(); }) {}

  std::unique_ptr<SharedLog> OpenByClock() {
    Result<std::unique_ptr<SharedLog>> log = SharedLog::Open(files_, PathOf("log"), Small());
    EXPECT_TRUE(log.ok()) << log.status().message();
    (*log)->Attach(&inline_, &listener_);
    return std::move(*log);
  }
  // A turn of the event loop reads the clock again.
  void Append(SharedLog& log) {
    log.Pump();
    Write(log, "record");
  }
  std::vector<uint64_t> Times() {
    std::vector<uint64_t> times;
    for (const ReadRecord& record : ReadAllRecords(PathOf("log"), 0)) {
      times.push_back(record.time_ms);
    }
    return times;
  }

  ObservedFileSystem files_;
};

TEST_F(SharedTimeTest, ARecordFiftyDaysAfterTheSegmentsBaseTimeBeginsANewSegment) {
  std::unique_ptr<SharedLog> log = OpenByClock();
  Append(*log);
  files_.clock_ahead_ms = kFiftyDaysMs;
  const uint64_t begin_ms = files_.NowMs();
  Append(*log);
  Append(*log);
  EXPECT_EQ(listener_.rotated.size(), 1u);
  const std::vector<uint64_t> times = Times();
  ASSERT_EQ(times.size(), 3u);
  EXPECT_LT(times[0], begin_ms - kHourMs);
  EXPECT_GE(times[1], begin_ms);
  EXPECT_LT(times[2], begin_ms + kHourMs);
}

TEST_F(SharedTimeTest, TheAgeOfASegmentIsThatOfItsYoungestRecordWhichNeedNotBeTheLast) {
  std::unique_ptr<SharedLog> log = OpenByClock();
  const uint64_t now_ms = files_.NowMs();
  for (const uint64_t hours : {uint64_t{3}, uint64_t{1}, uint64_t{2}}) {
    ASSERT_TRUE(log->AppendSync(AsBytes("record"), Level::kSync, now_ms + hours * kHourMs).ok());
  }
  const std::unique_ptr<Directory> folder = OpenFolder();
  SegmentSurvey survey(*folder);
  EXPECT_FALSE(survey.IsOlder(0, std::nullopt, now_ms + 3 * kHourMs));
  EXPECT_TRUE(survey.IsOlder(0, std::nullopt, now_ms + 3 * kHourMs + 1));
}

TEST_F(SharedTimeTest, ASegmentThatStaysEmptyForFiftyDaysIsLeft) {
  std::unique_ptr<SharedLog> log = OpenByClock();
  files_.clock_ahead_ms = kFiftyDaysMs;
  const uint64_t begin_ms = files_.NowMs();
  Append(*log);
  const std::vector<uint64_t> times = Times();
  ASSERT_EQ(times.size(), 1u);
  EXPECT_GE(times[0], begin_ms);
  Leave(std::move(log));
  ExpectClean();
}

TEST_F(SharedTimeTest, TimesDoNotFallInASegmentIfTheClockOfAnyMemberIsSetBack) {
  files_.clock_ahead_ms = 2 * kHourMs;
  std::unique_ptr<SharedLog> first = OpenByClock();
  std::unique_ptr<SharedLog> second = OpenByClock();
  Append(*first);
  files_.clock_ahead_ms = 3 * kHourMs;
  Append(*first);
  files_.clock_ahead_ms = kHourMs;
  Append(*second);
  Append(*first);
  files_.clock_ahead_ms = 4 * kHourMs;
  Append(*second);
  const std::vector<uint64_t> times = Times();
  ASSERT_EQ(times.size(), 5u);
  for (size_t i = 1; i < times.size(); ++i) EXPECT_GE(times[i], times[i - 1]) << i;
  EXPECT_EQ(times[2], times[1]);
  EXPECT_GT(times[4], times[3]);
}

TEST_F(SharedTimeTest, TimesDoNotFallInASegmentThatIsOpenedAgain) {
  files_.clock_ahead_ms = 2 * kHourMs;
  std::unique_ptr<SharedLog> log = OpenByClock();
  Append(*log);
  files_.clock_ahead_ms = 3 * kHourMs;
  Append(*log);
  Leave(std::move(log));
  files_.clock_ahead_ms = 2 * kHourMs;
  log = OpenByClock();
  Append(*log);
  const std::vector<uint64_t> times = Times();
  ASSERT_EQ(times.size(), 3u);
  EXPECT_GE(times[2], times[1]);
}

TEST_F(SharedTimeTest, ASpareFromBeforeTheClockWasSetIsMadeAgain) {
  std::unique_ptr<SharedLog> log = OpenByClock();
  // Appends until the next segment's file is prepared.
  while (log->next_seq() < 500) Append(*log);
  ASSERT_TRUE(listener_.rotated.empty());
  files_.clock_ahead_ms = kFiftyDaysMs;
  const uint64_t begin_ms = files_.NowMs();
  Append(*log);
  EXPECT_GE(Times().back(), begin_ms);
  EXPECT_EQ(listener_.rotated.size(), 1u);
}

}  // namespace
}  // namespace durlog
