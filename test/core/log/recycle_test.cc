// Trimmed segments that are used again.
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "inline_executor.h"
#include "log_test_folder.h"
#include "observed_file_system.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

class RecycleTest : public LogTestFolder, public testing::WithParamInterface<Level> {
 protected:
  void TrimTo(Log& log, uint64_t seq) {
    const std::shared_ptr<TrimJob> trim = log.BeginTrim(seq);
    ASSERT_NE(trim, nullptr);
    trim->RunOnce();
    log.FinishTrim(*trim);
  }
};

std::string NameOfLevel(const testing::TestParamInfo<Level>& info) {
  return info.param == Level::kSync ? "Synced" : "InMemory";
}
INSTANTIATE_TEST_SUITE_P(Levels, RecycleTest, testing::Values(Level::kSync, Level::kMemory),
                         NameOfLevel);

TEST_P(RecycleTest, RecycledSegmentsGetNoZerosAhead) {
  if (!folder_->Probe()->survives_map_faults) GTEST_SKIP() << kNoMappedLogs;
  // A record takes two blocks at most, and the next spare a header.
  constexpr uint64_t kMostBytesPerAppend = 3 * 4096;
  uint64_t written = 0;
  ObservedFileSystem file_system(
      [&](const ObservedCall& call) {
        if (call.call == "write" || call.call == "write-direct") written += call.length;
        return Status::Ok();
      },
      "ext4");
  LogOptions options = SmallOptions(Strategy::kAuto);
  options.map_after_records = 3;
  InlineExecutor at_once;
  std::unique_ptr<Log> log = Open(options, file_system);
  log->Attach(&at_once, &listener_);
  const auto append = [&](Level level) {
    AppendMany(*log, 1, level);
    Settle(*log);
  };
  // Trimmed in direct mode, so that they are kept.
  while (listener_.rotated.size() < 4) append(Level::kSync);
  TrimTo(*log, listener_.rotated.back());
  while (log->Stats().recycled == 0) append(Level::kSync);
  // Through all of the next segment, and into it.
  const size_t rotated = listener_.rotated.size();
  while (listener_.rotated.size() < rotated + 2) {
    const uint64_t before = written;
    append(GetParam());
    if (listener_.rotated.size() != rotated + 1) continue;
    ASSERT_LE(written - before, kMostBytesPerAppend);
  }
  EXPECT_EQ(log->Stats().mode, GetParam() == Level::kSync ? WriteMode::kDirect : WriteMode::kMmap);
  const uint64_t first = log->first_seq();
  const uint64_t end = log->next_seq();
  Close(std::move(log));
  const std::vector<std::string> payloads = ReadFrom(first);
  ASSERT_EQ(payloads.size(), end - first);
  for (uint64_t seq = first; seq < end; ++seq) EXPECT_EQ(payloads[seq - first], PayloadOf(seq));
  log = Open(options);
  EXPECT_EQ(log->recovery().state, RecoveryState::kClean);
  EXPECT_EQ(log->next_seq(), end);
}

// How many files of the log are no segment: the one that is being made, and those kept for reuse.
size_t SparesIn(const std::string& folder) {
  size_t spares = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (IsSpareName(entry.path().filename().string())) ++spares;
  }
  return spares;
}

TEST_P(RecycleTest, WhatAFailedTrimHasRenamedIsUsed) {
  if (!folder_->Probe()->survives_map_faults) GTEST_SKIP() << kNoMappedLogs;
  bool fails = false;
  int renamed = 0;
  ObservedFileSystem file_system(
      [&](const ObservedCall& call) {
        const bool second = fails && call.call == "rename" && ++renamed == 2;
        return second ? Status::System("renameat", EIO, call.name) : Status::Ok();
      },
      "ext4");
  InlineExecutor at_once;
  LogOptions options = SmallOptions(Strategy::kAuto);
  options.max_recyclable = 2;
  std::unique_ptr<Log> log = Open(options, file_system);
  log->Attach(&at_once, &listener_);
  const auto fill_segments = [&](size_t count) {
    for (const size_t end = listener_.rotated.size() + count; listener_.rotated.size() < end;) {
      AppendMany(*log, 1, GetParam());
      Settle(*log);
    }
  };
  fill_segments(6);
  for (int i = 0; i < 2; ++i) {
    fails = true;
    renamed = 0;
    const std::shared_ptr<TrimJob> trim = log->BeginTrim(log->next_seq());
    ASSERT_NE(trim, nullptr);
    trim->RunOnce();
    log->FinishTrim(*trim);
    fails = false;
    EXPECT_LE(SparesIn(PathOf("log")), 3u);
  }
  fill_segments(3);
  EXPECT_GE(log->Stats().recycled, 2u);
  EXPECT_TRUE(listener_.failures.empty());
  const uint64_t begin = log->first_seq();
  const uint64_t end = log->next_seq();
  Close(std::move(log));
  ExpectRecords(begin, end);
}

TEST_P(RecycleTest, ARecycledFileThatCannotBeOpenedIsRemoved) {
  if (!folder_->Probe()->survives_map_faults) GTEST_SKIP() << kNoMappedLogs;
  bool lacks_descriptors = false;
  int refused = 0;
  ObservedFileSystem file_system(
      [&](const ObservedCall& call) {
        if (!lacks_descriptors || call.call != "open" || !IsSpareName(call.name)) {
          return Status::Ok();
        }
        ++refused;
        return Status::System("openat", EMFILE, call.name);
      },
      "ext4");
  InlineExecutor at_once;
  std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kAuto), file_system);
  log->Attach(&at_once, &listener_);
  while (listener_.rotated.size() < 4) {
    AppendMany(*log, 1, GetParam());
    Settle(*log);
  }
  TrimTo(*log, listener_.rotated.back());
  const size_t kept = SparesIn(PathOf("log"));
  ASSERT_GT(kept, 0u);
  lacks_descriptors = true;
  while (refused == 0) {
    static_cast<void>(log->Append(AsBytes(PayloadOf(log->next_seq())), GetParam()));
    Settle(*log);
  }
  EXPECT_EQ(SparesIn(PathOf("log")), kept - static_cast<size_t>(refused));
  lacks_descriptors = false;
  Close(std::move(log));
}

#ifndef _WIN32  // where the number of a file's names is not known

TEST_P(RecycleTest, AHardLinkOfATrimmedSegmentKeepsItsContent) {
  if (!folder_->Probe()->survives_map_faults) GTEST_SKIP() << kNoMappedLogs;
  ObservedFileSystem file_system([](const ObservedCall&) { return Status::Ok(); }, "ext4");
  InlineExecutor at_once;
  std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kAuto), file_system);
  log->Attach(&at_once, &listener_);
  const auto fill_segments = [&](size_t count, Level level) {
    for (const size_t end = listener_.rotated.size() + count; listener_.rotated.size() < end;) {
      AppendMany(*log, 1, level);
      Settle(*log);
    }
  };
  const auto contents = [](const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  fill_segments(4, Level::kSync);
  const std::string link = PathOf("link");
  std::filesystem::create_hard_link(PathOf("log") + "/" + SegmentName(0), link);
  const std::string before = contents(link);
  TrimTo(*log, listener_.rotated.back());
  fill_segments(4, GetParam());
  EXPECT_EQ(log->Stats().recycled, 1u);
  EXPECT_TRUE(contents(link) == before);
}

#endif

}  // namespace
}  // namespace durlog
