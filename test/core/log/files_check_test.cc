// Another program changes the files of an open log: the log latches at its next check, and its own
// changes never look like that.
#include <gtest/gtest.h>

#ifndef _WIN32  // where an open file can be neither moved nor replaced

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "inline_executor.h"
#include "log_test_folder.h"
#include "observed_file_system.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

namespace fs = std::filesystem;

struct Change {
  const char* name;
  std::function<void(const fs::path& folder, const fs::path& file)> make;
  bool names_folder = false;
  bool names_lock = false;
};

const std::vector<Change>& Changes() {
  static const std::vector<Change> changes = {
      {"truncated", [](auto&, auto& file) { fs::resize_file(file, 0); }},
      {"truncated within its records",
       [](auto&, auto& file) { fs::resize_file(file, kSegmentHeaderBytes + 100); }},
      {"truncated and made longer again",
       [](auto&, auto& file) {
         const uint64_t bytes = fs::file_size(file);
         fs::resize_file(file, kSegmentHeaderBytes + 100);
         fs::resize_file(file, bytes);
       }},
      {"moved", [](auto&, auto& file) { fs::rename(file, file.string() + ".1"); }},
      {"deleted", [](auto&, auto& file) { fs::remove(file); }},
      {"replaced by a copy",
       [](auto&, auto& file) {
         fs::copy_file(file, file.string() + ".new");
         fs::rename(file.string() + ".new", file);
       }},
      {"replaced by a link",
       [](auto&, auto& file) {
         fs::rename(file, file.string() + ".1");
         fs::create_symlink(file.string() + ".1", file);
       }},
      {"in a folder that was moved",
       [](auto& folder, auto&) { fs::rename(folder, folder.string() + ".1"); }, true},
      {"in a folder that was replaced by a copy",
       [](auto& folder, auto&) {
         fs::rename(folder, folder.string() + ".1");
         fs::copy(folder.string() + ".1", folder);
       },
       true},
      {"without the lock's file", [](auto& folder, auto&) { fs::remove(folder / kLockName); },
       false, true},
  };
  return changes;
}

class FilesCheckTest : public LogTestFolder, public testing::WithParamInterface<Strategy> {
 protected:
  FilesCheckTest()
      : files_([this](const ObservedCall& call) {
          if (call.call == "drop-cache") ++drops_;
          return Status::Ok();
        }) {}

  void SetUp() override {
    LogTestFolder::SetUp();
    log_ = PathOf("log");
    // No check runs except those that a test asks for, however slow the machine is.
    files_.stopped_at_micros = DefaultFileSystem().MonotonicMicros();
  }
  // Whether a check that is due finds a change.
  bool ChecksLatch(Log& log) {
    files_.micros_ahead += 1'000'000;
    log.CheckFiles();
    log.Harvest();
    return log.latched();
  }
  void RemoveAll() {
    fs::remove_all(log_);
    fs::remove_all(log_.string() + ".1");
  }
  void ExpectLatchedBy(Log& log, const fs::path& file) {
    const Status refused = log.Append(AsBytes("more"), Level::kSync).status();
    EXPECT_EQ(refused.code(), Code::kLatched);
    EXPECT_EQ(refused.path(), file.string());
    ASSERT_EQ(listener_.failures.size(), 1u);
    EXPECT_TRUE(listener_.failures[0].latched);
    EXPECT_EQ(listener_.failures[0].code, Code::kFileChanged);
    listener_.failures.clear();
  }

  fs::path log_;
  InlineExecutor at_once_;
  std::atomic<int> drops_{0};
  ObservedFileSystem files_;
};

INSTANTIATE_TEST_SUITE_P(Strategies, FilesCheckTest,
                         testing::Values(Strategy::kAuto, Strategy::kMmap, Strategy::kPwrite,
                                         Strategy::kDirect),
                         NameOfStrategy);

TEST_P(FilesCheckTest, AChangedNewestSegmentLatchesTheLog) {
  for (const Change& change : Changes()) {
    SCOPED_TRACE(change.name);
    RemoveAll();
    std::unique_ptr<Log> log = Open(SmallOptions(GetParam()), files_);
    log->Attach(&at_once_, &listener_);
    AppendMany(*log, 20, Level::kSync);
    Settle(*log);
    EXPECT_FALSE(ChecksLatch(*log));
    AppendMany(*log, 20, Level::kSync);
    Settle(*log);
    EXPECT_FALSE(ChecksLatch(*log));
    const fs::path file = log_ / SegmentName(0);
    change.make(log_, file);
    EXPECT_TRUE(ChecksLatch(*log));
    ExpectLatchedBy(*log, change.names_folder ? log_ : change.names_lock ? log_ / kLockName : file);
  }
  RemoveAll();
}

TEST_P(FilesCheckTest, ACommitThatFindsAnotherLockIsNotAcknowledged) {
  if (!folder_->Probe()->keeps_file_ids) GTEST_SKIP() << "files have no identities here";
  for (const bool replaced : {false, true}) {
    RemoveAll();
    std::unique_ptr<Log> log = Open(SmallOptions(GetParam()), files_);
    AppendMany(*log, 20, Level::kSync);
    Settle(*log);
    fs::rename(log_ / kLockName, log_ / "lock.1");
    if (replaced) fs::copy_file(log_ / "lock.1", log_ / kLockName);
    EXPECT_EQ(log->AppendSync(AsBytes("more"), Level::kSync).status().code(), Code::kFileChanged);
    EXPECT_EQ(log->ReachedEnd(Level::kSync), 20u);
    ExpectLatchedBy(*log, log_ / kLockName);
  }
  RemoveAll();
}

// The page cache may hold old bytes of a file that is written with O_DIRECT.
TEST_P(FilesCheckTest, OnlyBytesThatWereReadAgainFromTheDeviceLatchTheLog) {
  std::unique_ptr<Log> log = Open(SmallOptions(GetParam()), files_);
  log->Attach(&at_once_, &listener_);
  AppendMany(*log, 20, Level::kSync);
  Settle(*log);
  EXPECT_FALSE(ChecksLatch(*log));
  EXPECT_EQ(drops_, 0);
  const fs::path file = log_ / SegmentName(0);
  const uint64_t bytes = fs::file_size(file);
  fs::resize_file(file, kSegmentHeaderBytes + 100);
  fs::resize_file(file, bytes);
  EXPECT_TRUE(ChecksLatch(*log));
  EXPECT_EQ(drops_, 1);
}

TEST_P(FilesCheckTest, ASealedSegmentIsCheckedToo) {
  for (const uint64_t sealed : {0u, 1u}) {
    for (const Change& change : Changes()) {
      if (change.names_folder || change.names_lock) continue;
      SCOPED_TRACE(change.name);
      RemoveAll();
      std::unique_ptr<Log> log = Open(SmallOptions(GetParam()), files_);
      log->Attach(&at_once_, &listener_);
      while (listener_.rotated.size() < 3) AppendMany(*log, 1, Level::kMemory);
      AppendMany(*log, 5, Level::kSync);
      Settle(*log);
      EXPECT_FALSE(ChecksLatch(*log));
      const fs::path file =
          log_ / SegmentName(sealed == 0 ? 0 : listener_.rotated[listener_.rotated.size() - 2]);
      change.make(log_, file);
      EXPECT_TRUE(ChecksLatch(*log));
      ExpectLatchedBy(*log, file);
      listener_.rotated.clear();
    }
  }
  RemoveAll();
}

void CutAndExtend(const fs::path& file, uint64_t to) {
  const uint64_t bytes = fs::file_size(file);
  fs::resize_file(file, to);
  fs::resize_file(file, bytes);
}

// The newest records of the segment, which later ones follow, read as zeros.
TEST_P(FilesCheckTest, ACutThatLaterRecordsFollowLatchesTheLog) {
  for (const uint64_t payload_bytes : {10u, 3000u}) {
    // A direct write repeats the whole block, so that no record is missing.
    const bool maps_or_copies = GetParam() == Strategy::kMmap || GetParam() == Strategy::kPwrite;
    if (payload_bytes < 1000 && !maps_or_copies) continue;
    SCOPED_TRACE(payload_bytes);
    RemoveAll();
    LogOptions options = SmallOptions(GetParam());
    options.segment_bytes = 1u << 20;
    std::unique_ptr<Log> log = Open(options, files_);
    log->Attach(&at_once_, &listener_);
    const std::string payload(payload_bytes, 'x');
    const auto append = [&](int count) {
      for (int i = 0; i < count; ++i) {
        ASSERT_TRUE(log->Append(AsBytes(payload), Level::kMemory).ok());
      }
      Settle(*log);
    };
    append(40);
    EXPECT_FALSE(ChecksLatch(*log));
    append(40);
    const fs::path file = log_ / SegmentName(0);
    const uint64_t frame_bytes = FrameBytes(payload_bytes);
    CutAndExtend(file, kSegmentHeaderBytes + 70 * frame_bytes);
    append(5);
    EXPECT_TRUE(ChecksLatch(*log));
    ExpectLatchedBy(*log, file);
  }
  RemoveAll();
}

TEST_P(FilesCheckTest, AChangeInASegmentOlderThanTheNewestEightLatchesTheLog) {
  for (const Change& change : Changes()) {
    const std::string name = change.name;
    if (name != "moved" && name != "truncated and made longer again" &&
        name != "replaced by a copy" && name != "replaced by a link") {
      continue;
    }
    SCOPED_TRACE(change.name);
    RemoveAll();
    std::unique_ptr<Log> log = Open(SmallOptions(GetParam()), files_);
    log->Attach(&at_once_, &listener_);
    while (listener_.rotated.size() < 10) AppendMany(*log, 20, Level::kMemory);
    Settle(*log);
    EXPECT_FALSE(ChecksLatch(*log));
    const fs::path file = log_ / SegmentName(listener_.rotated[0]);
    change.make(log_, file);
    EXPECT_TRUE(ChecksLatch(*log));
    ExpectLatchedBy(*log, file);
    listener_.rotated.clear();
  }
  RemoveAll();
}

TEST_P(FilesCheckTest, AnOldSegmentWhoseTimeOrCopyIsNewIsUnchanged) {
  std::unique_ptr<Log> log = Open(SmallOptions(GetParam()), files_);
  log->Attach(&at_once_, &listener_);
  while (listener_.rotated.size() < 10) AppendMany(*log, 20, Level::kMemory);
  Settle(*log);
  EXPECT_FALSE(ChecksLatch(*log));
  const fs::path file = log_ / SegmentName(listener_.rotated[0]);
  fs::last_write_time(file, fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_FALSE(ChecksLatch(*log));
}

// The payload of a void is never written.
TEST_P(FilesCheckTest, AVoidIsNoChange) {
  LogOptions options = SmallOptions(GetParam());
  options.restored.uuid = LogUuid{1, 2, 3};
  std::unique_ptr<Log> log = Open(options, files_);
  log->Attach(&at_once_, &listener_);
  constexpr uint64_t kTimeMs = 1'000'000'000'000;
  while (!log->WriteVoid(1000, kTimeMs).ok()) Settle(*log);
  ASSERT_TRUE(log->AppendSync(AsBytes("one"), Level::kSync, kTimeMs).ok());
  EXPECT_FALSE(ChecksLatch(*log));
  EXPECT_FALSE(ChecksLatch(*log));
}

TEST_P(FilesCheckTest, AnIdleLogAndOneThatWasOpenedAgainAreChecked) {
  std::unique_ptr<Log> log = Open(SmallOptions(GetParam()), files_);
  AppendMany(*log, 20, Level::kSync);
  Close(std::move(log));
  log = Open(SmallOptions(GetParam()), files_);
  log->Attach(&at_once_, &listener_);
  EXPECT_FALSE(ChecksLatch(*log));
  fs::resize_file(log_ / SegmentName(0), kSegmentHeaderBytes + 100);
  EXPECT_TRUE(ChecksLatch(*log));
}

TEST_P(FilesCheckTest, AFileThatIsMovedAndPutBackChangesNothing) {
  std::unique_ptr<Log> log = Open(SmallOptions(GetParam()), files_);
  log->Attach(&at_once_, &listener_);
  AppendMany(*log, 20, Level::kSync);
  fs::rename(log_ / SegmentName(0), log_ / "moved");
  AppendMany(*log, 20, Level::kSync);
  fs::rename(log_ / "moved", log_ / SegmentName(0));
  EXPECT_FALSE(ChecksLatch(*log));
  Close(std::move(log));
  ExpectRecords(0, 40);
}

TEST_P(FilesCheckTest, AFolderMayBeReachedThroughALink) {
  fs::create_directory(PathOf("target"));
  fs::create_directory_symlink(PathOf("target"), log_);
  std::unique_ptr<Log> log = Open(SmallOptions(GetParam()), files_);
  log->Attach(&at_once_, &listener_);
  AppendMany(*log, 20, Level::kSync);
  EXPECT_FALSE(ChecksLatch(*log));
  fs::remove(log_);
  fs::create_directory_symlink(root_, log_);
  EXPECT_TRUE(ChecksLatch(*log));
  ExpectLatchedBy(*log, log_);
}

TEST_P(FilesCheckTest, AnAppendThatCannotMapATruncatedSegmentNamesIt) {
  if (GetParam() != Strategy::kMmap) GTEST_SKIP() << "no map";
  std::unique_ptr<Log> log = Open(SmallOptions(GetParam()), files_);
  log->Attach(&at_once_, &listener_);
  AppendMany(*log, 1, Level::kMemory);
  fs::resize_file(log_ / SegmentName(0), 48 << 10);
  Result<uint64_t> appended = log->Append(AsBytes(PayloadOf(1)), Level::kMemory);
  while (appended.ok()) appended = log->Append(AsBytes(PayloadOf(1)), Level::kMemory);
  EXPECT_EQ(appended.status().code(), Code::kIo) << appended.status().message();
  EXPECT_EQ(appended.status().path(), (log_ / SegmentName(0)).string());
}

TEST_P(FilesCheckTest, ATruncationThatIsRefusedLeavesTheLogChecked) {
  std::unique_ptr<Log> log = Open(SmallOptions(GetParam()), files_);
  log->Attach(&at_once_, &listener_);
  AppendMany(*log, 20, Level::kSync);
  const std::string record = PayloadOf(20);
  const std::vector<PayloadParts> batch(2, AsBytes(record));
  ASSERT_TRUE(log->AppendBatch(batch.data(), batch.size(), Level::kSync).ok());
  Settle(*log);
  const auto cut = log->BeginTruncate(21);
  ASSERT_TRUE(cut.ok());
  (*cut)->RunOnce();
  ASSERT_EQ(log->FinishTruncate(**cut).code(), Code::kInvalidArgument);
  EXPECT_FALSE(ChecksLatch(*log));
  fs::resize_file(log_ / SegmentName(0), kSegmentHeaderBytes + 100);
  EXPECT_TRUE(ChecksLatch(*log));
}

// Checks run at every step, each with the result of the one before.
TEST_P(FilesCheckTest, TheLogsOwnChangesNeverLatchIt) {
  LogOptions options = SmallOptions(GetParam());
  options.max_recyclable = 2;
  std::unique_ptr<Log> log = Open(options, files_);
  const auto step = [&] {
    files_.micros_ahead += 1'000'000;
    log->CheckFiles();
    log->Harvest();
    ASSERT_FALSE(log->latched()) << listener_.failures.size();
  };
  const auto append = [&](uint64_t count, Level level) {
    for (uint64_t i = 0; i < count; ++i) {
      AppendMany(*log, 1, level);
      step();
    }
  };
  for (int round = 0; round < 4; ++round) {
    append(150, Level::kMemory);
    append(150, Level::kSync);
    Settle(*log);
    const auto rotation = log->BeginRotate();
    ASSERT_TRUE(rotation.ok());
    if (*rotation) {
      executor_.Execute(*rotation);
      step();
      (*rotation)->Await();
      ASSERT_TRUE(log->FinishRotate(**rotation).ok());
    }
    // The active segment is empty now, and its successor takes its name.
    append(1, Level::kSync);
    Settle(*log);
    const auto cut = log->BeginTruncate(log->next_seq() - 40);
    ASSERT_TRUE(cut.ok());
    executor_.Execute(*cut);
    step();
    (*cut)->Await();
    ASSERT_TRUE(log->FinishTruncate(**cut).ok());
    append(20, Level::kSync);
    Settle(*log);
    const std::shared_ptr<TrimJob> trim = log->BeginTrim(log->next_seq() - 30);
    if (trim) {
      step();
      executor_.Execute(trim);
      append(5, Level::kSync);
      trim->Await();
      step();
      log->FinishTrim(*trim);
    }
    append(30, Level::kAsync);
  }
  const uint64_t end = log->next_seq();
  Close(std::move(log));
  EXPECT_TRUE(listener_.failures.empty());
  log = Open(options);
  EXPECT_EQ(log->next_seq(), end);
  Close(std::move(log));
}

TEST_P(FilesCheckTest, ACheckWithoutDescriptorsShowsNothing) {
  bool refuses = false;
  ObservedFileSystem files([&refuses](const ObservedCall& call) {
    return refuses && call.call == "open" ? Status::System("openat", EMFILE, call.name)
                                          : Status::Ok();
  });
  std::unique_ptr<Log> log = Open(SmallOptions(GetParam()), files);
  log->Attach(&at_once_, &listener_);
  AppendMany(*log, 20, Level::kSync);
  Settle(*log);
  refuses = true;
  files.micros_ahead += 1'000'000;
  log->CheckFiles();
  log->Harvest();
  EXPECT_FALSE(log->latched());
}

}  // namespace
}  // namespace durlog

#endif
