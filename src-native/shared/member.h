// The parts of one writer of a log that its jobs share: its slot among the members, and the
// segments that it has open. Every method may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "platform/file_system.h"
#include "record/segment_name.h"
#include "segment/open_segment.h"
#include "shared/members_lock.h"
#include "shared/members_page.h"
#include "shared/shared_live.h"
#include "shared/shared_segment.h"
#include "write/files_check.h"

namespace durlog {

class Member {
 public:
  // `direct_alignment` is 0 if there is no direct I/O.
  Member(FileSystem& file_system, std::unique_ptr<Directory> directory,
         std::unique_ptr<MembersLock> lock, std::unique_ptr<MembersPage> page,
         uint32_t direct_alignment)
      : file_system_(file_system),
        direct_alignment_(direct_alignment),
        directory_(std::move(directory)),
        lock_(std::move(lock)),
        page_(std::move(page)),
        lock_id_(IdOf(lock_->Id())) {}
  // Closing the page's file releases the slot. Other members then replace the reservations that
  // this member has not published with voids.
  ~Member() = default;
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  // Under PageLock::kJoin. kLocked if every slot is taken.
  Status TakeSlot();
  // This member stores nothing after this call.
  void LeaveSlot();
  // Releases every lock that a process must have in order to write the log. Not left to the
  // destructor, because a job may hold the member longer. If this was the last member, the session
  // has ended.
  void LeaveLog();
  // 0 before TakeSlot() and after LeaveSlot().
  uint32_t slot() const { return slot_.load(std::memory_order_relaxed); }
  // Whether the member that made a reservation from `slot` can still finish it. Must be called
  // after the reservation was read.
  bool IsAlive(uint32_t slot) { return slot == this->slot() || page_->IsSlotTaken(slot); }
  uint32_t CountMembers();

  // The segment, opened at most once while it may still change or has to be synced: the system
  // reports a failed writeback once to each open of a file.
  Result<std::shared_ptr<SharedSegment>> SegmentAt(uint64_t first_seq);
  // The segment whose first seq is in `word`. If it has been trimmed, `word` has a new value, and
  // the segment with that first seq is opened.
  Result<std::shared_ptr<SharedSegment>> SegmentOf(PageWord word);

  // The segments that are open and not trimmed, ascending, for a check of the log's files.
  std::vector<HeldSegment> HeldSegments();

  // kFileChanged if a process that opens the log would find another lock than this member.
  Status CheckLock() { return CheckNamed(*directory_, kLockName, lock_id_); }

  // Opens the file that becomes the next segment, if there is one, for SegmentAt(): a member that
  // has a segment open before any record is stored there needs no ReadBack.
  void HoldSpare();

  // A thread holds syncing() while it has PageLock::kSync, and rotating() while it has kRotate: a
  // lock of the page belongs to the open file, and so to all threads of this member.
  std::mutex& syncing() { return syncing_; }
  std::mutex& rotating() { return rotating_; }

  FileSystem& file_system() { return file_system_; }
  uint32_t direct_alignment() const { return direct_alignment_; }
  Directory& directory() { return *directory_; }
  MembersLock& lock() { return *lock_; }
  MembersPage& page() { return *page_; }
  SharedLive& live() { return live_; }

 private:
  FileSystem& file_system_;
  const uint32_t direct_alignment_;
  const std::unique_ptr<Directory> directory_;
  const std::unique_ptr<MembersLock> lock_;
  const std::unique_ptr<MembersPage> page_;
  const std::optional<FileId> lock_id_;
  SharedLive live_;
  std::atomic<uint32_t> slot_{0};
  std::mutex syncing_;
  std::mutex rotating_;
  std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<SharedSegment>> segments_;
  OpenedSegment spare_;  // without a file if there is none
};

}  // namespace durlog
