// The change from one segment to the next: what must be over before it, and what holds after it.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "held_executor.h"
#include "live/live_page_layout.h"
#include "log_test_folder.h"
#include "observed_file_system.h"
#include "read/position_index.h"
#include "record/record_format.h"
#include "record/segment_name.h"
#include "segment/open_segment.h"
#include "segment/synced_slot.h"

namespace durlog {
namespace {

constexpr uint64_t kFiftyDaysMs = 50ull * 24 * 3600 * 1000;

class RotationTest : public LogTestFolder {
 protected:
  RotationTest() : file_system_([this](const ObservedCall& call) { return Observe(call); }) {}

  std::unique_ptr<Log> OpenObserved(const LogOptions& options) {
    return Open(options, file_system_);
  }
  Result<uint64_t> WriteNext(Log& log) { return log.Write(AsBytes(PayloadOf(log.next_seq()))); }

  std::function<Status(const ObservedCall&)> observer_;
  ObservedFileSystem file_system_;

 private:
  Status Observe(const ObservedCall& call) { return observer_ ? observer_(call) : Status::Ok(); }
};

class RotationStrategyTest : public RotationTest, public testing::WithParamInterface<Strategy> {};

INSTANTIATE_TEST_SUITE_P(Strategies, RotationStrategyTest,
                         testing::Values(Strategy::kAuto, Strategy::kMmap, Strategy::kPwrite,
                                         Strategy::kDirect),
                         NameOfStrategy);

size_t TimesOpen(const std::string& path) {
  size_t times = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    if (std::filesystem::read_symlink(entry.path(), ignored) == path) ++times;
  }
  return times;
}

TEST_P(RotationStrategyTest, AReplacedSegmentIsClosedFirst) {
  if (!std::filesystem::exists("/proc/self/fd")) GTEST_SKIP() << "the system has no /proc/self/fd";
  LogOptions options = SmallOptions(GetParam());
  options.expected_level = Level::kMemory;
  Close(OpenObserved(options));
  options.segment_bytes = 1 << 20;
  options.max_record_bytes = 200 << 10;
  const std::string name = SegmentName(0);
  int renamed = 0;
  observer_ = [&](const ObservedCall& call) {
    if (call.call == "rename" && call.name == name) {
      ++renamed;
      EXPECT_EQ(TimesOpen(PathOf("log") + "/" + name), 0u);
    }
    return Status::Ok();
  };
  std::unique_ptr<Log> log = OpenObserved(options);
  const std::string longer_than_a_segment(100 << 10, 'x');
  const Result<uint64_t> seq = log->AppendSync(AsBytes(longer_than_a_segment), Level::kSync);
  ASSERT_TRUE(seq.ok()) << seq.status().message();
  EXPECT_EQ(renamed, 1);
  Close(std::move(log));
  std::vector<uint8_t> buffer(256 << 10);
  ReadEntry entry;
  const Result<std::unique_ptr<LogReader>> reader =
      LogReader::Open(DefaultFileSystem(), PathOf("log"), 0);
  ASSERT_TRUE(reader.ok());
  const Result<ReadBatch> batch =
      (*reader)->Next(buffer.data(), buffer.size(), &entry, 1, LogReader::kNoLimit);
  ASSERT_TRUE(batch.ok() && batch->count == 1);
  EXPECT_EQ(entry.length, longer_than_a_segment.size());
}

TEST_P(RotationStrategyTest, AnOldSpareGivesNoWrongTime) {
  LogOptions options = SmallOptions(GetParam());
  std::unique_ptr<Log> log = OpenObserved(options);
  // Up to where the next segment is prepared, and no further.
  while (log->next_seq() < 100) AppendMany(*log, 1, Level::kSync);
  Settle(*log);
  ASSERT_TRUE(listener_.rotated.empty());
  file_system_.clock_ahead_ms = kFiftyDaysMs;
  const uint64_t now_ms = file_system_.NowMs();
  AppendMany(*log, 1, Level::kSync);
  Close(std::move(log));
  ASSERT_EQ(listener_.rotated, std::vector<uint64_t>{100});
  std::vector<uint8_t> buffer(64 << 10);
  ReadEntry entry;
  const Result<std::unique_ptr<LogReader>> reader =
      LogReader::Open(DefaultFileSystem(), PathOf("log"), 100);
  ASSERT_TRUE(reader.ok());
  const Result<ReadBatch> batch =
      (*reader)->Next(buffer.data(), buffer.size(), &entry, 1, LogReader::kNoLimit);
  ASSERT_TRUE(batch.ok() && batch->count == 1);
  EXPECT_GE(batch->base_time_ms + entry.time_ms, now_ms);
}

TEST_F(RotationTest, ASpareThatFailedLongAgoRejectsNoAppendForWhichThereIsRoom) {
  bool disk_is_full = false;
  int failures = 0;
  observer_ = [&](const ObservedCall& call) {
    const bool fails = disk_is_full && call.call == "allocate" && call.name.rfind("spare-", 0) == 0;
    if (fails) ++failures;
    return fails ? Status::System("fallocate", ENOSPC, call.name) : Status::Ok();
  };
  std::unique_ptr<Log> log = OpenObserved(SmallOptions(Strategy::kMmap));
  HeldExecutor workers;
  log->Attach(&workers, &listener_);
  disk_is_full = true;
  while (failures == 0) {
    ASSERT_TRUE(log->Append(AsBytes(PayloadOf(900)), Level::kMemory).ok());
    workers.RunAll();
  }
  ASSERT_TRUE(listener_.rotated.empty());
  disk_is_full = false;
  while (listener_.rotated.empty()) {
    const Result<uint64_t> seq = log->Write(AsBytes(PayloadOf(900)));
    ASSERT_TRUE(seq.ok()) << seq.status().message();
  }
}

TEST_P(RotationStrategyTest, TimesThatGoBackOpenFewFiles) {
  std::unique_ptr<Log> log = OpenObserved(SmallOptions(GetParam()));
  HeldExecutor workers;
  log->Attach(&workers, &listener_);
  const uint64_t now_ms = file_system_.NowMs();
  Result<uint64_t> seq = uint64_t{0};
  for (uint64_t i = 0; seq.ok() && i < 1000; ++i) {
    seq = log->Append(AsBytes("record"), Level::kSync, now_ms - i * 1000);
  }
  ASSERT_FALSE(seq.ok());
  EXPECT_EQ(seq.status().code(), Code::kBackpressure) << seq.status().message();
  EXPECT_LE(log->next_seq(), 130u);
  while (!log->idle()) {
    workers.RunAll();
    log->Harvest();
    log->Pump();
  }
  EXPECT_TRUE(listener_.failures.empty());
  EXPECT_EQ(log->ReachedEnd(Level::kSync), log->next_seq());
}

TEST_P(RotationStrategyTest, ByHandSealsASegmentThatMayThenBeTrimmed) {
  std::unique_ptr<Log> log = OpenObserved(SmallOptions(GetParam()));
  AppendMany(*log, 10, Level::kMemory);
  Settle(*log);
  const Result<std::shared_ptr<RotateJob>> rotation = log->BeginRotate();
  ASSERT_TRUE(rotation.ok()) << rotation.status().message();
  ASSERT_NE(*rotation, nullptr);
  EXPECT_EQ(WriteNext(*log).status().code(), Code::kBackpressure);
  (*rotation)->RunOnce();
  ASSERT_TRUE(log->FinishRotate(**rotation).ok());
  EXPECT_EQ(listener_.rotated, std::vector<uint64_t>{10});
  const std::shared_ptr<TrimJob> trim = log->BeginTrim(10);
  ASSERT_NE(trim, nullptr);
  trim->RunOnce();
  log->FinishTrim(*trim);
  EXPECT_EQ(log->first_seq(), 10u);
  log.reset();
  log = OpenObserved(SmallOptions(GetParam()));
  EXPECT_EQ(log->recovery().state, RecoveryState::kClean);
  EXPECT_EQ(log->next_seq(), 10u);
  AppendMany(*log, 10, Level::kMemory);
  AppendMany(*log, 10, Level::kSync);
  Close(std::move(log));
  ExpectRecords(10, 30);
}

// The failure may concern the name of the next segment, for which a commit then syncs the folder.
TEST_P(RotationStrategyTest, AFailedSyncOfTheFolderInATrimLatchesTheLog) {
  std::unique_ptr<Log> log = OpenObserved(SmallOptions(GetParam()));
  while (listener_.rotated.empty()) {
    AppendMany(*log, 10, Level::kSync);
    Settle(*log);
  }
  const std::shared_ptr<TrimJob> trim = log->BeginTrim(listener_.rotated.front());
  ASSERT_NE(trim, nullptr);
  observer_ = [](const ObservedCall& call) {
    return call.call == "sync-directory" ? Status::System("fsync", EIO, "folder") : Status::Ok();
  };
  trim->RunOnce();
  log->FinishTrim(*trim);
  observer_ = nullptr;
  EXPECT_EQ(trim->status().code(), Code::kSyncFailed);
  EXPECT_EQ(WriteNext(*log).status().code(), Code::kLatched);
  ASSERT_EQ(listener_.failures.size(), 1u);
  EXPECT_TRUE(listener_.failures[0].latched);
}

TEST_P(RotationStrategyTest, ByHandLeavesASegmentWithoutRecords) {
  std::unique_ptr<Log> log = OpenObserved(SmallOptions(GetParam()));
  for (int i = 0; i < 2; ++i) {
    const Result<std::shared_ptr<RotateJob>> rotation = log->BeginRotate();
    ASSERT_TRUE(rotation.ok()) << rotation.status().message();
    EXPECT_EQ(*rotation, nullptr);
  }
  AppendMany(*log, 1, Level::kSync);
  Close(std::move(log));
  EXPECT_TRUE(listener_.rotated.empty());
}

TEST_P(RotationStrategyTest, ByHandThatFindsNoRoomChangesNothing) {
  std::unique_ptr<Log> log = OpenObserved(SmallOptions(GetParam()));
  AppendMany(*log, 10, Level::kSync);
  Settle(*log);
  observer_ = [](const ObservedCall& call) {
    return call.call == "rename" ? Status::System("renameat", ENOSPC, call.name) : Status::Ok();
  };
  const Result<std::shared_ptr<RotateJob>> rotation = log->BeginRotate();
  ASSERT_TRUE(rotation.ok()) << rotation.status().message();
  (*rotation)->RunOnce();
  EXPECT_EQ(log->FinishRotate(**rotation).code(), Code::kNoSpace);
  EXPECT_FALSE(log->latched());
  observer_ = nullptr;
  AppendMany(*log, 10, Level::kSync);
  Close(std::move(log));
  EXPECT_TRUE(listener_.rotated.empty());
  ExpectRecords(0, 20);
}

TEST_P(RotationStrategyTest, ByHandAndACloseNeedNoRoomForTheirStatement) {
  for (const int lack : {ENOSPC, EDQUOT, ENOMEM}) {
    std::filesystem::remove_all(PathOf("log"));
    std::unique_ptr<Log> log = OpenObserved(SmallOptions(GetParam()));
    AppendMany(*log, 10, Level::kSync);
    Settle(*log);
    int refused = 0;
    observer_ = [&](const ObservedCall& call) {
      const bool states = call.call == "write" && call.offset == kSyncedSlotOffset;
      if (!states) return Status::Ok();
      ++refused;
      return Status::System("pwrite", lack, call.name);
    };
    const Result<std::shared_ptr<RotateJob>> rotation = log->BeginRotate();
    ASSERT_TRUE(rotation.ok()) << rotation.status().message();
    (*rotation)->RunOnce();
    EXPECT_TRUE(log->FinishRotate(**rotation).ok()) << lack;
    AppendMany(*log, 10, Level::kSync);
    Close(std::move(log));
    observer_ = nullptr;
    EXPECT_EQ(refused, 2);
    EXPECT_TRUE(listener_.failures.empty()) << lack;
    ExpectRecords(0, 20);
    log = OpenObserved(SmallOptions(GetParam()));
    EXPECT_EQ(log->recovery().state, RecoveryState::kClean);
    Close(std::move(log));
  }
}

TEST_F(RotationTest, ByHandSucceedsEvenIfTheNextSegmentCannotBeMappedYet) {
  LogOptions options = SmallOptions(Strategy::kMmap);
  options.preallocation_auto = false;
  options.preallocation = Preallocation::kNone;
  std::unique_ptr<Log> log = OpenObserved(options);
  AppendMany(*log, 10, Level::kSync);
  Settle(*log);
  observer_ = [](const ObservedCall& call) {
    return call.call == "allocate" ? Status::System("fallocate", ENOSPC, call.name) : Status::Ok();
  };
  const Result<std::shared_ptr<RotateJob>> rotation = log->BeginRotate();
  ASSERT_TRUE(rotation.ok()) << rotation.status().message();
  (*rotation)->RunOnce();
  Status finished = log->FinishRotate(**rotation);
  EXPECT_TRUE(finished.ok()) << finished.message();
  EXPECT_EQ(listener_.rotated.size(), 1u);
  EXPECT_EQ(WriteNext(*log).status().code(), Code::kNoSpace);
  observer_ = nullptr;
  AppendMany(*log, 10, Level::kSync);
  Close(std::move(log));
  ExpectRecords(0, 20);
}

TEST_P(RotationStrategyTest, ByHandThatCannotSyncTheSegmentLatches) {
  std::unique_ptr<Log> log = OpenObserved(SmallOptions(GetParam()));
  Close(std::move(log));
  log = OpenObserved(SmallOptions(GetParam()));
  AppendMany(*log, 10, Level::kSync);
  Settle(*log);
  observer_ = [](const ObservedCall& call) {
    const bool sealing = call.call == "sync-full" && call.name == SegmentName(0);
    return sealing ? Status::System("fsync", EIO, call.name) : Status::Ok();
  };
  const Result<std::shared_ptr<RotateJob>> rotation = log->BeginRotate();
  ASSERT_TRUE(rotation.ok()) << rotation.status().message();
  (*rotation)->RunOnce();
  EXPECT_EQ(log->FinishRotate(**rotation).code(), Code::kSyncFailed);
  EXPECT_TRUE(log->latched());
  EXPECT_EQ(log->BeginRotate().status().code(), Code::kLatched);
  observer_ = nullptr;
}

TEST_F(RotationTest, EachMappedSegmentHasItsPositionsNoted) {
  LogOptions options = SmallOptions(Strategy::kMmap);
  options.segment_bytes = 256 << 10;
  std::unique_ptr<Log> log = OpenObserved(options);
  AppendMany(*log, 2500, Level::kMemory);
  Close(std::move(log));
  ASSERT_GE(listener_.rotated.size(), 3u);
  const Result<std::unique_ptr<Directory>> directory =
      DefaultFileSystem().OpenDirectory(PathOf("log"), false);
  ASSERT_TRUE(directory.ok());
  for (size_t i = 0; i + 1 < listener_.rotated.size(); ++i) {
    const Result<OpenedSegment> segment =
        OpenSegment(**directory, listener_.rotated[i], OpenMode::kRead);
    ASSERT_TRUE(segment.ok());
    const auto found =
        PositionIndex::Shared().Find(segment->header.salt, listener_.rotated[i + 1] - 1);
    ASSERT_TRUE(found.has_value()) << i;
    EXPECT_GT(found->offset + 2 * PositionIndex::kSpacingBytes, options.segment_bytes) << i;
  }
}

TEST_F(RotationTest, AWaitingAppendReportsALatch) {
  bool sync_fails = false;
  std::unique_ptr<Log> log = OpenObserved(SmallOptions(Strategy::kPwrite));
  HeldExecutor workers;
  log->Attach(&workers, &listener_);
  observer_ = [&](const ObservedCall& call) {
    if (!sync_fails || call.call != "sync-data") return Status::Ok();
    return Status::System("fdatasync", EIO, call.name);
  };
  Result<uint64_t> written = WriteNext(*log);
  while (written.ok()) written = WriteNext(*log);
  ASSERT_EQ(written.status().code(), Code::kBackpressure) << written.status().message();
  EXPECT_NE(written.status().message().find("segments wait for the device"), std::string::npos)
      << written.status().message();
  const uint64_t end = log->next_seq();
  sync_fails = true;
  workers.RunAll();
  EXPECT_EQ(WriteNext(*log).status().code(), Code::kLatched);
  EXPECT_EQ(log->next_seq(), end);
  ASSERT_EQ(listener_.failures.size(), 1u);
  EXPECT_TRUE(listener_.failures[0].latched);
}

// With retention that is late, the append after a rotation waits until old segments are removed. A
// spare that was made before would be one segment more than the limit allows.
TEST_F(RotationTest, AnAppendThatBeginsASegmentMakesNoSpare) {
  for (const Strategy strategy : {Strategy::kMmap, Strategy::kPwrite, Strategy::kDirect}) {
    LogOptions options = SmallOptions(strategy);
    // More than the part of a segment from which the next one is prepared.
    const std::string half(options.max_record_bytes, 'h');
    std::unique_ptr<Log> log = Open(options);
    const auto spares = [&] {
      size_t count = 0;
      for (const auto& entry : std::filesystem::directory_iterator(PathOf("log"))) {
        count += entry.path().filename().string().rfind("spare-", 0) == 0;
      }
      return count;
    };
    for (size_t rotations = 1; rotations <= 3; ++rotations) {
      while (listener_.rotated.size() < rotations) {
        ASSERT_TRUE(Append(*log, half, Level::kSync).ok());
        Settle(*log);
      }
      EXPECT_EQ(spares(), 0u) << static_cast<int>(strategy) << ", rotation " << rotations;
    }
    listener_.rotated.clear();
    log.reset();
    std::filesystem::remove_all(PathOf("log"));
  }
}

// A spare for a segment that replaces an empty one states how far the log was synced. After a cut,
// the records below that end are others.
TEST_F(RotationTest, NoSegmentStatesASyncThatACutHasUndone) {
  LogOptions options = SmallOptions(Strategy::kMmap);
  options.segment_bytes = 256 << 10;
  options.first_segment_bytes = 64 << 10;
  options.max_record_bytes = 200 << 10;
  std::unique_ptr<Log> log = OpenObserved(options);
  HeldExecutor workers;
  log->Attach(&workers, &listener_);
  const auto append = [&](size_t bytes) {
    return log->Append(AsBytes(std::string(bytes, 'x')), Level::kMemory);
  };
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(append(100).ok());
  const auto rotation = log->BeginRotate();
  ASSERT_TRUE(rotation.ok());
  (*rotation)->RunOnce();
  ASSERT_TRUE(log->FinishRotate(**rotation).ok());
  ASSERT_EQ(append(150 << 10).status().code(), Code::kBackpressure);
  workers.RunAll();
  const auto cut = log->BeginTruncate(2);
  ASSERT_TRUE(cut.ok());
  (*cut)->RunOnce();
  ASSERT_TRUE(log->FinishTruncate(**cut).ok());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(append(100).ok());
  Result<uint64_t> appended = append(150 << 10);
  while (appended.status().code() == Code::kBackpressure) {
    workers.RunAll();
    appended = append(150 << 10);
  }
  ASSERT_TRUE(appended.ok()) << appended.status().message();
  ASSERT_EQ(log->ReachedEnd(Level::kSync), 2u);
  const auto directory = DefaultFileSystem().OpenDirectory(PathOf("log"), false);
  Result<OpenedSegment> newest = OpenSegment(**directory, *appended, OpenMode::kRead);
  ASSERT_TRUE(newest.ok()) << newest.status().message();
  EXPECT_LE(*ReadSyncedSlot(*newest->file, newest->header.crc_seed()), 2u);
}

// A check of the files that finds a change may end between two appends of one turn.
TEST_P(RotationStrategyTest, NoAppendThatMeetsALatchSucceeds) {
  file_system_.stopped_at_micros = DefaultFileSystem().MonotonicMicros();
  std::unique_ptr<Log> log = OpenObserved(SmallOptions(GetParam()));
  HeldExecutor workers;
  log->Attach(&workers, &listener_);
  const std::string payload(30000, 'x');
  const auto append = [&] {
    Result<uint64_t> appended = log->Append(AsBytes(payload), Level::kMemory);
    if (appended.status().code() != Code::kBackpressure) return appended;
    workers.RunAll();
    return log->Append(AsBytes(payload), Level::kMemory);
  };
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(append().ok());
  file_system_.micros_ahead += 1'000'000;
  log->CheckFiles();
  std::filesystem::remove(PathOf("log") + "/lock");
  workers.RunAll();
  Result<uint64_t> appended = append();
  while (!log->latched()) appended = append();
  EXPECT_EQ(appended.status().code(), Code::kLatched);
}

TEST_F(RotationTest, HasRoomOnceTheSegmentsAreSyncedThatARefusedAppendWaitsFor) {
  std::unique_ptr<Log> log = OpenObserved(SmallOptions(Strategy::kMmap));
  HeldExecutor workers;
  log->Attach(&workers, &listener_);
  EXPECT_TRUE(log->HasRoom());
  Result<uint64_t> written = WriteNext(*log);
  while (written.ok()) written = WriteNext(*log);
  ASSERT_EQ(written.status().code(), Code::kBackpressure) << written.status().message();
  log->Harvest();
  EXPECT_FALSE(log->HasRoom());
  while (!log->HasRoom()) {
    log->Pump();
    workers.RunAll();
    log->Harvest();
  }
  EXPECT_TRUE(WriteNext(*log).ok());
}

TEST_F(RotationTest, HasRoomForTheNextSegmentOnceItsFileIsMade) {
  std::unique_ptr<Log> log = OpenObserved(SmallOptions(Strategy::kMmap));
  HeldExecutor workers;
  log->Attach(&workers, &listener_);
  const std::string payload(30000, 'x');
  Result<uint64_t> appended = log->Append(AsBytes(payload), Level::kMemory);
  while (appended.ok()) appended = log->Append(AsBytes(payload), Level::kMemory);
  ASSERT_EQ(appended.status().code(), Code::kBackpressure) << appended.status().message();
  EXPECT_FALSE(log->HasRoom());
  workers.RunAll();
  log->Harvest();
  EXPECT_TRUE(log->HasRoom());
  EXPECT_TRUE(log->Append(AsBytes(payload), Level::kMemory).ok());
}

TEST_F(RotationTest, AFailedSyncNamesTheSegmentAndNotTheSpareThatItWas) {
  std::atomic<bool> fails{false};
  observer_ = [&](const ObservedCall& call) {
    const bool failed = fails && call.call == "sync-map";
    return failed ? Status::System("msync", EIO, call.name) : Status::Ok();
  };
  std::unique_ptr<Log> log = OpenObserved(SmallOptions(Strategy::kMmap));
  while (listener_.rotated.empty()) AppendMany(*log, 1, Level::kMemory);
  Settle(*log);
  fails = true;
  const Result<uint64_t> appended = log->AppendSync(AsBytes("x"), Level::kSync);
  EXPECT_EQ(appended.status().code(), Code::kSyncFailed);
  EXPECT_EQ(appended.status().path(), PathOf("log") + "/" + SegmentName(listener_.rotated[0]));
}

// The system reports the failure once for the folder, which the trim and the commit share.
TEST_F(RotationTest, ACommitWhileATrimFailsToSyncTheFolderIsNotAcknowledged) {
  std::atomic<bool> fails{false};
  observer_ = [&](const ObservedCall& call) {
    const bool failed = call.call == "sync-directory" && fails.exchange(false);
    return failed ? Status::System("fsync", EIO, call.name) : Status::Ok();
  };
  std::unique_ptr<Log> log = OpenObserved(SmallOptions(Strategy::kMmap));
  while (listener_.rotated.size() < 2) AppendMany(*log, 1, Level::kMemory);
  Settle(*log);
  const std::shared_ptr<TrimJob> trim = log->BeginTrim(listener_.rotated[0]);
  ASSERT_NE(trim, nullptr);
  HeldExecutor held;
  log->Attach(&held, &listener_);
  while (listener_.rotated.size() < 3) ASSERT_TRUE(WriteNext(*log).ok());
  fails = true;
  trim->RunOnce();
  EXPECT_EQ(trim->status().code(), Code::kSyncFailed);
  // The commit ends before the log looks at the trim.
  EXPECT_EQ(log->AppendSync(AsBytes("x"), Level::kSync).status().code(), Code::kSyncFailed);
  EXPECT_LT(log->ReachedEnd(Level::kSync), log->next_seq());
  log->FinishTrim(*trim);
  EXPECT_TRUE(log->latched());
}

// A full device then refuses a group in the next segment. The records before it are in memory.
TEST_F(RotationTest, ASegmentThatCannotBeMappedTakesNoRecordFromTheOneBefore) {
  std::unique_ptr<Log> log = OpenObserved(SmallOptions(Strategy::kMmap));
  HeldExecutor workers;
  log->Attach(&workers, &listener_);
  ASSERT_TRUE(log->Append(AsBytes(PayloadOf(0)), Level::kSync).ok());
  log->Pump();
  bool is_full = false;
  observer_ = [&](const ObservedCall& call) {
    if (call.call == "allocate") return Status::Error(Code::kUnsupported, "no blocks in advance");
    is_full |= call.call == "rename";
    return is_full && call.call == "write" ? Status::System("pwrite", ENOSPC, call.name)
                                           : Status::Ok();
  };
  uint64_t end = log->next_seq();
  Result<uint64_t> written = WriteNext(*log);
  for (; written.ok(); written = WriteNext(*log)) end = log->next_seq();
  EXPECT_EQ(written.status().code(), Code::kNoSpace);
  EXPECT_EQ(listener_.rotated.size(), 1u);
  EXPECT_EQ(log->Stats().mode, WriteMode::kPwrite);
  EXPECT_EQ(log->next_seq(), end);
  workers.RunAll();
  log->Harvest();
  EXPECT_EQ(log->ReachedEnd(Level::kMemory), end);
  is_full = false;
  log->Attach(&executor_, &listener_);
  AppendMany(*log, 10, Level::kSync);
  Close(std::move(log));
  ExpectRecords(0, end + 10);
}

// The rotation leaves the map, and no append uses the chunk that the spare has mapped.
TEST_F(RotationTest, ATruncationFollowsAnAppendThatFailedAfterItsRotation) {
  LogOptions options = SmallOptions(Strategy::kAuto);
  options.map_after_records = 1;
  int maps = 0;
  int cuts = 0;
  observer_ = [&](const ObservedCall& call) {
    if (call.name == kLiveName) return Status::Ok();
    if (call.call == "map") ++maps;
    if (call.call == "unmap") --maps;
    if (call.call == "truncate") {
      ++cuts;
      EXPECT_EQ(maps, 0) << "a map reaches beyond the end of " << call.name;
    }
    return Status::Ok();
  };
  std::unique_ptr<Log> log = OpenObserved(options);
  HeldExecutor workers;
  log->Attach(&workers, &listener_);
  ASSERT_TRUE(WriteNext(*log).ok());
  if (log->Stats().mode != WriteMode::kMmap) GTEST_SKIP() << log->Stats().reason;
  AlignedBuffer::refusal_for_tests = [](size_t) { return true; };
  Result<uint64_t> written = WriteNext(*log);
  for (; written.ok(); written = WriteNext(*log)) workers.RunAll();
  AlignedBuffer::refusal_for_tests = nullptr;
  EXPECT_EQ(written.status().code(), Code::kOutOfMemory) << written.status().message();
  EXPECT_EQ(log->Stats().mode, WriteMode::kDirect);
  const uint64_t end = log->next_seq();
  EXPECT_EQ(listener_.rotated, std::vector<uint64_t>{end});
  Result<std::shared_ptr<TruncateJob>> job = log->BeginTruncate(end);
  ASSERT_TRUE(job.ok()) << job.status().message();
  (*job)->RunOnce();
  ASSERT_TRUE(log->FinishTruncate(**job).ok());
  EXPECT_GT(cuts, 0);
  log->Attach(&executor_, &listener_);
  AppendMany(*log, 10, Level::kSync);
  Close(std::move(log));
  observer_ = nullptr;
  ExpectRecords(0, end + 10);
}

TEST_F(RotationTest, ARefusedCallMapsAndSyncsNothingBesideATruncation) {
  LogOptions options = SmallOptions(Strategy::kAuto);
  options.map_after_records = 1;
  options.restored.uuid[0] = 1;
  std::unique_ptr<Log> log = OpenObserved(options);
  if (log->Stats().mode != WriteMode::kDirect) GTEST_SKIP() << log->Stats().reason;
  AppendMany(*log, 100, Level::kSync);
  Settle(*log);
  AppendMany(*log, 1, Level::kMemory);  // from here on `auto` wants the map
  Settle(*log);
  Result<std::shared_ptr<TruncateJob>> job = log->BeginTruncate(50);
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(WriteNext(*log).status().code(), Code::kBackpressure);
  EXPECT_EQ(log->Append(AsBytes("x"), Level::kMemory).status().code(), Code::kBackpressure);
  EXPECT_EQ(log->WriteVoid(1, 0).status().code(), Code::kBackpressure);
  EXPECT_EQ(log->Sync(Level::kFull).code(), Code::kBackpressure);
  EXPECT_EQ(log->Stats().mode, WriteMode::kDirect);
  (*job)->RunOnce();
  ASSERT_TRUE(log->FinishTruncate(**job).ok());
  ASSERT_TRUE(WriteNext(*log).ok());
  EXPECT_EQ(log->Stats().mode, WriteMode::kMmap);
  Close(std::move(log));
  ExpectRecords(0, 51);
}

TEST_F(LogTestFolder, ATruncationAndARotationBeginAfterTheRunningCommit) {
  HeldExecutor held;
  std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kMmap));
  log->Attach(&held, &listener_);
  const auto begin_commit = [&] {
    ASSERT_TRUE(log->AppendSync(AsBytes("synced"), Level::kSync).ok());
    log->RequestSync(Level::kFull);
    log->Pump();
    EXPECT_LT(log->ReachedEnd(Level::kFull), log->next_seq());
  };
  begin_commit();
  const Result<std::shared_ptr<TruncateJob>> cut = log->BeginTruncate(1);
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(log->ReachedEnd(Level::kFull), 1u);
  (*cut)->RunOnce();
  ASSERT_TRUE(log->FinishTruncate(**cut).ok());
  begin_commit();
  const Result<std::shared_ptr<RotateJob>> rotation = log->BeginRotate();
  ASSERT_TRUE(rotation.ok());
  EXPECT_EQ(log->ReachedEnd(Level::kFull), 2u);
  (*rotation)->RunOnce();
  ASSERT_TRUE(log->FinishRotate(**rotation).ok());
  held.RunAll();
  log->Attach(&executor_, &listener_);
  Close(std::move(log));
  EXPECT_EQ(ReadFrom(0).size(), 2u);
}

}  // namespace
}  // namespace durlog
