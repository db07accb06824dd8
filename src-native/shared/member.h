// What one writer of a log has in common with its jobs: its place among the members, and the
// segments that it has open. From any thread.
#ifndef DURLOG_SHARED_MEMBER_H_
#define DURLOG_SHARED_MEMBER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "platform/file_system.h"
#include "shared/members_page.h"
#include "shared/shared_live.h"
#include "shared/shared_segment.h"

namespace durlog {

class Member {
 public:
  // `direct_alignment` is 0 if there is no direct I/O.
  Member(FileSystem& file_system, std::unique_ptr<Directory> directory, std::unique_ptr<File> lock,
         std::unique_ptr<MembersPage> page, uint32_t direct_alignment)
      : file_system_(file_system),
        direct_alignment_(direct_alignment),
        directory_(std::move(directory)),
        lock_(std::move(lock)),
        page_(std::move(page)) {}
  // The slot's lock goes with the page's file, so that what this member has left reserved is made
  // void by the others.
  ~Member() = default;
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  // Under PageLock::kJoin. kLocked where every slot is taken.
  Status TakeSlot();
  // Nothing is stored by this member from here on.
  void LeaveSlot();
  uint32_t slot() const { return slot_; }
  // Whether the member who has reserved something as `slot` can still finish it. To be asked after
  // the reservation was seen.
  bool IsAlive(uint32_t slot) { return slot == slot_ || page_->IsSlotTaken(slot); }
  // How many members there are.
  uint32_t CountMembers();

  // The segment, opened at most once while it may still change or has to be synced: the system
  // reports a failed writeback once to each open of a file.
  Result<std::shared_ptr<SharedSegment>> SegmentAt(uint64_t first_seq);

  // Held by the thread that has PageLock::kSync: the lock is the open file's, and so every thread's
  // of this member.
  std::mutex& syncing() { return syncing_; }

  FileSystem& file_system() { return file_system_; }
  uint32_t direct_alignment() const { return direct_alignment_; }
  Directory& directory() { return *directory_; }
  // The file `lock`, on which each member has a shared lock.
  File& lock() { return *lock_; }
  MembersPage& page() { return *page_; }
  SharedLive& live() { return live_; }

 private:
  FileSystem& file_system_;
  const uint32_t direct_alignment_;
  const std::unique_ptr<Directory> directory_;
  const std::unique_ptr<File> lock_;
  const std::unique_ptr<MembersPage> page_;
  SharedLive live_;
  uint32_t slot_ = 0;
  std::mutex syncing_;
  std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<SharedSegment>> segments_;
};

}  // namespace durlog

#endif  // DURLOG_SHARED_MEMBER_H_
