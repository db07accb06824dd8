// Tests of the spare: the file that becomes the next segment of a log with several writers.
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>

#include "observed_file_system.h"
#include "record/segment_name.h"
#include "shared/shared_segment.h"
#include "shared_test_folder.h"

namespace durlog {
namespace {

class SharedSpareTest : public SharedTestFolder {
 protected:
  SharedSpareTest()
      : files_([this](const ObservedCall& call) {
          const bool allocates = call.call == "allocate" || call.call == "write";
          const bool fails = disk_is_full_ && allocates && call.name.rfind("spare-", 0) == 0;
          if (fails) ++failures_;
          return fails ? Status::System("fallocate", ENOSPC, call.name) : Status::Ok();
        }) {}

  std::unique_ptr<SharedLog> OpenOnDisk() {
    Result<std::unique_ptr<SharedLog>> log = SharedLog::Open(files_, PathOf("log"), Small());
    EXPECT_TRUE(log.ok()) << log.status().message();
    (*log)->Attach(&inline_, &listener_);
    return std::move(*log);
  }
  // Appends without waiting until the segment is full. Returns why the last append failed.
  Status FillSegment(SharedLog& log) {
    for (;;) {
      const Result<uint64_t> seq = log.Append(AsBytes(PayloadOf(900)), Level::kMemory);
      if (!seq.ok()) return seq.status();
      if (!listener_.rotated.empty()) return Status::Ok();
    }
  }

  bool disk_is_full_ = false;
  int failures_ = 0;
  ObservedFileSystem files_;
};

TEST_F(SharedSpareTest, AFailureLongAgoDoesNotRejectAnAppendForWhichThereIsRoom) {
  std::unique_ptr<SharedLog> log = OpenOnDisk();
  disk_is_full_ = true;
  // Appends until the spare is prepared; no append waits for it.
  while (failures_ == 0) Write(*log, PayloadOf(900));
  disk_is_full_ = false;
  Status failed = FillSegment(*log);
  if (failed.code() == Code::kBackpressure) failed = FillSegment(*log);
  EXPECT_TRUE(failed.ok()) << failed.message();
}

TEST_F(SharedSpareTest, ErrorsNameTheSegmentThatASpareHasBecome) {
  Leave(OpenMember());
  const std::unique_ptr<Directory> folder = OpenFolder();
  const std::string segment_name = SegmentName(0);
  ASSERT_TRUE(folder->Rename(segment_name, SpareName(1)).ok());
  Result<OpenedSegment> held = OpenSegmentFile(*folder, SpareName(1), OpenMode::kReadWrite);
  ASSERT_TRUE(held.ok()) << held.status().message();
  ASSERT_TRUE(folder->Rename(SpareName(1), segment_name).ok());
  const LogUuid uuid = held->header.uuid;
  const Result<std::shared_ptr<SharedSegment>> segment =
      SharedSegment::Open(*folder, 0, uuid, 0, &*held);
  ASSERT_TRUE(segment.ok()) << segment.status().message();
  EXPECT_EQ((*segment)->file().Map(1, 1).status().path(), folder->PathOf(segment_name));
  EXPECT_EQ((*segment)->mapping().Sync(SIZE_MAX, 1).path(), folder->PathOf(segment_name));
}

TEST_F(SharedSpareTest, AFailureThatNoAppendWaitedToSeeIsForgotten) {
  std::unique_ptr<SharedLog> log = OpenOnDisk();
  disk_is_full_ = true;
  EXPECT_EQ(FillSegment(*log).code(), Code::kBackpressure);
  // The append was aborted, and the event loop takes some turns.
  log->Harvest();
  log->Pump();
  disk_is_full_ = false;
  Status failed = FillSegment(*log);
  if (failed.code() == Code::kBackpressure) failed = FillSegment(*log);
  EXPECT_TRUE(failed.ok()) << failed.message();
}

TEST_F(SharedSpareTest, AnAppendThatWaitsForTheFileFailsIfTheDiskIsFull) {
  std::unique_ptr<SharedLog> log = OpenOnDisk();
  disk_is_full_ = true;
  Result<uint64_t> seq = uint64_t{0};
  while (seq.ok()) seq = log->Write(AsBytes(PayloadOf(900)));
  EXPECT_EQ(seq.status().code(), Code::kNoSpace) << seq.status().message();
  disk_is_full_ = false;
  EXPECT_TRUE(log->Write(AsBytes(PayloadOf(900))).ok());
  ExpectClean();
}

TEST_F(SharedSpareTest, AFileSystemThatCannotPreallocateIsRefusedAndTheFileIsRemoved) {
  ObservedFileSystem cannot_allocate([](const ObservedCall& call) {
    return call.call == "allocate" ? Status::Error(Code::kUnsupported, "fallocate") : Status::Ok();
  });
  EXPECT_EQ(SharedLog::Open(cannot_allocate, PathOf("log"), Small()).TakeStatus().code(),
            Code::kUnsupported);
  for (const auto& entry : std::filesystem::directory_iterator(PathOf("log"))) {
    EXPECT_NE(entry.path().filename().string().rfind("spare-", 0), 0u) << entry.path();
  }
}

}  // namespace
}  // namespace durlog
