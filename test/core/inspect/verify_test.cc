#include "inspect/verify.h"

#include <string>
#include <utility>
#include <vector>

#include "crafted_log.h"
#include "log_test_folder.h"
#include "observed_file_system.h"
#include "record/segment_name.h"
#include "recovery/log_files.h"

namespace durlog {
namespace {

class VerifyTest : public CraftedLogTest {
 protected:
  VerifyReport Report() {
    Result<VerifyReport> report = Verify(disk_, kPath);
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? std::move(*report) : VerifyReport{};
  }
  // Three segments, synced up to 25.
  void BuildThree() {
    Build(0, 10);
    Build(10, 20);
    Build(20, 25);
  }
  static std::string Describe(const Problem& problem) {
    return problem.segment + " at " + std::to_string(problem.offset) + ": " +
           std::to_string(problem.lost_first) + " to " + std::to_string(problem.lost_last);
  }
  static std::string Lost(uint64_t segment, uint64_t offset, uint64_t first, uint64_t last) {
    return SegmentName(segment) + " at " + std::to_string(offset) + ": " + std::to_string(first) +
           " to " + std::to_string(last);
  }
};

TEST_F(VerifyTest, DamageHasItsPlaceAndItsLostSeqs) {
  struct Row {
    std::vector<uint64_t> damaged;  // seqs
    RecoveryState state;
    std::vector<std::string> problems;
  };
  const Row rows[] = {
      {{}, RecoveryState::kClean, {}},
      {{29}, RecoveryState::kTornTail, {Lost(20, OffsetOf(9), 1, 0)}},
      {{27}, RecoveryState::kHole, {Lost(20, OffsetOf(7), 27, 27)}},
      {{22}, RecoveryState::kCorrupt, {Lost(20, OffsetOf(2), 22, 22)}},
      // In a sealed segment, which an open does not read.
      {{3}, RecoveryState::kCorrupt, {Lost(0, OffsetOf(3), 3, 3)}},
      {{18, 19}, RecoveryState::kCorrupt, {Lost(10, OffsetOf(8), 18, 19)}},
      // In several at once.
      {{3, 15, 27},
       RecoveryState::kCorrupt,
       {Lost(0, OffsetOf(3), 3, 3), Lost(10, OffsetOf(5), 15, 15), Lost(20, OffsetOf(7), 27, 27)}},
  };
  for (const Row& row : rows) {
    BuildThree();
    for (const uint64_t seq : row.damaged) Damage(seq / kRecords * kRecords, seq);
    const VerifyReport report = Report();
    std::vector<std::string> problems;
    for (const Problem& problem : report.problems) problems.push_back(Describe(problem));
    EXPECT_EQ(problems, row.problems);
    EXPECT_EQ(report.state, row.state) << testing::PrintToString(row.damaged);
  }
}

TEST_F(VerifyTest, RecordsAndBytesAreCountedBySegment) {
  BuildThree();
  const VerifyReport report = Report();
  EXPECT_EQ(report.records, 3 * kRecords);
  EXPECT_EQ(report.payload_bytes, 3 * kRecords * kPayloadBytes);
  EXPECT_EQ(report.bounds.first_seq, 0u);
  EXPECT_EQ(report.bounds.next_seq, 30u);
  EXPECT_EQ(report.bounds.synced_end, 25u);
  ASSERT_EQ(report.segments.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(report.segments[i].name, SegmentName(i * kRecords));
    EXPECT_EQ(report.segments[i].bytes, kSegmentBytes);
    EXPECT_EQ(report.segments[i].records, kRecords);
    EXPECT_EQ(report.segments[i].end_offset, OffsetOf(kRecords));
  }
}

TEST_F(VerifyTest, ABadHeaderCopyIsCorruptWithoutLoss) {
  BuildThree();
  Overwrite(10, kSegmentHeaderCopyOffset, MemoryBytes(64, 0xff));
  const VerifyReport report = Report();
  EXPECT_EQ(report.state, RecoveryState::kCorrupt);
  EXPECT_EQ(report.records, 3 * kRecords);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(report.problems[0].segment, SegmentName(10));
  EXPECT_GT(report.problems[0].lost_first, report.problems[0].lost_last);
  EXPECT_NE(report.segments[1].header_problem, "");
}

TEST_F(VerifyTest, AMissingSegmentIsLostAsAWhole) {
  BuildThree();
  disk_.files.erase(SegmentName(10));
  const VerifyReport report = Report();
  EXPECT_EQ(report.state, RecoveryState::kCorrupt);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(Describe(report.problems[0]), Lost(0, OffsetOf(kRecords), 10, 19));
}

TEST_F(VerifyTest, NothingIsChanged) {
  BuildThree();
  Damage(20, 27);
  const MemoryBytes before = Image(20);
  Report();
  EXPECT_EQ(Image(20), before);
  EXPECT_EQ(disk_.files.size(), 3u);
}

using VerifyFolderTest = LogTestFolder;

// A process that opens the log removes segments before its live page is valid.
TEST_F(VerifyFolderTest, ASegmentThatIsRemovedAfterTheFolderWasListedIsNoError) {
  std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kPwrite));
  AppendMany(*log, 600, Level::kSync);
  Settle(*log);
  log.reset();
  const std::unique_ptr<Directory> folder =
      std::move(DefaultFileSystem().OpenDirectory(PathOf("log"), false).value());
  const std::vector<uint64_t> segments = ListLogFiles(*folder)->segments;
  ASSERT_GT(segments.size(), 1u);
  bool removed = false;
  ObservedFileSystem files([&](const ObservedCall& call) {
    if (call.call != "read" || call.name != SegmentName(segments.back()) || removed) {
      return Status::Ok();
    }
    removed = true;
    return folder->Remove(SegmentName(segments.front()));
  });
  const Result<VerifyReport> report = Verify(files, PathOf("log"));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(removed);
  EXPECT_EQ(report->state, RecoveryState::kClean);
  EXPECT_EQ(report->bounds.first_seq, segments[1]);
}

}  // namespace
}  // namespace durlog
