#include "recovery/apply.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "crafted_log.h"
#include "observed_file_system.h"

namespace durlog {
namespace {

class ApplyRecoveryTest : public CraftedLogTest {
 protected:
  // Plans and applies; `calls_` holds what applying did.
  RecoveryPlan Apply(const Capabilities& capabilities = MemoryFolder::DefaultCapabilities(),
                     Evidence evidence = Evidence::kCache) {
    Result<std::unique_ptr<Directory>> inner = disk_.OpenDirectory(kPath, false);
    EXPECT_TRUE(inner.ok());
    ObservedDirectory directory(std::move(*inner), "", 0, [this](const ObservedCall& call) {
      calls_.push_back(call);
      return call.call == refused_ ? refusal_ : Status::Ok();
    });
    RecoveryPlan plan = PlanFor(directory, evidence);
    refused_ = "";
    calls_.clear();
    const Status applied = ApplyRecovery(directory, capabilities, &plan);
    EXPECT_TRUE(applied.ok()) << applied.message();
    return plan;
  }
  // Of the calls, in order, those that are among `names`, with their file.
  std::vector<std::string> Made(const std::vector<std::string>& names) const {
    std::vector<std::string> made;
    for (const ObservedCall& call : calls_) {
      if (std::find(names.begin(), names.end(), call.call) == names.end()) continue;
      made.push_back(call.name.empty() ? call.call : call.call + " " + call.name);
    }
    return made;
  }
  size_t First(const std::string& name) const {
    const auto is_it = [&](const ObservedCall& call) { return call.call == name; };
    const auto found = std::find_if(calls_.begin(), calls_.end(), is_it);
    return static_cast<size_t>(found - calls_.begin());
  }
  using Calls = std::vector<std::string>;

  std::vector<ObservedCall> calls_;
  // Fails while the plan is made.
  std::string refused_;
  Status refusal_ = Status::System("fdatasync", EIO, "");
};

TEST_F(ApplyRecoveryTest, UnsyncedRecordsThatStayAreRewritten) {
  struct Row {
    bool direct_io;
    std::string write;
    uint64_t begin;
    uint64_t end;
  };
  const Row rows[] = {{true, "write-direct", kSegmentHeaderBytes, 2 * kSegmentHeaderBytes},
                      {false, "write", OffsetOf(5), OffsetOf(kRecords)}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.write);
    Build(0, 5);
    const MemoryBytes before = Image(0);
    Capabilities capabilities = MemoryFolder::DefaultCapabilities();
    capabilities.direct_io = row.direct_io;
    Apply(capabilities);
    ASSERT_EQ(Made({"write", "write-direct"}), Calls{row.write + " " + SegmentName(0)});
    const ObservedCall& write = calls_[First(row.write)];
    EXPECT_EQ(write.offset, row.begin);
    EXPECT_EQ(write.offset + write.length, row.end);
    EXPECT_EQ(Image(0), before);
    if (!row.direct_io) {
      EXPECT_LT(First("write"), First("sync-data"));
    }
  }
}

TEST_F(ApplyRecoveryTest, WhatTheDeviceIsKnownToHoldIsNotRewritten) {
  Build(0, 5);
  disk_.device.cache_use = CacheUse{};
  Apply(MemoryFolder::DefaultCapabilities(), Evidence::kDevice);
  EXPECT_EQ(Made({"write", "write-direct", "sync-full", "sync-directory"}),
            (Calls{"sync-full " + SegmentName(0), "sync-directory"}));
}

TEST_F(ApplyRecoveryTest, WhatTheCacheMayShowAloneIsRewritten) {
  struct Row {
    std::string what;
    std::optional<CacheUse> use;
    std::string refused;
    bool tells_what_is_read = true;
  };
  const Row rows[] = {{"the system does not tell", std::nullopt, ""},
                      {"a page could not be dropped", CacheUse{4096, 0}, ""},
                      {"the sync before the reading failed", CacheUse{}, "sync-data"},
                      {"the system tells of another cache", CacheUse{}, "", false}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    Build(0, 5);
    disk_.device.cache_use = row.use;
    disk_.device.tells_what_is_read = row.tells_what_is_read;
    refused_ = row.refused;
    Apply(MemoryFolder::DefaultCapabilities(), Evidence::kDevice);
    EXPECT_EQ(Made({"write", "write-direct"}), Calls{"write-direct " + SegmentName(0)});
  }
}

// The marker may be in the page cache only, though it says that all is synced.
TEST_F(ApplyRecoveryTest, ACleanLogsMarkerAndFolderAreSynced) {
  Build(0, 10);
  Build(10, 20);
  Mark(10);
  Apply();
  EXPECT_EQ(
      Made({"write", "write-direct", "truncate", "sync-full", "sync-directory"}),
      (Calls{"write-direct " + SegmentName(10), "sync-full " + SegmentName(10), "sync-directory"}));
}

TEST_F(ApplyRecoveryTest, ACutLogIsCleanAndSynced) {
  for (const uint64_t damaged : {9u, 6u}) {  // a torn tail, a hole
    Build(0, 5);
    Damage(0, damaged);
    const RecoveryPlan applied = Apply();
    EXPECT_EQ(applied.synced_end, damaged);
    const RecoveryPlan next = Plan();
    EXPECT_EQ(next.report.state, RecoveryState::kClean);
    EXPECT_EQ(next.next_seq, damaged);
    EXPECT_EQ(next.synced_end, damaged);
  }
}

TEST_F(ApplyRecoveryTest, TheSyncedEndIsStatedBeforeRemovals) {
  Build(0, 5);
  Build(10, 5);
  Build(20, 5);
  Damage(0, 6);
  const RecoveryPlan applied = Apply();
  EXPECT_EQ(Made({"remove", "truncate"}).front(), "remove " + SegmentName(20));
  EXPECT_EQ(Made({"remove", "truncate"})[1], "remove " + SegmentName(10));
  // The slot is written through the cache, and the sync is its own.
  EXPECT_LT(First("write-direct"), First("write"));
  EXPECT_LT(First("write"), First("sync-data"));
  EXPECT_LT(First("sync-data"), First("remove"));
  EXPECT_EQ(calls_.back().call, "sync-directory");
  EXPECT_EQ(applied.files.segments, std::vector<uint64_t>{0});
  EXPECT_EQ(applied.scanned.size(), 1u);
}

TEST_F(ApplyRecoveryTest, NothingIsRemovedWithoutAStatementUnlessTheDiskIsFull) {
  Build(0, 5);
  Build(10, 5);
  Damage(0, 6);
  for (const int lack : {EIO, ENOMEM, ENOSPC}) {
    Result<std::unique_ptr<Directory>> inner = disk_.OpenDirectory(kPath, false);
    ASSERT_TRUE(inner.ok());
    calls_.clear();
    ObservedDirectory directory(std::move(*inner), "", 0, [&](const ObservedCall& call) {
      calls_.push_back(call);
      const bool states = call.call == "write" && call.offset == kSyncedSlotOffset;
      return states ? Status::System("pwrite", lack, "") : Status::Ok();
    });
    RecoveryPlan plan = PlanFor(directory, Evidence::kCache);
    const bool is_full = lack == ENOSPC;
    EXPECT_EQ(ApplyRecovery(directory, MemoryFolder::DefaultCapabilities(), &plan).ok(), is_full);
    EXPECT_EQ(Made({"remove"}).empty(), !is_full) << lack;
  }
}

TEST_F(ApplyRecoveryTest, WhatWasCutDoesNotComeBack) {
  Build(0, 5);
  Damage(0, 6);
  Apply();
  const MemoryBytes& image = Image(0);
  const auto behind = image.begin() + static_cast<std::ptrdiff_t>(OffsetOf(6) + kFrameHeaderBytes);
  EXPECT_TRUE(std::all_of(behind, image.end(), [](uint8_t byte) { return byte == 0; }));
}

}  // namespace
}  // namespace durlog
