// Watches the live page of a log on a separate thread and calls a follower when there is more to
// read.
//
// If the system lets a process wait for another one (see Mapping::WaitOn), the thread sleeps until
// the writer rings the page's bell. It also polls, at intervals that double while nothing changes:
// a killed writer rings no bell, and a busy one rings late. On other systems, and if the page is
// not writable, it only polls.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "live/live_bell.h"
#include "live/live_page_reader.h"
#include "platform/file_system.h"
#include "platform/thread.h"

namespace durlog {

class LiveWatcher {
 public:
  static constexpr uint64_t kNever = UINT64_MAX;

  // `on_change` is called on the watcher's thread, at most once for each Watch(), and must not
  // destroy the watcher. No cut after this call is missed.
  static Result<std::unique_ptr<LiveWatcher>> Start(FileSystem& file_system,
                                                    const std::string& path,
                                                    std::function<void()> on_change);
  // Waits until the thread has ended.
  ~LiveWatcher();
  LiveWatcher(const LiveWatcher&) = delete;
  LiveWatcher& operator=(const LiveWatcher&) = delete;

  // Requests a call of `on_change` as soon as a valid page has a memory_end above `memory_end` or a
  // synced_end above `synced_end` (kNever: not waited for), the page is no longer valid, or there
  // was a cut. `valid_page` is the page that was valid for the caller: the watcher treats it as
  // valid too, even if its writer closed the log before the watcher read the page. Replaces the
  // previous request. Callable from any thread.
  void Watch(uint64_t memory_end, uint64_t synced_end,
             const std::optional<FileId>& valid_page = std::nullopt);
  // Requests a call of `on_change` once the page has another LivePageReader::unlocked_session(), or
  // there was a cut. Otherwise as Watch().
  void WatchUnlocked(uint64_t session);
  void Unwatch();

 private:
  struct Ends {
    uint64_t memory;
    uint64_t synced;
    std::optional<FileId> valid_page;
    uint64_t unlocked_session;  // 0 in a request of Watch()
  };

  LiveWatcher(std::unique_ptr<Directory> directory, std::unique_ptr<LivePageReader> page,
              std::function<void()> on_change)
      : directory_(std::move(directory)),
        page_(std::move(page)),
        on_change_(std::move(on_change)) {}

  void Request(const Ends& ends);
  void Run();
  bool HasChanged(const Ends& seen);
  void FindBell();
  // Sleeps for `micros`, or until the bell rings or the request changes. True if the bell can end
  // the sleep: some systems cannot wait for another process.
  bool Sleep(uint32_t bell_count, uint64_t micros);
  void WakeThread();

  // Used only by the watcher's thread.
  const std::unique_ptr<Directory> directory_;
  const std::unique_ptr<LivePageReader> page_;
  const std::function<void()> on_change_;
  std::optional<FileId> bell_page_;
  bool cut_met_ = false;  // a cut that was not reported, because the request had changed

  std::mutex mutex_;
  std::condition_variable asked_;
  std::optional<Ends> watched_;
  uint64_t request_ = 0;  // grows with each Watch() and Unwatch()
  uint64_t served_ = 0;   // the request that the thread works on
  bool stopping_ = false;
  bool waits_on_bell_ = false;
  std::shared_ptr<LiveBell> bell_;

  std::unique_ptr<Thread> thread_;  // last: it uses all of the above
};

}  // namespace durlog
