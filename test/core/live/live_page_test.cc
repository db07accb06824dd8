// The page by which readers elsewhere know how far they may read: words, cuts, and when they count.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "live/live_page_reader.h"
#include "live/live_page_writer.h"
#include "log_test_folder.h"
#include "observed_file_system.h"

#ifndef _WIN32
#include <signal.h>
#include <sys/wait.h>
#endif

namespace durlog {
namespace {

class LivePageTest : public PlatformTest {
 protected:
  static LogUuid UuidOf(uint8_t first) {
    LogUuid uuid{};
    uuid[0] = first;
    return uuid;
  }
  std::unique_ptr<LivePageReader> MakeReader() {
    Result<std::unique_ptr<LivePageReader>> reader =
        LivePageReader::Open(DefaultFileSystem(), root_);
    if (!reader.ok()) std::abort();
    return std::move(reader.value());
  }
  // As an open does.
  void Begin(LivePageWriter* writer, uint64_t next_seq, bool cuts = false,
             const LogUuid& uuid = LogUuid{1}) {
    const Result<Capabilities> capabilities = folder_->Probe();
    ASSERT_TRUE(capabilities.ok());
    ASSERT_TRUE(capabilities->shares_maps) << "on " << capabilities->file_system;
    writer->Attach(DefaultFileSystem(), *folder_, *capabilities, uuid);
    writer->BeginRecovery(next_seq, cuts);
    writer->StoreEnds(0, next_seq, next_seq);
    writer->Announce(DefaultFileSystem());
  }
};

TEST_F(LivePageTest, TheWordsCountWhileTheirWriterLives) {
  const std::unique_ptr<LivePageReader> early = MakeReader();
  EXPECT_FALSE(early->Look());
  auto writer = std::make_unique<LivePageWriter>();
  Begin(writer.get(), 10);
  writer->StoreMemoryEnd(15);
  ASSERT_TRUE(early->Look());
  EXPECT_EQ(early->Look()->memory_end, 15u);
  EXPECT_EQ(early->Look()->synced_end, 10u);
  EXPECT_EQ(early->Look()->uuid, LogUuid{1});
  writer->StoreEnds(3, 20, 20);
  writer.reset();
  ASSERT_TRUE(early->Look());
  EXPECT_EQ(early->Look()->first_seq, 3u);
  EXPECT_EQ(early->Look()->synced_end, 20u);
  EXPECT_FALSE(MakeReader()->Look()) << "no writer holds the page any more";
  EXPECT_EQ(early->TakeCut(), kNoCut);
}

TEST_F(LivePageTest, AReadOfADamagedPageEnds) {
  LivePageWriter writer;
  Begin(&writer, 10);
  {
    std::fstream file(root_ + "/" + kLiveName, std::ios::in | std::ios::out | std::ios::binary);
    const std::string ones((kLiveWords - kLiveGenerationWord) * sizeof(uint64_t), '\xff');
    file.seekp(kLiveGenerationWord * sizeof(uint64_t));
    file.write(ones.data(), static_cast<std::streamsize>(ones.size()));
    ASSERT_TRUE(file.good());
  }
  const std::unique_ptr<LivePageReader> reader = MakeReader();
  ASSERT_TRUE(reader->Look());
  EXPECT_EQ(reader->Look()->memory_end, UINT64_MAX);
}

#ifndef _WIN32
TEST_F(LivePageTest, AKilledWriterLetsGoOfThePage) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    LivePageWriter writer;
    Begin(&writer, 7);
    (void)!write(ready[1], "y", 1);
    for (;;) pause();
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  const std::unique_ptr<LivePageReader> reader = MakeReader();
  ASSERT_TRUE(reader->Look());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(MakeReader()->Look());
  EXPECT_EQ(reader->Look()->memory_end, 7u);
  close(ready[0]);
  close(ready[1]);
}
#endif

TEST_F(LivePageTest, AReaderLearnsOfTheLowestCut) {
  LivePageWriter writer;
  Begin(&writer, 100);
  const std::unique_ptr<LivePageReader> reader = MakeReader();
  ASSERT_TRUE(reader->Look());
  EXPECT_EQ(reader->TakeCut(), kNoCut);
  writer.Cut(50);
  EXPECT_EQ(reader->Look()->memory_end, 50u);
  EXPECT_EQ(reader->Look()->synced_end, 50u);
  EXPECT_EQ(reader->TakeCut(), 50u);
  EXPECT_EQ(reader->TakeCut(), kNoCut);
  writer.StoreEnds(0, 90, 90);
  writer.Cut(80);
  writer.Cut(20);
  writer.StoreEnds(0, 90, 90);
  writer.Cut(70);
  EXPECT_EQ(reader->Look()->memory_end, 70u);
  EXPECT_EQ(reader->TakeCut(), 20u);
}

TEST_F(LivePageTest, TheHighestEndOfAMemberCountsUntilACut) {
  auto writer = std::make_unique<LivePageWriter>();
  Begin(writer.get(), 10);
  const std::unique_ptr<LivePageReader> reader = MakeReader();
  ASSERT_TRUE(reader->Look());
  const Result<std::unique_ptr<File>> page = folder_->Open(kLiveName, OpenMode::kReadWrite);
  ASSERT_TRUE(page.ok());
  const Result<std::unique_ptr<Mapping>> mapping = (*page)->Map(0, kLivePageBytes);
  ASSERT_TRUE(mapping.ok());
  auto* const words = reinterpret_cast<LiveAtomic*>((*mapping)->data());
  for (uint32_t slot = 1; slot <= kLiveMemberEnds; ++slot) {
    RaiseWord(words[MemberEndWord(slot)], 20 + slot);
    EXPECT_EQ(reader->Look()->memory_end, 20u + slot);
  }
  writer->Cut(15);
  EXPECT_EQ(reader->Look()->memory_end, 15u);
  EXPECT_EQ(reader->TakeCut(), 15u);
  // A later writer that finds less than a member has published cuts too.
  RaiseWord(words[MemberEndWord(3)], 30);
  writer.reset();
  LivePageWriter later;
  Begin(&later, 12);
  EXPECT_EQ(reader->Look()->memory_end, 12u);
  EXPECT_EQ(reader->TakeCut(), 12u);
}

TEST_F(LivePageTest, CutsBeyondTheRingAreKept) {
  for (const uint64_t count : {kLiveRingCuts - 1, kLiveRingCuts, kLiveRingCuts + 1,
                               2 * kLiveRingCuts, 3 * kLiveRingCuts + 7}) {
    LivePageWriter writer;
    Begin(&writer, 1000000);
    const std::unique_ptr<LivePageReader> reader = MakeReader();
    ASSERT_TRUE(reader->Look());
    writer.Cut(3);
    for (uint64_t i = 1; i < count; ++i) writer.Cut(1000 + i);
    ASSERT_TRUE(reader->Look());
    EXPECT_EQ(reader->TakeCut(), 3u) << count << " cuts";
    for (uint64_t i = 0; i + 1 < kLiveRingCuts; ++i) writer.Cut(2000 - i);
    ASSERT_TRUE(reader->Look());
    EXPECT_EQ(reader->TakeCut(), 2000 - (kLiveRingCuts - 2)) << "after " << count << " cuts";
  }
}

TEST_F(LivePageTest, ALaterWritersCutsReachEarlierReaders) {
  const std::unique_ptr<LivePageReader> before = MakeReader();
  EXPECT_FALSE(before->Look());
  auto writer = std::make_unique<LivePageWriter>();
  Begin(writer.get(), 100);
  const std::unique_ptr<LivePageReader> attached = MakeReader();
  ASSERT_TRUE(attached->Look());
  writer.reset();
  const std::unique_ptr<LivePageReader> between = MakeReader();
  EXPECT_FALSE(between->Look());
  writer = std::make_unique<LivePageWriter>();
  Begin(writer.get(), 60, true);
  for (const auto* const reader : {&before, &attached, &between}) {
    ASSERT_TRUE((*reader)->Look());
    EXPECT_EQ((*reader)->Look()->memory_end, 60u);
    EXPECT_EQ((*reader)->TakeCut(), 60u);
  }
}

TEST_F(LivePageTest, RecoveryBelowAReadersEndIsACut) {
  auto writer = std::make_unique<LivePageWriter>();
  Begin(writer.get(), 100);
  const std::unique_ptr<LivePageReader> reader = MakeReader();
  ASSERT_TRUE(reader->Look());
  writer = nullptr;
  writer = std::make_unique<LivePageWriter>();
  Begin(writer.get(), 90);
  ASSERT_TRUE(reader->Look());
  EXPECT_EQ(reader->TakeCut(), 90u);
  writer = nullptr;
  writer = std::make_unique<LivePageWriter>();
  Begin(writer.get(), 95);
  ASSERT_TRUE(reader->Look());
  EXPECT_EQ(reader->TakeCut(), kNoCut);
}

TEST_F(LivePageTest, AnUnusablePageIsMadeAnew) {
  if (kKeepsMappedFiles) GTEST_SKIP() << kMappedFilesStay;
  auto writer = std::make_unique<LivePageWriter>();
  Begin(writer.get(), 100);
  const std::unique_ptr<LivePageReader> reader = MakeReader();
  ASSERT_TRUE(reader->Look());
  writer.reset();
  ASSERT_TRUE(folder_->Remove(kLiveName).ok());
  EXPECT_FALSE(reader->Look());
  writer = std::make_unique<LivePageWriter>();
  Begin(writer.get(), 120);
  ASSERT_TRUE(reader->Look());
  EXPECT_EQ(reader->Look()->memory_end, 120u);
  EXPECT_EQ(reader->TakeCut(), kNoCut);
  writer.reset();
  writer = std::make_unique<LivePageWriter>();
  Begin(writer.get(), 130, false, LogUuid{2});
  ASSERT_TRUE(reader->Look());
  EXPECT_EQ(reader->Look()->uuid, LogUuid{2});
  EXPECT_EQ(reader->TakeCut(), 0u) << "nothing that was read is of this log";
  writer.reset();
  {
    Result<std::unique_ptr<File>> file = folder_->Open(kLiveName, OpenMode::kReadWrite);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->Truncate(100).ok());
  }
  writer = std::make_unique<LivePageWriter>();
  Begin(writer.get(), 140, false, LogUuid{2});
  ASSERT_TRUE(reader->Look());
  EXPECT_EQ(reader->Look()->memory_end, 140u);
}

TEST_F(LivePageTest, AWriterReleasesALostPage) {
  if (kKeepsMappedFiles) GTEST_SKIP() << kMappedFilesStay;
  LivePageWriter writer;
  Begin(&writer, 100);
  const std::unique_ptr<LivePageReader> reader = MakeReader();
  ASSERT_TRUE(reader->Look());
  ASSERT_EQ(truncate(PathOf(kLiveName).c_str(), 0), 0);
  writer.StoreEnds(0, 101, 101);
  EXPECT_FALSE(reader->Look());
  EXPECT_FALSE(MakeReader()->Look());
}

TEST_F(LivePageTest, APageThatItsWriterLostIsIgnored) {
  if (kKeepsMappedFiles) GTEST_SKIP() << kMappedFilesStay;
  LivePageWriter writer;
  Begin(&writer, 100);
  const std::unique_ptr<LivePageReader> reader = MakeReader();
  ASSERT_TRUE(reader->Look());
  ASSERT_EQ(truncate(PathOf(kLiveName).c_str(), 0), 0);
  writer.StoreEnds(0, 101, 101);
  ASSERT_TRUE(access(PathOf(kLiveName).c_str(), F_OK) != 0 ||
              truncate(PathOf(kLiveName).c_str(), kLivePageBytes) == 0);
  EXPECT_FALSE(reader->Look());
}

TEST_F(LivePageTest, AnOldCopyOfThePageCutsEverything) {
  std::string older(kLivePageBytes, '\0');
  const std::unique_ptr<LivePageReader> reader = MakeReader();
  {
    LivePageWriter writer;
    Begin(&writer, 100);
    ASSERT_TRUE(reader->Look());
    std::ifstream(PathOf(kLiveName), std::ios::binary).read(older.data(), kLivePageBytes);
    writer.Cut(50);
    ASSERT_TRUE(reader->Look());
    EXPECT_EQ(reader->TakeCut(), 50u);
  }
  std::fstream(PathOf(kLiveName), std::ios::binary | std::ios::in | std::ios::out)
      .write(older.data(), kLivePageBytes);
  LivePageWriter writer;
  Begin(&writer, 100);
  ASSERT_TRUE(reader->Look());
  EXPECT_EQ(reader->TakeCut(), 0u);
}

TEST_F(LivePageTest, WithoutSharedMapsThereIsNoPage) {
  {
    LivePageWriter writer;
    Begin(&writer, 5);
  }
  LivePageWriter writer;
  Capabilities none;
  writer.Attach(DefaultFileSystem(), *folder_, none, LogUuid{1});
  writer.StoreEnds(0, 9, 9);
  writer.Cut(4);
  writer.Announce(DefaultFileSystem());
  EXPECT_FALSE(MakeReader()->Look());
  EXPECT_NE(access(PathOf(kLiveName).c_str(), F_OK), 0) << "a reader may wait for this page";
}

TEST_F(LivePageTest, APageThatItsWriterCannotLockIsNoPage) {
  LivePageWriter().Attach(DefaultFileSystem(), *folder_, *folder_->Probe(), LogUuid{1});
  Result<std::unique_ptr<File>> page = folder_->Open(kLiveName, OpenMode::kReadWrite);
  ASSERT_TRUE(page.ok());
  const Result<std::unique_ptr<FileLock>> lock = (*page)->TryLock();
  ASSERT_TRUE(lock.ok() && *lock);
  LivePageWriter writer;
  Begin(&writer, 10);
  const std::unique_ptr<LivePageReader> reader = MakeReader();
  EXPECT_FALSE(reader->Look());
  EXPECT_EQ(reader->unlocked_session(), 0u);
}

TEST_F(LivePageTest, APageThatCannotBeRemovedIsNotTrustedAnyMore) {
  auto writer = std::make_unique<LivePageWriter>();
  Begin(writer.get(), 100);
  const std::unique_ptr<LivePageReader> reader = MakeReader();
  ASSERT_TRUE(reader->Look());
  writer.reset();
  // As Windows does if a process has mapped the file.
  ObservedFileSystem file_system([](const ObservedCall& call) {
    const bool refused = call.call == "remove" && call.name == kLiveName;
    return refused ? Status::Error(Code::kIo, "mapped") : Status::Ok();
  });
  const Result<std::unique_ptr<Directory>> folder = file_system.OpenDirectory(root_, false);
  ASSERT_TRUE(folder.ok());
  LivePageWriter other;
  other.Attach(file_system, **folder, *(*folder)->Probe(), LogUuid{2});
  other.Announce(file_system);
  EXPECT_FALSE(reader->Look());
  EXPECT_EQ(reader->unlocked_session(), 0u) << "the reader would wait for this page";
  writer = std::make_unique<LivePageWriter>();
  Begin(writer.get(), 110, false, LogUuid{2});
  ASSERT_TRUE(reader->Look());
  EXPECT_EQ(reader->Look()->uuid, LogUuid{2});
}

TEST_F(LivePageTest, AnUnlockedPageHasASessionUntilTheNextWriterOpensTheLog) {
  const std::unique_ptr<LivePageReader> without = MakeReader();
  EXPECT_FALSE(without->Look());
  EXPECT_EQ(without->unlocked_session(), 0u);
  auto writer = std::make_unique<LivePageWriter>();
  Begin(writer.get(), 10);
  EXPECT_TRUE(without->Look());
  EXPECT_EQ(without->unlocked_session(), 0u);
  writer.reset();
  const std::unique_ptr<LivePageReader> reader = MakeReader();
  EXPECT_FALSE(reader->Look());
  const uint64_t session = reader->unlocked_session();
  EXPECT_NE(session, 0u);
  EXPECT_FALSE(reader->Look());
  EXPECT_EQ(reader->unlocked_session(), session);
  for (const bool open : {true, false}) {
    LivePageWriter next;
    Begin(&next, 10);
    if (open) reader->Look();
  }
  EXPECT_TRUE(reader->Look());
  EXPECT_NE(reader->unlocked_session(), session);
  if (kKeepsMappedFiles) return;
  ASSERT_TRUE(folder_->Remove(kLiveName).ok());
  EXPECT_FALSE(reader->Look());
  EXPECT_EQ(reader->unlocked_session(), 0u);
}

// Round r has ends from 100 r + 11 on and is cut to 100 r + 10, so an end tells its round.
TEST_F(LivePageTest, ACutIsSeenBeforeAnyLaterEnd) {
  constexpr uint64_t kRounds = 20000;
  LivePageWriter writer;
  Begin(&writer, 0);
  std::atomic<bool> done{false};
  std::thread reading([&] {
    const std::unique_ptr<LivePageReader> reader = MakeReader();
    uint64_t round = kRounds;
    uint64_t told = kNoCut;
    while (!done.load()) {
      const std::optional<LiveView> view = reader->Look();
      if (!view) continue;
      told = std::min(told, reader->TakeCut());
      // The end is lowered before the generation moves.
      if (view->memory_end % 100 <= 10) continue;
      const uint64_t seen = view->memory_end / 100;
      const uint64_t due = seen == round || round == kRounds ? kNoCut : 100 * round + 10;
      EXPECT_LE(told, due);
      round = seen;
      told = kNoCut;
    }
  });
  for (uint64_t round = 0; round < kRounds; ++round) {
    for (uint64_t end = 11; end < 100; ++end) writer.StoreMemoryEnd(100 * round + end);
    writer.Cut(100 * round + 10);
  }
  done.store(true);
  reading.join();
}

}  // namespace
}  // namespace durlog
