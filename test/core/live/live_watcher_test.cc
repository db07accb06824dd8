// Waiting for a writer in another process: no store is missed, and no follower is called in vain. A
// lost wake-up shows as a test that never ends, because the waits here last an hour.
#include "live/live_watcher.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "live/live_page_writer.h"
#include "log_test_folder.h"
#include "observed_file_system.h"

#ifdef __linux__
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace durlog {
namespace {

[[maybe_unused]] constexpr uint64_t kHourMicros = uint64_t{3600} * 1000 * 1000;

class LiveWatcherTest : public PlatformTest {
 protected:
  void SetUp() override { Begin(&writer_.emplace()); }

  void Begin(LivePageWriter* writer) {
    const Result<Capabilities> capabilities = folder_->Probe();
    ASSERT_TRUE(capabilities.ok());
    writer->Attach(DefaultFileSystem(), *folder_, *capabilities, LogUuid{1});
    writer->StoreEnds(0, 10, 10);
    writer->Announce(DefaultFileSystem());
  }
  FileId PageId() {
    Result<std::unique_ptr<File>> page = folder_->Open(kLiveName, OpenMode::kRead);
    if (!page.ok()) std::abort();
    return *(*page)->Id();
  }
  std::unique_ptr<LiveWatcher> Start(FileSystem& file_system = DefaultFileSystem()) {
    Result<std::unique_ptr<LiveWatcher>> watcher = LiveWatcher::Start(file_system, root_, [this] {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++calls_;
      called_.notify_all();
    });
    if (!watcher.ok()) std::abort();
    return std::move(*watcher);
  }
  void AwaitCalls(int calls) {
    std::unique_lock<std::mutex> lock(mutex_);
    called_.wait(lock, [&] { return calls_ >= calls; });
    EXPECT_EQ(calls_, calls);
  }

  std::optional<LivePageWriter> writer_;
  std::mutex mutex_;
  std::condition_variable called_;
  int calls_ = 0;
};

TEST_F(LiveWatcherTest, CallsOnceForWhatWasAskedFor) {
  const std::unique_ptr<LiveWatcher> watcher = Start();
  watcher->Watch(10, LiveWatcher::kNever);
  writer_->StoreEnds(0, 11, 10);
  AwaitCalls(1);
  writer_->StoreEnds(0, 12, 10);
  watcher->Watch(LiveWatcher::kNever, 10);
  writer_->StoreEnds(0, 13, 10);
  writer_->StoreEnds(0, 13, 13);
  AwaitCalls(2);
}

TEST_F(LiveWatcherTest, WhatIsThereAlreadyIsAChange) {
  writer_->StoreEnds(0, 20, 10);
  const std::unique_ptr<LiveWatcher> watcher = Start();
  watcher->Watch(15, LiveWatcher::kNever);
  AwaitCalls(1);
}

TEST_F(LiveWatcherTest, AnEarlierCutIsAChangeToo) {
  const std::unique_ptr<LiveWatcher> watcher = Start();
  writer_->Cut(5);
  watcher->Watch(10, LiveWatcher::kNever);
  AwaitCalls(1);
  watcher->Watch(10, LiveWatcher::kNever);
  writer_->Cut(3);
  AwaitCalls(2);
}

TEST_F(LiveWatcherTest, LosingPageAndWriterIsAChange) {
  if (kKeepsMappedFiles) GTEST_SKIP() << kMappedFilesStay;
  const std::unique_ptr<LiveWatcher> watcher = Start();
  watcher->Watch(10, LiveWatcher::kNever);
  ASSERT_TRUE(folder_->Remove(kLiveName).ok());
  writer_ = std::nullopt;
  AwaitCalls(1);
  // The bell of the page that the next writer makes is found.
  Begin(&writer_.emplace());
  watcher->Watch(10, LiveWatcher::kNever);
  writer_->StoreEnds(0, 11, 11);
  AwaitCalls(2);
}

TEST_F(LiveWatcherTest, ATrustedPageOutlivesItsWriter) {
  Result<std::unique_ptr<LivePageReader>> page = LivePageReader::Open(DefaultFileSystem(), root_);
  ASSERT_TRUE(page.ok());
  ASSERT_TRUE((*page)->Look().has_value());
  writer_ = std::nullopt;
  const std::unique_ptr<LiveWatcher> watcher = Start();
  watcher->Watch(10, LiveWatcher::kNever, (*page)->valid_page());
  // No follower was called in vain.
  Begin(&writer_.emplace());
  writer_->StoreEnds(0, 11, 11);
  AwaitCalls(1);
  // No reader has accepted the page that replaces it yet.
  const std::optional<FileId> valid_page = (*page)->valid_page();
  if (kKeepsMappedFiles) return;
  ASSERT_TRUE(folder_->Remove(kLiveName).ok());
  writer_ = std::nullopt;
  watcher->Watch(11, LiveWatcher::kNever, valid_page);
  AwaitCalls(2);
}

TEST_F(LiveWatcherTest, WaitsForTheNextWriterOfAnUnlockedPage) {
  const std::unique_ptr<LiveWatcher> watcher = Start();
  writer_ = std::nullopt;
  Result<std::unique_ptr<LivePageReader>> page = LivePageReader::Open(DefaultFileSystem(), root_);
  ASSERT_TRUE(page.ok());
  for (int calls = 1; calls <= 20; ++calls) {
    ASSERT_FALSE((*page)->Look());
    const uint64_t session = (*page)->unlocked_session();
    ASSERT_NE(session, 0u);
    // A writer that opens and closes the log is a change, before the request and after it.
    if (calls % 2 == 0) watcher->WatchUnlocked(session);
    Begin(&writer_.emplace());
    writer_ = std::nullopt;
    if (calls % 2 == 1) watcher->WatchUnlocked(session);
    AwaitCalls(calls);
  }
  if (kKeepsMappedFiles) return;
  ASSERT_FALSE((*page)->Look());
  watcher->WatchUnlocked((*page)->unlocked_session());
  ASSERT_TRUE(folder_->Remove(kLiveName).ok());
  AwaitCalls(21);
}

TEST_F(LiveWatcherTest, TheLatestRequestCounts) {
  const std::unique_ptr<LiveWatcher> watcher = Start();
  watcher->Watch(100, LiveWatcher::kNever);
  watcher->Watch(10, LiveWatcher::kNever);
  writer_->StoreEnds(0, 11, 10);
  AwaitCalls(1);
  watcher->Watch(11, LiveWatcher::kNever);
  watcher->Unwatch();
  writer_->StoreEnds(0, 12, 10);
  watcher->Watch(12, LiveWatcher::kNever);
  writer_->StoreEnds(0, 13, 10);
  AwaitCalls(2);
}

TEST_F(LiveWatcherTest, ACutSurvivesAChangedRequest) {
  const std::unique_ptr<LiveWatcher> watcher = Start();
  for (int i = 0; i < 20000; ++i) {
    int before = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      before = calls_;
    }
    watcher->Watch(10, LiveWatcher::kNever);
    writer_->Cut(5);
    // The thread meets the cut at some moment of this.
    for (int more = 0; more < i % 16; ++more) watcher->Watch(10, LiveWatcher::kNever);
    std::unique_lock<std::mutex> lock(mutex_);
    called_.wait(lock, [&] { return calls_ > before; });
  }
}

TEST_F(LiveWatcherTest, EndsWhileItWaits) {
  for (int i = 0; i < 200; ++i) {
    const std::unique_ptr<LiveWatcher> watcher = Start();
    watcher->Watch(10, 10);
    if (i % 2 == 0) std::this_thread::yield();
  }
  EXPECT_EQ(calls_, 0);
}

TEST_F(LiveWatcherTest, LooksOftenWhereNoBellWakes) {
  std::vector<uint64_t> intervals;
  ObservedFileSystem file_system([&](const ObservedCall& call) {
    if (call.call != "wait-on") return Status::Ok();
    const std::lock_guard<std::mutex> lock(mutex_);
    intervals.push_back(call.length);
    called_.notify_all();
    return Status::Error(Code::kUnsupported, "no process waits for another one here");
  });
  const std::unique_ptr<LiveWatcher> watcher = Start(file_system);
  watcher->Watch(10, LiveWatcher::kNever);
  std::unique_lock<std::mutex> lock(mutex_);
  called_.wait(lock, [&] { return intervals.size() >= 6; });
  intervals.resize(6);
  EXPECT_EQ(intervals, (std::vector<uint64_t>{1000, 2000, 4000, 5000, 5000, 5000}));
}

#ifdef __linux__

TEST_F(LiveWatcherTest, ABellWakesOtherProcesses) {
  const std::unique_ptr<LiveBell> bell = LiveBell::Open(*folder_, PageId());
  ASSERT_NE(bell, nullptr);
  const uint32_t count = bell->Prepare();
  const pid_t child = fork();
  if (child == 0) {
    const std::unique_ptr<LiveBell> theirs = LiveBell::Open(*folder_, PageId());
    theirs->Ring();
    _exit(0);
  }
  while (bell->Prepare() == count) ASSERT_TRUE(bell->Wait(count, kHourMicros));
  waitpid(child, nullptr, 0);
}

TEST_F(LiveWatcherTest, NoStoreIsSleptThrough) {
  constexpr uint64_t kStores = 50000;
  const std::unique_ptr<LiveBell> bell = LiveBell::Open(*folder_, PageId());
  Result<std::unique_ptr<LivePageReader>> page = LivePageReader::Open(DefaultFileSystem(), root_);
  ASSERT_TRUE(bell != nullptr && page.ok() && (*page)->Look());
  std::atomic<uint64_t> seen{10};
  std::thread reader([&] {
    while (seen.load() < 10 + kStores) {
      const uint32_t count = bell->Prepare();
      const uint64_t end = (*page)->Look()->memory_end;
      if (end > seen.load()) {
        seen.store(end);
      } else {
        bell->Wait(count, kHourMicros);
      }
    }
  });
  // The next store waits until this one has been seen: the reader is always about to sleep.
  for (uint64_t end = 11; end <= 10 + kStores; ++end) {
    writer_->StoreMemoryEnd(end);
    writer_->Ring();
    while (seen.load() < end) std::this_thread::yield();
  }
  reader.join();
}

#endif

}  // namespace
}  // namespace durlog
