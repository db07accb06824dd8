#include "inspect/repair.h"

#include <map>
#include <string>

#include "crafted_log.h"

namespace durlog {
namespace {

class RepairTest : public CraftedLogTest {
 protected:
  static std::map<std::string, MemoryBytes> BytesOf(const MemoryFolder& folder) {
    std::map<std::string, MemoryBytes> bytes;
    for (const auto& [name, file] : folder) bytes[name] = *file;
    return bytes;
  }
  // The end of a segment, as a backup has it.
  MemoryBytes From(uint64_t first_seq, uint64_t offset) {
    MemoryBytes bytes(Image(first_seq).begin() + static_cast<std::ptrdiff_t>(offset),
                      Image(first_seq).end());
    while (!bytes.empty() && bytes.back() == 0) bytes.pop_back();
    return bytes;
  }
  MemoryBytes Backup(const std::string& name) {
    const auto found = disk_.elsewhere.find(name);
    if (found == disk_.elsewhere.end()) return {};
    MemoryBytes bytes = *found->second;
    while (!bytes.empty() && bytes.back() == 0) bytes.pop_back();
    return bytes;
  }
};

TEST_F(RepairTest, ADryRunReportsAndChangesNothing) {
  Build(0, 5);
  Build(10, 5);
  Damage(0, 7);
  const auto before = BytesOf(disk_.files);
  const Result<RepairReport> report = Repair(disk_, kPath, false, "backup");
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->state, RecoveryState::kHole);
  EXPECT_FALSE(report->applied);
  EXPECT_EQ(report->cuts.size(), 2u);
  EXPECT_EQ(BytesOf(disk_.files), before);
  EXPECT_TRUE(disk_.elsewhere.empty());
}

TEST_F(RepairTest, TheBackupHoldsEveryCutByte) {
  Build(0, 5);
  Build(10, 5);
  Damage(0, 7);
  const MemoryBytes end = From(0, OffsetOf(7));
  const MemoryBytes newest = From(10, 0);
  const Result<RepairReport> report = Repair(disk_, kPath, true, "backup");
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->applied);
  EXPECT_EQ(Backup(SegmentName(10)), newest);
  EXPECT_EQ(Backup(SegmentName(0) + ".from-" + std::to_string(OffsetOf(7))), end);
  EXPECT_EQ(disk_.elsewhere.size(), 2u);
  EXPECT_EQ(Plan().report.state, RecoveryState::kClean);
  EXPECT_EQ(Plan().next_seq, 7u);
}

TEST_F(RepairTest, NothingIsCutWhereTheCopyFails) {
  Build(0, 5);
  Damage(0, 7);
  const auto before = BytesOf(disk_.files);
  const std::string taken = SegmentName(0) + ".from-" + std::to_string(OffsetOf(7));
  disk_.elsewhere[taken] = std::make_shared<MemoryBytes>();
  EXPECT_FALSE(Repair(disk_, kPath, true, "backup").ok());
  EXPECT_EQ(BytesOf(disk_.files), before);
}

TEST_F(RepairTest, DamageInAnOlderSegmentIsCorruptAsForVerify) {
  for (const bool apply : {false, true}) {
    Build(0, 10);
    Build(10, 20);
    Build(20, 25);
    Damage(0, 3);
    Damage(20, 28);
    const auto before = BytesOf(disk_.files);
    const Result<RepairReport> report = Repair(disk_, kPath, apply, "backup");
    EXPECT_EQ(report.status().code(), Code::kCorrupt);
    EXPECT_EQ(report.status().path(), std::string(kPath) + "/" + SegmentName(0));
    EXPECT_EQ(BytesOf(disk_.files), before);
  }
}

TEST_F(RepairTest, ADamagedHeaderCopyIsCorruptAsForVerify) {
  Build(0, 10);
  Build(10, 15);
  Overwrite(0, kSegmentHeaderCopyOffset, MemoryBytes(64, 0xff));
  EXPECT_EQ(Repair(disk_, kPath, false, "").status().code(), Code::kCorrupt);
}

TEST_F(RepairTest, CutsTheEndOfALogWithOlderSegments) {
  Build(0, 10);
  Build(10, 20);
  Build(20, 25);
  Damage(20, 28);
  const Result<RepairReport> report = Repair(disk_, kPath, true, "backup");
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->state, RecoveryState::kHole);
  EXPECT_TRUE(report->applied);
  EXPECT_EQ(Plan().next_seq, 28u);
}

TEST_F(RepairTest, WholeAndCorruptLogsStayUnchanged) {
  for (const bool corrupt : {false, true}) {
    Build(0, 5);
    if (corrupt) Damage(0, 3);
    const auto before = BytesOf(disk_.files);
    const Result<RepairReport> report = Repair(disk_, kPath, true, "backup");
    EXPECT_EQ(report.status().code(), corrupt ? Code::kCorrupt : Code::kOk);
    if (report.ok()) {
      EXPECT_FALSE(report->applied);
    }
    EXPECT_EQ(BytesOf(disk_.files), before);
    EXPECT_TRUE(disk_.elsewhere.empty());
  }
}

}  // namespace
}  // namespace durlog
