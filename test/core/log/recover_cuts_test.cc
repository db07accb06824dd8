// The list of the log's truncations, when a writer opens the log.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "cursor/cursor_file.h"
#include "cursor/cut_list.h"
#include "cursor/durable_cursor.h"
#include "inspect/bounds.h"
#include "log_test_folder.h"
#include "observed_file_system.h"
#include "record/segment_name.h"
#include "segment/open_segment.h"
#include "segment/synced_slot.h"

namespace durlog {
namespace {

class RecoverCutsTest : public LogTestFolder {
 protected:
  RecoverCutsTest() : file_system_([this](const ObservedCall& call) { return Observe(call); }) {}

  // Truncates a log of 300 records after 10 of them, on a file system that passes for
  // `file_system`. Before each call of the file system, another process reads the generation, and
  // then the end.
  void TruncateObserved(const std::string& file_system) {
    ObservedFileSystem files([this](const ObservedCall& call) { return Observe(call); },
                             file_system);
    std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kPwrite), files);
    AppendMany(*log, 300, Level::kSync);
    Settle(*log);
    on_call_ = [this] {
      const Result<CutsSince> cuts = FindCutsSince(DefaultFileSystem(), PathOf("log"), 0);
      const Result<LogBounds> bounds = ReadBounds(DefaultFileSystem(), PathOf("log"));
      ASSERT_TRUE(cuts.ok() && bounds.ok());
      const bool cut = bounds->next_seq < 300;
      saw_recorded_ |= !cut && cuts->lowest.has_value();
      if (cut) {
        EXPECT_EQ(cuts->lowest, 10u) << "the end was cut before this was recorded";
      } else {
        EXPECT_EQ(cuts->generation, 0u) << "a new generation with the end of the previous one";
      }
    };
    Result<std::shared_ptr<TruncateJob>> job = log->BeginTruncate(10);
    ASSERT_TRUE(job.ok()) << job.status().message();
    (*job)->Await();
    on_call_ = nullptr;
    ASSERT_TRUE(log->FinishTruncate(**job).ok());
    EXPECT_TRUE(saw_recorded_);
    EXPECT_EQ(FindCutsSince(DefaultFileSystem(), PathOf("log"), 0)->generation, 1u);
  }

  // The number of synced records that the log's first segment states.
  uint64_t StatedSyncedEnd() {
    const auto directory = DefaultFileSystem().OpenDirectory(PathOf("log"), false);
    const auto opened = OpenSegment(**directory, 0, OpenMode::kRead);
    return ReadSyncedSlot(*opened->file, opened->header.crc_seed()).value();
  }

  int syncs_ = 0;
  bool saw_recorded_ = false;
  std::function<void()> on_call_;
  ObservedCall refused_;  // with ENOSPC
  ObservedFileSystem file_system_;

 private:
  Status Observe(const ObservedCall& call) {
    if (call.name == "cuts" && call.call == "sync-data") ++syncs_;
    if (on_call_) on_call_();
    if (call.name == refused_.name && call.call == refused_.call) {
      return call.call == "write" ? Status::System("pwrite", ENOSPC, call.name)
                                  : Status::OfSync("fdatasync", ENOSPC, call.name);
    }
    return Status::Ok();
  }
};

// The frames that are removed may be the only ones that state that the kept records are synced.
TEST_F(RecoverCutsTest, ATruncationStatesTheSyncedEndBeforeItRemovesAFile) {
  int removed = 0;
  ObservedFileSystem files([this, &removed](const ObservedCall& call) {
    if (call.call == "remove" && call.name.find(".seg") != std::string::npos) {
      ++removed;
      EXPECT_EQ(StatedSyncedEnd(), 10u);
    }
    return Status::Ok();
  });
  std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kPwrite), files);
  AppendMany(*log, 300, Level::kSync);
  Settle(*log);
  EXPECT_EQ(StatedSyncedEnd(), 0u);
  Result<std::shared_ptr<TruncateJob>> job = log->BeginTruncate(10);
  ASSERT_TRUE(job.ok()) << job.status().message();
  (*job)->Await();
  ASSERT_TRUE(log->FinishTruncate(**job).ok());
  EXPECT_GT(removed, 0);
}

// Whatever the errno says: a later sync of the list could succeed although the entry is lost.
TEST_F(RecoverCutsTest, ACutWhoseRecordCannotBeSyncedLatchesTheLog) {
  for (const uint64_t cuts_before : {0u, 1u}) {
    for (const char* const sync : {"sync-full", "sync-data"}) {
      if ((cuts_before == 0) != (std::string(sync) == "sync-full")) continue;
      std::filesystem::remove_all(PathOf("log"));
      std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kPwrite), file_system_);
      AppendMany(*log, 100, Level::kSync);
      Settle(*log);
      for (uint64_t i = 0; i < cuts_before; ++i) {
        Result<std::shared_ptr<TruncateJob>> cut = log->BeginTruncate(90);
        ASSERT_TRUE(cut.ok());
        (*cut)->Await();
        ASSERT_TRUE(log->FinishTruncate(**cut).ok());
      }
      refused_ = {sync, "cuts"};
      Result<std::shared_ptr<TruncateJob>> job = log->BeginTruncate(10);
      ASSERT_TRUE(job.ok());
      (*job)->Await();
      refused_ = {};
      EXPECT_EQ(log->FinishTruncate(**job).code(), Code::kIo);
      EXPECT_TRUE(log->latched());
    }
  }
}

TEST_F(RecoverCutsTest, ACutThatCannotBeRecordedForLackOfSpaceChangesNothing) {
  std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kPwrite), file_system_);
  AppendMany(*log, 100, Level::kSync);
  Settle(*log);
  refused_ = {"write", "cuts"};
  Result<std::shared_ptr<TruncateJob>> job = log->BeginTruncate(10);
  ASSERT_TRUE(job.ok());
  (*job)->Await();
  refused_ = {};
  EXPECT_EQ(log->FinishTruncate(**job).code(), Code::kNoSpace);
  EXPECT_FALSE(log->latched());
  AppendMany(*log, 10, Level::kSync);
  Close(std::move(log));
  ExpectRecords(0, 110);
}

// The simulated disk found it: a cursor that had committed at sync after the cut was newer than the
// list after a power cut, and was reported as damaged.
TEST_F(RecoverCutsTest, ACutThatAKilledWriterHasRecordedIsSyncedByTheNextOpen) {
  std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kPwrite));
  ASSERT_TRUE(log->AppendSync(AsBytes("record"), Level::kSync).ok());
  const LogUuid uuid = log->uuid();
  log.reset();
  const std::unique_ptr<Directory> directory =
      std::move(DefaultFileSystem().OpenDirectory(PathOf("log"), false).value());
  ASSERT_TRUE(RecordCut(*directory, uuid, 0).ok());
  log = Open(SmallOptions(Strategy::kPwrite), file_system_);
  EXPECT_GT(syncs_, 0);
}

TEST_F(RecoverCutsTest, NoProcessReadsTheGenerationOfATruncationWithTheEndBeforeIt) {
  TruncateObserved("ext4");
}

TEST_F(RecoverCutsTest, NorDoesAProcessThatReadsNoLivePage) { TruncateObserved("nfs"); }

// A process may have read the generation and the end while the killed writer truncated the log.
TEST_F(RecoverCutsTest, TheGenerationOfATruncationThatWasKilledBeginsAtTheNextOpen) {
  std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kPwrite));
  AppendMany(*log, 20, Level::kSync);
  Settle(*log);
  const LogUuid uuid = log->uuid();
  log.reset();
  const std::unique_ptr<Directory> directory =
      std::move(DefaultFileSystem().OpenDirectory(PathOf("log"), false).value());
  for (uint64_t generation = 1; generation <= 2; ++generation) {
    ASSERT_TRUE(RecordCut(*directory, uuid, 10).ok());
    const CutsSince killed = FindCutsSince(DefaultFileSystem(), PathOf("log"), 0).value();
    EXPECT_EQ(killed.generation, generation - 1);
    EXPECT_EQ(killed.lowest, 10u);
    log = Open(SmallOptions(Strategy::kPwrite));
    EXPECT_EQ(FindCutsSince(DefaultFileSystem(), PathOf("log"), 0)->generation, generation);
    EXPECT_EQ(FindCutsSince(DefaultFileSystem(), PathOf("log"), generation)->lowest, std::nullopt);
    log.reset();
  }
}

// A descriptor that is missing after the files have changed would latch the log.
TEST_F(RecoverCutsTest, ATruncationThatLacksADescriptorIsRefusedOrComplete) {
  bool struck = true;
  for (int nth = 1; struck; ++nth) {
    ASSERT_LT(nth, 20);
    struck = false;
    std::filesystem::remove_all(PathOf("log"));
    int opens = 0;
    bool counting = false;
    ObservedFileSystem files([&](const ObservedCall& call) {
      if (!counting || call.call != "open" || ++opens != nth) return Status::Ok();
      struck = true;
      return Status::Error(Code::kTooManyFiles, "no descriptor");
    });
    std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kPwrite), files);
    AppendMany(*log, 300, Level::kSync);
    Settle(*log);
    Result<std::shared_ptr<TruncateJob>> job = log->BeginTruncate(10);
    ASSERT_TRUE(job.ok()) << job.status().message();
    counting = true;
    (*job)->Await();
    const Code code = log->FinishTruncate(**job).code();
    EXPECT_EQ(code, struck ? Code::kTooManyFiles : Code::kOk) << nth;
    EXPECT_FALSE(log->latched()) << nth;
    EXPECT_EQ(log->next_seq(), struck ? 300u : 10u) << nth;
  }
}

TEST_F(RecoverCutsTest, ACursorLearnsOfLostRecordsThoughItsNewestPositionIsLostToo) {
  std::unique_ptr<Log> log = Open(SmallOptions(Strategy::kPwrite));
  AppendMany(*log, 20, Level::kMemory);
  Settle(*log);
  {
    auto cursor = DurableCursor::Open(DefaultFileSystem(), PathOf("log"), "c");
    ASSERT_TRUE(cursor.ok()) << cursor.status().message();
    ASSERT_TRUE((*cursor)->Place(0, 0, 0).ok());
    ASSERT_TRUE((*cursor)->Commit(11, 0).ok());
    ASSERT_TRUE((*cursor)->Place(2, 0, 0).ok());
  }
  log.reset();
  std::filesystem::resize_file(PathOf("log") + "/" + SegmentName(0), kSegmentHeaderBytes + 450);
  log = Open(SmallOptions(Strategy::kPwrite));
  const uint64_t end = log->next_seq();
  ASSERT_GT(end, 2u);
  ASSERT_LT(end, 11u);
  {
    std::fstream file(PathOf("log") + "/" + CursorFileName("c"),
                      std::ios::in | std::ios::out | std::ios::binary);
    const std::string zeros(kCursorSlotBytes, '\0');
    file.seekp(static_cast<std::streamoff>(kCursorSlotOffsets[kFirstSyncedSlot + 1]));
    file.write(zeros.data(), static_cast<std::streamsize>(zeros.size()));
    ASSERT_TRUE(file.good());
  }
  auto cursor = DurableCursor::Open(DefaultFileSystem(), PathOf("log"), "c");
  ASSERT_TRUE(cursor.ok()) << cursor.status().message();
  EXPECT_EQ((*cursor)->position(), 11u);
  const Result<std::optional<uint64_t>> cut = (*cursor)->FindCut(0);
  ASSERT_TRUE(cut.ok()) << cut.status().message();
  EXPECT_EQ(*cut, end);
}

}  // namespace
}  // namespace durlog
