// The reader's side of the live page, which shows how far a log that another process writes may be
// read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "live/live_page_layout.h"
#include "platform/file_system.h"
#include "record/segment_header.h"

namespace durlog {

// The state of the log at one moment. The ends are exclusive.
struct LiveView {
  LogUuid uuid{};
  uint64_t first_seq = 0;
  uint64_t memory_end = 0;  // the end of the records acknowledged at `memory`
  uint64_t synced_end = 0;  // the end of the records acknowledged at `sync`
  // Counts since the page was created; 0 in a shared log.
  uint64_t commits = 0;
  uint64_t commit_micros = 0;  // their total
};

// Used by one thread at a time.
class LivePageReader {
 public:
  static Result<std::unique_ptr<LivePageReader>> Open(FileSystem& file_system,
                                                      const std::string& path);

  // The page's content. nullopt if the page is not valid: no writer has held it since this reader
  // first saw it. A page that was valid once stays valid: its content remains true until a writer
  // changes it.
  std::optional<LiveView> Look();
  // The lowest next seq of the cuts that earlier calls of Look() have met; kNoCut for none. Records
  // read at or above it may no longer be in the log. Each call resets it.
  uint64_t TakeCut();
  // The page, if it was valid for this reader at the last call of Look().
  std::optional<FileId> valid_page() const { return is_valid_ ? page_ : std::nullopt; }
  // `page` was valid for another reader, so this reader treats it as valid too.
  void Trust(const std::optional<FileId>& page) { trusted_ = page; }
  // The file that the last call of Look() found; nullopt if there was none.
  const std::optional<FileId>& page() const { return page_; }
  // The session of the page that the last call of Look() found unlocked; 0 if there was no such
  // page. No writer appends to the log before this value changes.
  uint64_t unlocked_session() const { return unlocked_session_; }

 private:
  // Whether a writer held the lock on the page's file during one read of the page.
  enum class Held : uint8_t { kNo, kYes, kUnclear };

  explicit LivePageReader(std::unique_ptr<Directory> directory)
      : directory_(std::move(directory)) {}

  bool Map();
  bool IsNamed();
  Result<std::optional<LockKind>> WritersLock();
  Held ReadWords(LiveView* view);
  uint64_t LowestCutSince(uint64_t since, uint64_t generation) const;
  uint64_t Load(size_t word) const { return words_[word].load(std::memory_order_acquire); }

  const std::unique_ptr<Directory> directory_;
  std::unique_ptr<File> file_;
  std::optional<FileId> page_;
  std::optional<FileId> trusted_;
  std::unique_ptr<Mapping> mapping_;
  const LiveAtomic* words_ = nullptr;
  bool is_valid_ = false;         // once valid, a page stays valid
  bool is_shared_ = false;        // at the last read, members had the log open
  uint64_t last_memory_end_ = 0;  // memory_end at the last call of Look()
  uint64_t unlocked_session_ = 0;

  bool looked_ = false;
  LogUuid uuid_{};
  uint64_t lineage_ = 0;
  uint64_t generation_ = 0;
  uint64_t cut_ = kNoCut;
};

}  // namespace durlog
