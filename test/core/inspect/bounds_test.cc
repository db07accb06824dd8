#include "inspect/bounds.h"

#include "crafted_log.h"
#include "log_test_folder.h"
#include "observed_file_system.h"
#include "record/segment_name.h"
#include "recovery/log_files.h"

namespace durlog {
namespace {

using BoundsTest = CraftedLogTest;
using BoundsFolderTest = LogTestFolder;

TEST_F(BoundsTest, WithoutAWriterTheFilesDecide) {
  struct Row {
    bool marked;       // with a marker at the end
    uint64_t damaged;  // 2 * kRecords for none
    uint64_t next_seq;
    uint64_t synced_end;
  };
  const Row rows[] = {
      {true, 20, 20, 20},   // all synced
      {false, 20, 20, 15},  // an end that may not be on the device
      {false, 17, 17, 15},  // a hole: the records that an open would cut are not counted
      {false, 19, 19, 15},  // a torn tail
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.damaged);
    Build(0, 10, 7);
    Build(10, 15, 7);
    if (row.marked) Mark(10, 7);
    if (row.damaged < 2 * kRecords) Damage(10, row.damaged);
    const Result<LogBounds> bounds = ReadBounds(disk_, kPath);
    ASSERT_TRUE(bounds.ok()) << bounds.status().message();
    EXPECT_EQ(bounds->first_seq, 0u);
    EXPECT_EQ(bounds->next_seq, row.next_seq);
    EXPECT_EQ(bounds->synced_end, row.synced_end);
    EXPECT_EQ(bounds->uuid[0], 7);
  }
}

TEST_F(BoundsTest, AFolderWithoutSegmentsHasNone) {
  EXPECT_EQ(ReadBounds(disk_, kPath).status().code(), Code::kNotFound);
}

// An open that recovers the log removes segments, and a writer that opens it may trim, while no
// live page is valid.
TEST_F(BoundsFolderTest, ASegmentThatIsRemovedAfterTheFolderWasListedIsNoError) {
  std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kPwrite));
  AppendMany(*log, 600, Level::kSync);
  Settle(*log);
  log.reset();
  const std::unique_ptr<Directory> folder =
      std::move(DefaultFileSystem().OpenDirectory(PathOf("log"), false).value());
  const uint64_t newest = ListLogFiles(*folder)->segments.back();
  ASSERT_GT(newest, 0u);
  bool removed = false;
  ObservedFileSystem files([&](const ObservedCall& call) {
    // The identity is read first. It is known from the other segments.
    if (call.call != "read" || call.name != SegmentName(0) || removed) return Status::Ok();
    removed = true;
    return folder->Remove(SegmentName(newest));
  });
  const Result<LogBounds> bounds = ReadBounds(files, PathOf("log"));
  ASSERT_TRUE(bounds.ok()) << bounds.status().message();
  EXPECT_TRUE(removed);
  EXPECT_EQ(bounds->next_seq, newest);
}

}  // namespace
}  // namespace durlog
