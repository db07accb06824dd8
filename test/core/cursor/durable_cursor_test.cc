#include "cursor/durable_cursor.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

#include "base/bytes.h"
#include "checksum/crc32c.h"
#include "cursor/cursor_file.h"
#include "cursor/cursors.h"
#include "cursor/cut_list.h"
#include "inline_executor.h"
#include "log_test_folder.h"
#include "memory_file_system.h"
#include "observed_file_system.h"

namespace durlog {

inline bool operator==(const CursorProof& a, const CursorProof& b) {
  return a.position == b.position && a.checksum == b.checksum;
}

namespace {

// The boot that the file system says it is.
class BootedFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<Directory>> OpenDirectory(const std::string& path, bool create) override {
    return memory.OpenDirectory(path, create);
  }
  uint64_t NowMs() override { return memory.NowMs(); }
  uint64_t MonotonicMicros() override { return 0; }
  uint64_t Random64() override { return memory.Random64(); }
  BootId CurrentBoot() override { return boot; }

  MemoryFileSystem memory;
  BootId boot{1};
};

class DurableCursorTest : public testing::Test {
 protected:
  DurableCursorTest() { OpenLog(); }
  void OpenLog() {
    log_.reset();
    Result<std::unique_ptr<Log>> log =
        Log::Open(file_system_, "memory", SmallOptions(Strategy::kPwrite));
    ASSERT_TRUE(log.ok()) << log.status().message();
    log_ = std::move(*log);
    log_->Attach(&executor_, &listener_);
  }
  void Append(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      const Result<uint64_t> seq = log_->AppendSync(AsBytes("record"), Level::kSync);
      ASSERT_TRUE(seq.ok()) << seq.status().message();
    }
  }
  void TruncateTo(uint64_t next_seq) {
    Result<std::shared_ptr<TruncateJob>> job = log_->BeginTruncate(next_seq);
    ASSERT_TRUE(job.ok()) << job.status().message();
    (*job)->Await();
    ASSERT_TRUE(log_->FinishTruncate(**job).ok());
  }
  std::unique_ptr<DurableCursor> Open() {
    Result<std::unique_ptr<DurableCursor>> cursor =
        DurableCursor::Open(file_system_, "memory", "c");
    EXPECT_TRUE(cursor.ok()) << cursor.status().message();
    return cursor.ok() ? std::move(*cursor) : nullptr;
  }
  std::unique_ptr<DurableCursor> Make(uint64_t position) {
    std::unique_ptr<DurableCursor> cursor = Open();
    EXPECT_TRUE(cursor->Place(position, position, 0).ok());
    return cursor;
  }
  MemoryBytes& Bytes() { return *file_system_.memory.files["c.cursor"]; }
  // As a kill or a power cut in the middle of a store leaves a slot.
  void Tear(size_t slot) { Bytes()[kCursorSlotOffsets[slot] + 64] ^= 1; }

  BootedFileSystem file_system_;
  InlineExecutor executor_;
  RecordingListener listener_;
  std::unique_ptr<Log> log_;
};

TEST_F(DurableCursorTest, ACommittedPositionIsThereWhenTheCursorIsOpenedAgain) {
  EXPECT_EQ(Open()->position(), std::nullopt);
  EXPECT_EQ(file_system_.memory.files.count("c.cursor"), 0u) << "a cursor without a position";
  std::unique_ptr<DurableCursor> cursor = Make(3);
  for (uint64_t position = 4; position < 10; ++position) {
    ASSERT_TRUE(cursor->Commit(position, 100).ok());
    cursor = Open();
    EXPECT_EQ(cursor->position(), position);
  }
  ASSERT_TRUE(cursor->Commit(5, 100).ok());
  EXPECT_EQ(cursor->position(), 9u) << "a commit does not go back";
}

TEST_F(DurableCursorTest, AStoreThatWasCutShortLeavesTheCommitBeforeIt) {
  std::unique_ptr<DurableCursor> cursor = Make(0);
  ASSERT_TRUE(cursor->Commit(1, 100).ok());
  ASSERT_TRUE(cursor->Commit(2, 100).ok());
  Tear(1);
  EXPECT_EQ(Open()->position(), 1u);
}

TEST_F(DurableCursorTest, WhatASyncAcknowledgedOutlivesEveryLaterStoreInMemory) {
  std::unique_ptr<DurableCursor> cursor = Make(0);
  ASSERT_TRUE(cursor->Commit(7, 100).ok());
  ASSERT_EQ(cursor->Sync(100, false).value(), 7u);
  for (uint64_t position = 8; position < 12; ++position) {
    ASSERT_TRUE(cursor->Commit(position, 100).ok());
  }
  Tear(0);
  Tear(1);
  EXPECT_EQ(Open()->position(), 7u);
}

TEST_F(DurableCursorTest, ASyncThatWasCutShortLeavesTheOneBeforeIt) {
  std::unique_ptr<DurableCursor> cursor = Make(0);
  ASSERT_TRUE(cursor->Commit(7, 100).ok());
  ASSERT_TRUE(cursor->Sync(100, false).ok());
  ASSERT_TRUE(cursor->Commit(9, 100).ok());
  ASSERT_TRUE(cursor->Sync(100, false).ok());
  Tear(0);
  Tear(1);
  Tear(2);
  EXPECT_EQ(Open()->position(), 7u);
}

TEST_F(DurableCursorTest, AfterAnotherBootOnlyWhatWasSyncedInTheLogCounts) {
  std::unique_ptr<DurableCursor> cursor = Make(0);
  ASSERT_TRUE(cursor->Commit(20, 15).ok());
  ASSERT_EQ(cursor->Sync(16, false).value(), 16u);
  EXPECT_EQ(Open()->position(), 20u);
  file_system_.boot = {2};
  EXPECT_EQ(Open()->position(), 16u);
}

TEST_F(DurableCursorTest, AfterAnotherBootWhatWasTrimmedBehindItIsNotReadAgain) {
  Append(10);
  Result<std::shared_ptr<RotateJob>> rotation = log_->BeginRotate();
  ASSERT_TRUE(rotation.ok() && *rotation != nullptr);
  (*rotation)->RunOnce();
  ASSERT_TRUE(log_->FinishRotate(**rotation).ok());
  Append(5);
  // Committed before the records were known to be synced.
  ASSERT_TRUE(Make(0)->Commit(12, 3).ok());
  file_system_.boot = {2};
  EXPECT_EQ(Open()->position(), 3u);
  const std::shared_ptr<TrimJob> trim = log_->BeginTrim(10);
  ASSERT_NE(trim, nullptr);
  trim->RunOnce();
  log_->FinishTrim(*trim);
  EXPECT_EQ(Open()->position(), 10u);
  const Result<std::vector<CursorSummary>> listed = ListCursors(file_system_, "memory");
  ASSERT_TRUE(listed.ok());
  EXPECT_EQ(listed.value().at(0).position, 10u);
}

TEST_F(DurableCursorTest, AFileSystemThatKnowsNoBootCountsOnlyWhatWasSynced) {
  file_system_.boot = {};
  ASSERT_TRUE(Make(0)->Commit(20, 15).ok());
  EXPECT_EQ(Open()->position(), 15u);
}

TEST_F(DurableCursorTest, AnOlderSyncedEndTakesNothingBack) {
  std::unique_ptr<DurableCursor> cursor = Make(0);
  ASSERT_TRUE(cursor->Commit(20, 20).ok());
  ASSERT_TRUE(cursor->Commit(21, 10).ok());
  file_system_.boot = {2};
  EXPECT_EQ(Open()->position(), 20u);
}

TEST_F(DurableCursorTest, ADamagedFileIsNoNewCursorAndASeekMendsIt) {
  ASSERT_TRUE(Make(5)->Commit(6, 100).ok());
  for (size_t slot = 0; slot < kCursorSlotOffsets.size(); ++slot) Tear(slot);
  std::unique_ptr<DurableCursor> cursor = Open();
  EXPECT_EQ(cursor->position(), std::nullopt);
  EXPECT_EQ(cursor->broken().code(), Code::kCorrupt);
  cursor = Open();  // also without the seek
  EXPECT_EQ(cursor->broken().code(), Code::kCorrupt);
  ASSERT_TRUE(cursor->Place(3, 3, 0).ok());
  EXPECT_EQ(cursor->position(), 3u);
  EXPECT_EQ(Open()->position(), 3u);
}

TEST_F(DurableCursorTest, AFileThatWasNotFinishedIsANewCursor) {
  Make(5);
  Bytes().pop_back();
  EXPECT_EQ(Open()->position(), std::nullopt);
}

TEST_F(DurableCursorTest, ACursorOfAnotherLogIsRefused) {
  Make(5);
  CursorSlot slot;
  for (const uint64_t offset : kCursorSlotOffsets) {
    if (DecodeCursorSlot(Bytes().data() + offset, &slot) != CursorSlotState::kWhole) continue;
    slot.uuid[0] ^= 1;
    EncodeCursorSlot(slot, Bytes().data() + offset);
  }
  EXPECT_EQ(DurableCursor::Open(file_system_, "memory", "c").status().code(), Code::kNotALog);
}

// Slot by slot, with a checksum that fits.
TEST_F(DurableCursorTest, ASlotOfANewerFormatRefusesTheFileAndOneOfVersion0IsNotWhole) {
  for (const uint64_t version : {uint64_t{0}, uint64_t{4}, uint64_t{1} << 32}) {
    Make(5);
    ASSERT_TRUE(Open()->Commit(7, 100).ok());  // in memory
    uint8_t* const slot = Bytes().data() + kCursorSlotOffsets[0];
    CursorSlot whole;
    ASSERT_EQ(DecodeCursorSlot(slot, &whole), CursorSlotState::kWhole);
    Store64(slot + 8, version);
    Store32(slot + 80, Crc32c(Crc32c(0, slot, 80), slot + 84, 12));
    const Result<std::unique_ptr<DurableCursor>> opened =
        DurableCursor::Open(file_system_, "memory", "c");
    if (version == 0) {
      ASSERT_TRUE(opened.ok());
      EXPECT_EQ((*opened)->position(), 5u);
    } else {
      EXPECT_EQ(opened.status().code(), Code::kVersion);
    }
    file_system_.memory.files.erase("c.cursor");
  }
}

TEST_F(DurableCursorTest, ACommitKeepsTheProofOfAnEarlierRecord) {
  std::unique_ptr<DurableCursor> cursor = Make(0);
  ASSERT_TRUE(cursor->Commit(20, 100).ok());
  ASSERT_TRUE(cursor->Prove({21, 7}).ok());  // not passed yet
  EXPECT_EQ(cursor->proof(), CursorProof());
  ASSERT_TRUE(cursor->Prove({20, 7}).ok());
  EXPECT_EQ(Open()->proof(), (CursorProof{20, 7}));
  ASSERT_TRUE(cursor->Sync(100, false).ok());
  EXPECT_EQ(Open()->proof(), (CursorProof{20, 7}));
  ASSERT_TRUE(cursor->Commit(22, 10).ok());
  EXPECT_EQ(Open()->proof(), (CursorProof{20, 7}));
  file_system_.boot = {2};
  EXPECT_EQ(Open()->position(), 20u);
  EXPECT_EQ(Open()->proof(), (CursorProof{20, 7}));
  ASSERT_TRUE(cursor->Prove({22, 9}).ok());
  cursor = Open();
  EXPECT_EQ(cursor->position(), 20u);
  EXPECT_EQ(cursor->proof(), CursorProof());
  ASSERT_TRUE(cursor->Place(3, 100, 0, 5).ok());
  EXPECT_EQ(Open()->proof(), (CursorProof{3, 5}));
  ASSERT_TRUE(cursor->Place(2, 100, 0).ok());
  EXPECT_EQ(Open()->proof(), CursorProof());
}

TEST_F(DurableCursorTest, SlotsOfEarlierVersionsAreReadAndTheNextStoreUpgradesThem) {
  for (const uint64_t version : {uint64_t{1}, uint64_t{2}}) {
    ASSERT_TRUE(Make(5)->Prove({5, 7}).ok());
    for (const uint64_t offset : kCursorSlotOffsets) {
      uint8_t* const slot = Bytes().data() + offset;
      CursorSlot whole;
      if (DecodeCursorSlot(slot, &whole) != CursorSlotState::kWhole) continue;
      Store64(slot + 8, version);
      Store64(slot + 88, 0);
      if (version == 1) Store32(slot + 84, 0);
      const uint32_t crc = Crc32c(0, slot, 80);
      Store32(slot + 80, version == 1 ? crc : Crc32c(crc, slot + 84, 4));
    }
    const std::unique_ptr<DurableCursor> cursor = Open();
    EXPECT_EQ(cursor->position(), 5u);
    EXPECT_EQ(cursor->proof(), version == 1 ? CursorProof() : (CursorProof{5, 7}));
    ASSERT_TRUE(cursor->Prove({5, 8}).ok());
    EXPECT_EQ(Open()->proof(), (CursorProof{5, 8}));
    file_system_.memory.files.erase("c.cursor");
  }
}

TEST_F(DurableCursorTest, ASeekGoesBothWays) {
  std::unique_ptr<DurableCursor> cursor = Make(5);
  ASSERT_TRUE(cursor->Commit(50, 100).ok());
  ASSERT_TRUE(cursor->Place(10, 100, 0).ok());
  EXPECT_EQ(Open()->position(), 10u);
  file_system_.boot = {2};
  EXPECT_EQ(Open()->position(), 10u);
}

TEST_F(DurableCursorTest, ATruncationOfRecordsThatACursorHasPassedIsFoundLater) {
  Append(20);
  Make(0);
  ASSERT_TRUE(Open()->Commit(15, 20).ok());
  TruncateTo(12);
  Append(20);
  std::unique_ptr<DurableCursor> cursor = Open();
  EXPECT_EQ(cursor->FindCut(0).value(), 12u);
  // A seek is the end of it, and a cut further on does not matter.
  ASSERT_TRUE(cursor->Place(12, 32, cursor->NewestGeneration().value()).ok());
  EXPECT_EQ(cursor->FindCut(0).value(), std::nullopt);
  TruncateTo(25);
  EXPECT_EQ(Open()->FindCut(0).value(), std::nullopt);
  EXPECT_EQ(Open()->FindCut(26).value(), 25u) << "what was read and not committed counts";
}

TEST_F(DurableCursorTest, ACutThatDidNotReachTheCursorIsPassedByItsNextCommit) {
  Append(20);
  std::unique_ptr<DurableCursor> cursor = Make(5);
  TruncateTo(10);
  EXPECT_EQ(cursor->FindCut(5).value(), std::nullopt);
  Append(20);
  ASSERT_TRUE(cursor->Commit(18, 30).ok());
  EXPECT_EQ(Open()->FindCut(0).value(), std::nullopt);
}

TEST_F(DurableCursorTest, ACommitThatKnowsNothingOfACutIsFoundToBeBehindIt) {
  Append(20);
  std::unique_ptr<DurableCursor> cursor = Make(5);
  TruncateTo(10);
  ASSERT_TRUE(cursor->Commit(15, 10).ok());
  EXPECT_EQ(Open()->FindCut(0).value(), 10u);
}

TEST_F(DurableCursorTest, AnOpenThatLostRecordsBelowACursorTellsIt) {
  Append(10);
  Make(0);
  ASSERT_TRUE(Open()->Commit(15, 10).ok());  // five in memory, which are gone
  OpenLog();
  Append(10);
  EXPECT_EQ(Open()->FindCut(0).value(), 10u);
}

TEST_F(DurableCursorTest, AnOpenRecordsACutThatIsDeeperThanTheRecordedOnes) {
  Append(10);
  Make(0);
  ASSERT_TRUE(Open()->Commit(15, 10).ok());  // five in memory, which are gone
  const auto directory = file_system_.OpenDirectory("memory", false);
  ASSERT_TRUE(directory.ok());
  ASSERT_TRUE(RecordCut(**directory, FindLog(**directory)->uuid, 12).ok());
  OpenLog();
  OpenLog();
  EXPECT_EQ(Open()->FindCut(0).value(), 10u);
  EXPECT_EQ(Open()->CurrentGeneration().value(), 2u) << "the second open records none";
}

TEST_F(DurableCursorTest, AnOpenThatLostNothingRecordsNoCut) {
  Append(10);
  Make(10);
  OpenLog();
  EXPECT_EQ(file_system_.memory.files.count(kCutsName), 0u);
}

TEST_F(DurableCursorTest, ATruncationIsRecordedForSnapshotsWithoutCursorsToo) {
  Append(10);
  TruncateTo(10);
  EXPECT_EQ(file_system_.memory.files.count(kCutsName), 0u);
  TruncateTo(5);
  const Result<CutsSince> cuts = FindCutsSince(file_system_, "memory", 0);
  ASSERT_TRUE(cuts.ok());
  EXPECT_EQ(cuts->generation, 1u);
  EXPECT_EQ(cuts->lowest, 5u);
}

TEST_F(DurableCursorTest, TheListShowsEachCursorAndARemovedOneIsGone) {
  Append(20);
  ASSERT_TRUE(Make(0)->Commit(15, 20).ok());
  TruncateTo(12);
  const Result<std::vector<CursorSummary>> list = ListCursors(file_system_, "memory");
  ASSERT_TRUE(list.ok()) << list.status().message();
  ASSERT_EQ(list.value().size(), 1u);
  EXPECT_EQ(list.value()[0].name, "c");
  EXPECT_EQ(list.value()[0].position, 15u);
  EXPECT_EQ(list.value()[0].cut, 12u);
  ASSERT_TRUE(RemoveCursor(file_system_, "memory", "c").ok());
  EXPECT_EQ(RemoveCursor(file_system_, "memory", "c").code(), Code::kNotFound);
  EXPECT_TRUE(ListCursors(file_system_, "memory").value().empty());
}

class DurableCursorFolder : public LogTestFolder {};

TEST_F(DurableCursorFolder, AListWithoutTheTruncationsIsAFailure) {
  std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kPwrite));
  AppendMany(*log, 20, Level::kSync);
  Settle(*log);
  Result<std::unique_ptr<DurableCursor>> cursor =
      DurableCursor::Open(DefaultFileSystem(), PathOf("log"), "c");
  ASSERT_TRUE(cursor.ok()) << cursor.status().message();
  ASSERT_TRUE((*cursor)->Place(15, 15, 0).ok());
  const Result<std::shared_ptr<TruncateJob>> job = log->BeginTruncate(10);
  ASSERT_TRUE(job.ok()) << job.status().message();
  (*job)->RunOnce();
  ASSERT_TRUE(log->FinishTruncate(**job).ok());
  bool lacks_descriptors = true;
  ObservedFileSystem file_system([&](const ObservedCall& call) {
    const bool refused = lacks_descriptors && call.call == "open" && call.name == kCutsName;
    return refused ? Status::System("openat", EMFILE, call.name) : Status::Ok();
  });
  EXPECT_EQ(ListCursors(file_system, PathOf("log")).status().code(), Code::kTooManyFiles);
  lacks_descriptors = false;
  const Result<std::vector<CursorSummary>> list = ListCursors(file_system, PathOf("log"));
  ASSERT_TRUE(list.ok()) << list.status().message();
  EXPECT_EQ(list->at(0).cut, 10u);
  Close(std::move(log));
}

TEST_F(DurableCursorFolder, OneOpenOfACursorOwnsItAtATime) {
  const std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kPwrite));
  Result<std::unique_ptr<DurableCursor>> owner =
      DurableCursor::Open(DefaultFileSystem(), PathOf("log"), "c");
  ASSERT_TRUE(owner.ok()) << owner.status().message();
  ASSERT_TRUE((*owner)->Place(0, 0, 0).ok());
  ASSERT_TRUE((*owner)->Commit(3, 3).ok());
  const Result<std::unique_ptr<DurableCursor>> second =
      DurableCursor::Open(DefaultFileSystem(), PathOf("log"), "c");
  EXPECT_EQ(second.status().code(), Code::kLocked);
  EXPECT_GT(second.status().owner_pid(), 0);
  EXPECT_EQ(RemoveCursor(DefaultFileSystem(), PathOf("log"), "c").code(), Code::kLocked);
  const Result<std::vector<CursorSummary>> list = ListCursors(DefaultFileSystem(), PathOf("log"));
  ASSERT_TRUE(list.ok()) << list.status().message();
  ASSERT_EQ(list.value().size(), 1u);
  EXPECT_TRUE(list.value()[0].owned);
  EXPECT_EQ(list.value()[0].owner_pid, second.status().owner_pid());
  EXPECT_EQ(list.value()[0].position, 3u);
  owner.value().reset();
  Result<std::unique_ptr<DurableCursor>> third =
      DurableCursor::Open(DefaultFileSystem(), PathOf("log"), "c");
  ASSERT_TRUE(third.ok()) << third.status().message();
  EXPECT_EQ((*third)->position(), 3u);
  ASSERT_EQ((*third)->Sync(4, true).value(), 3u);
}

class TakenCursorFileTest : public LogTestFolder {
 protected:
  // Does `change` to the file of an open cursor at 1.
  std::unique_ptr<DurableCursor> OpenAndChange(const std::function<void(std::string)>& change) {
    std::filesystem::remove_all(PathOf("log"));
    std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kPwrite));
    AppendMany(*log, 10, Level::kSync);
    Close(std::move(log));
    Result<std::unique_ptr<DurableCursor>> cursor =
        DurableCursor::Open(DefaultFileSystem(), PathOf("log"), "c");
    EXPECT_TRUE(cursor.ok() && (*cursor)->Place(1, 10, 0).ok());
    EXPECT_TRUE((*cursor)->Commit(5, 10).ok());
    change(PathOf("log") + "/c.cursor");
    return std::move(*cursor);
  }
};

TEST_F(TakenCursorFileTest, ACursorWhoseFileIsTakenAwayStoresNoFurtherPosition) {
  if (folder_->IdOf("log").status().code() == Code::kUnsupported) {
    GTEST_SKIP() << "the system does not identify a file by its name";
  }
  const std::function<void(std::string)> changes[] = {
      [](const std::string& path) { std::filesystem::remove(path); },
      [](const std::string& path) { std::filesystem::rename(path, path + "-moved"); },
      [](const std::string& path) {
        std::filesystem::copy_file(path, path + "-copy");
        std::filesystem::rename(path + "-copy", path);
      },
  };
  for (const auto& change : changes) {
    std::unique_ptr<DurableCursor> cursor = OpenAndChange(change);
    EXPECT_EQ(cursor->Sync(10, false).status().code(), Code::kFileChanged);
    EXPECT_EQ(cursor->Commit(6, 10).code(), Code::kLatched);
    // A proof follows the commits in memory, ten times a second.
    cursor = OpenAndChange(change);
    EXPECT_EQ(cursor->Prove({5, 1}).code(), Code::kFileChanged);
    EXPECT_EQ(cursor->Commit(6, 10).code(), Code::kLatched);
  }
  EXPECT_TRUE(OpenAndChange([](const std::string&) {})->Sync(10, false).ok());
}

}  // namespace
}  // namespace durlog
