#include "simulated_file.h"

#include <algorithm>
#include <cerrno>

#include "base/bytes.h"

namespace durlog::crash {
namespace {

// How many of the `length` bytes at `offset` precede the last sector boundary in that range.
size_t WholeSectors(uint64_t offset, uint64_t length) {
  const uint64_t end = AlignDown(offset + length, kSectorBytes);
  return end > offset ? static_cast<size_t>(end - offset) : 0;
}

}  // namespace

std::string SimulatedFile::Where(uint64_t offset, uint64_t length) const {
  return name_ + " [" + std::to_string(offset) + ", " + std::to_string(offset + length) + ")";
}

Status SimulatedFile::NoSpace(const char* operation) const {
  return Status::System(operation, ENOSPC, name_);
}

Result<size_t> SimulatedFile::ReadAt(uint64_t offset, void* to, size_t length) {
  DURLOG_RETURN_IF_ERROR(disk_->Enter(Call::kRead, Where(offset, length)));
  if (direct()) {
    CheckAligned("read", offset, to, length);
    return inode_->ReadDevice(offset, to, length);
  }
  read_since_drop_ = true;
  return inode_->Read(offset, to, length);
}

void SimulatedFile::CheckAligned(const char* call, uint64_t offset, const void* at, size_t length) {
  const uint64_t alignment = disk_->traits_.capabilities.direct_alignment;
  if (offset % alignment != 0 || length % alignment != 0 ||
      reinterpret_cast<uintptr_t>(at) % alignment != 0) {
    disk_->Misuse(std::string("a direct ") + call +
                  " that is not aligned: " + Where(offset, length));
  }
}

void SimulatedFile::CheckDirect(uint64_t offset, const void* from, size_t length) {
  CheckAligned("write", offset, from, length);
  // The kernel does not keep the two coherent: writeback of a dirty page of the map may later
  // overwrite the direct write.
  if (inode_->IsMapped(offset, offset + length) && inode_->IsPopulated(offset, offset + length)) {
    disk_->Misuse("a direct write beneath a dirty map: " + Where(offset, length));
  }
}

void SimulatedFile::PutBuffered(uint64_t offset, const uint8_t* from, size_t length) {
  size_t done = 0;
  if (length > kSectorBytes && disk_->random_.OneIn(4)) {
    // The process may be killed, or the power cut, before all of the bytes are in the cache. A
    // sector is never half copied: the kernel checks for signals, and for space, between pages.
    done = WholeSectors(offset, disk_->random_.Below(length));
    inode_->Write(offset, from, done);
    disk_->Interrupt(Call::kWrite);
  }
  inode_->Write(offset + done, from + done, length - done);
}

void SimulatedFile::PutDirect(uint64_t offset, const uint8_t* from, size_t length) {
  if (length == 0) return;
  // Cached contents of these blocks are written first and then dropped from the cache.
  const bool lies = disk_->traits_.lies.commit_sync;
  const bool durable = mode_ == OpenMode::kDirect && !lies;
  if (!lies) {
    if (durable) inode_->SyncRange(offset, offset + length);
    if (!disk_->traits_.lies.cache) inode_->DropCache(offset, offset + length);
  }
  inode_->Write(offset, from, length);
  if (!durable) return;
  if (disk_->random_.OneIn(2)) {
    Random& random = disk_->random_;
    inode_->SyncSectors(offset, offset + length, [&random] { return random.OneIn(2); });
    disk_->Interrupt(Call::kWriteDirect);
  }
  inode_->SyncSectors(offset, offset + length, [] { return true; });
}

Status SimulatedFile::WriteAt(uint64_t offset, const void* from, size_t length) {
  const Call call = direct() ? Call::kWriteDirect : Call::kWrite;
  Status status = disk_->Enter(call, Where(offset, length));
  if (mode_ == OpenMode::kRead) disk_->Misuse("a write to a file opened for reading: " + name_);
  if (offset + length > inode_->capacity()) return Status::System("pwrite", EFBIG, name_);
  if (direct()) CheckDirect(offset, from, length);
  uint64_t until = offset + length;
  // A write that fails may have written some sectors.
  if (!status.ok()) until = offset + WholeSectors(offset, disk_->random_.Below(length + 1));
  uint64_t fits_until = until;
  const bool moves = !disk_->traits_.capabilities.overwrites_in_place;
  bool room = !moves || disk_->pool_.free() > 0;
  if (!room) {
    fits_until = offset;
  } else {
    room = inode_->AllocateBlocks(offset, until, &disk_->pool_, &fits_until);
  }
  const size_t fits = static_cast<size_t>(fits_until - offset);
  const auto* const bytes = static_cast<const uint8_t*>(from);
  if (direct()) {
    PutDirect(offset, bytes, static_cast<size_t>(AlignDown(fits, kSectorBytes)));
  } else {
    PutBuffered(offset, bytes, fits);
  }
  if (!status.ok()) return status;
  return room ? Status::Ok() : NoSpace("pwrite").WithOffset(fits_until);
}

Status SimulatedFile::StartWriteback(uint64_t offset, uint64_t length) {
  DURLOG_RETURN_IF_ERROR(disk_->Enter(Call::kStartWriteback, Where(offset, length)));
  inode_->WriteBackSome(offset, std::min(offset + length, inode_->size()), &disk_->random_);
  return Status::Ok();
}

Status SimulatedFile::Sync(Call call) {
  Status status = disk_->Enter(call, name_);
  if (!status.ok()) {
    inode_->FailSync(0, inode_->capacity(), &disk_->random_);
    return status;
  }
  if (disk_->traits_.lies.commit_sync && call == Call::kSyncData) return Status::Ok();
  const bool had_changes = inode_->HasPendingChanges();
  inode_->SyncAll();
  const bool journal = had_changes || call == Call::kSyncFull;
  if (journal && disk_->traits_.habit == Habit::kOneJournal) {
    disk_->CommitEverythingBefore(UINT64_MAX);
  }
  if (journal && disk_->traits_.habit == Habit::kNameToo) disk_->CommitNameOf(inode_);
  return Status::Ok();
}

Status SimulatedFile::SyncData() { return Sync(Call::kSyncData); }

Status SimulatedFile::SyncFull() { return Sync(Call::kSyncFull); }

Status SimulatedFile::DropCache() {
  DURLOG_RETURN_IF_ERROR(disk_->Enter(Call::kDropCache, name_));
  read_since_drop_ = false;
  if (!disk_->traits_.lies.cache) inode_->DropCache(0, inode_->capacity());
  return Status::Ok();
}

// Not every kernel supports this query.
std::optional<CacheUse> SimulatedFile::CacheUseOf(uint64_t offset, uint64_t length) {
  if (disk_->random_.OneIn(4)) return std::nullopt;
  CacheUse use;
  use.dirty_bytes = inode_->DirtyBytes(offset, offset + length);
  use.cached_bytes = use.dirty_bytes + (read_since_drop_ ? kBlockBytes : 0);
  if (!disk_->traits_.lies.cache && inode_->HasLostSectors()) use.cached_bytes += kBlockBytes;
  return use;
}

std::optional<size_t> SimulatedFile::ReadCachedAt(uint64_t offset, void* to, size_t length) {
  return inode_->Read(offset, to, length);
}

// Some file systems do not report holes.
Result<uint64_t> SimulatedFile::NextData(uint64_t offset) {
  DURLOG_RETURN_IF_ERROR(disk_->Enter(Call::kNextData, name_));
  if (!disk_->traits_.can_allocate) return offset;
  // Dirty pages are data, even if they hold zeros.
  for (uint64_t block = AlignDown(offset, kBlockBytes); block < inode_->size();
       block += kBlockBytes) {
    const uint64_t end = std::min(block + kBlockBytes, inode_->size());
    const uint64_t begin = std::max(block, offset);
    const bool zero = IsAllZero(inode_->cache() + begin, static_cast<size_t>(end - begin));
    if (!zero || inode_->DirtyBytes(block, end) > 0) return begin;
  }
  return UINT64_MAX;
}

Result<uint64_t> SimulatedFile::Size() {
  DURLOG_RETURN_IF_ERROR(disk_->Enter(Call::kSize, name_));
  return inode_->size();
}

Status SimulatedFile::Truncate(uint64_t size) {
  DURLOG_RETURN_IF_ERROR(disk_->Enter(Call::kTruncate, name_ + " to " + std::to_string(size)));
  if (size > inode_->capacity()) return Status::System("ftruncate", EFBIG, name_);
  if (inode_->IsMapped(AlignUp(size, kBlockBytes), inode_->capacity())) {
    disk_->Misuse("a file is cut under its map: " + name_);
  }
  if (size < inode_->size() && disk_->traits_.lies.truncate) {
    inode_->CutCache(size);
  } else {
    inode_->Resize(size);
  }
  inode_->FreeBlocksFrom(size, &disk_->pool_);
  return Status::Ok();
}

Status SimulatedFile::TakeBlocks(bool zeroes, uint64_t offset, uint64_t length) {
  DURLOG_RETURN_IF_ERROR(disk_->Enter(Call::kAllocate, Where(offset, length)));
  const uint64_t end = offset + length;
  if (end > inode_->capacity()) return Status::System("fallocate", EFBIG, name_);
  if (!disk_->traits_.can_allocate) {
    return Status::System("fallocate", EOPNOTSUPP, name_).WithCode(Code::kUnsupported);
  }
  uint64_t fits_until = end;
  const bool room = inode_->AllocateBlocks(offset, end, &disk_->pool_, &fits_until);
  if (zeroes && fits_until > offset) inode_->ZeroRange(offset, fits_until - offset);
  // ext4 extends the file block by block, so a call that fails may still have moved the end.
  if (fits_until > inode_->size()) inode_->Resize(fits_until);
  return room ? Status::Ok() : NoSpace("fallocate");
}

Status SimulatedFile::Allocate(uint64_t offset, uint64_t length) {
  return TakeBlocks(false, offset, length);
}

Status SimulatedFile::ZeroRange(uint64_t offset, uint64_t length) {
  return TakeBlocks(true, offset, length);
}

Result<std::unique_ptr<Mapping>> SimulatedFile::Map(uint64_t offset, size_t length) {
  DURLOG_RETURN_IF_ERROR(disk_->Enter(Call::kMap, Where(offset, length)));
  if (offset % disk_->traits_.capabilities.map_alignment != 0) {
    disk_->Misuse("a map that does not begin at a page: " + Where(offset, length));
  }
  if (offset + length > AlignUp(inode_->size(), kBlockBytes)) {
    disk_->Misuse("a map that reaches past the end of the file: " + Where(offset, length));
  }
  return std::unique_ptr<Mapping>(
      new SimulatedMapping(disk_, inode_, name_, offset, length, process_));
}

Result<bool> SimulatedFile::TryLockRange(LockKind kind, uint64_t offset, uint64_t length) {
  DURLOG_RETURN_IF_ERROR(disk_->Enter(Call::kLock, Where(offset, length)));
  const uint64_t end = length == 0 ? UINT64_MAX : offset + length;
  if (disk_->lock_free_ || inode_->locks().TryLock({this, process_}, kind, offset, end)) {
    return true;
  }
  disk_->Wait();
  return false;
}

Status SimulatedFile::UnlockRange(uint64_t offset, uint64_t length) {
  // The kernel needs nothing to release a lock.
  DURLOG_RETURN_IF_ERROR(disk_->Enter(Call::kLock, "no more " + Where(offset, length), false));
  inode_->locks().Unlock(this, offset, length == 0 ? UINT64_MAX : offset + length);
  return Status::Ok();
}

Result<std::optional<LockKind>> SimulatedFile::RangeLockOfOthers(uint64_t offset, uint64_t length) {
  DURLOG_RETURN_IF_ERROR(disk_->Enter(Call::kLock, "ask for " + Where(offset, length)));
  if (disk_->lock_free_ || disk_->traits_.lies.owners) return std::optional<LockKind>();
  return inode_->locks().OfOthers(this, offset, length == 0 ? UINT64_MAX : offset + length);
}

Status SimulatedFile::Close() { return disk_->Enter(Call::kClose, name_); }

SimulatedMapping::SimulatedMapping(SimulatedDisk* disk, std::shared_ptr<SimulatedInode> inode,
                                   std::string name, uint64_t offset, size_t length,
                                   uint32_t process)
    : disk_(disk),
      inode_(std::move(inode)),
      name_(std::move(name)),
      offset_(offset),
      length_(length),
      process_(process) {
  inode_->AddMapping(offset_, length_, process_);
}

SimulatedMapping::~SimulatedMapping() { inode_->RemoveMapping(offset_, length_, process_); }

Status SimulatedMapping::Populate(size_t offset, size_t length) {
  DURLOG_RETURN_IF_ERROR(disk_->Enter(Call::kPopulate, name_));
  const uint64_t begin = offset_ + offset;
  uint64_t fits_until = 0;
  const bool room = inode_->AllocateBlocks(begin, begin + length, &disk_->pool_, &fits_until);
  inode_->Populate(begin, fits_until);
  return room ? Status::Ok() : Status::System("populate", EFAULT, name_);
}

Status SimulatedMapping::Sync(size_t offset, size_t length) {
  const uint64_t begin = offset_ + offset;
  Status status = disk_->Enter(Call::kSyncMap, name_ + " [" + std::to_string(begin) + ", " +
                                                   std::to_string(begin + length) + ")");
  if (!status.ok()) {
    inode_->FailSync(begin, begin + length, &disk_->random_);
    return status;
  }
  if (!disk_->traits_.lies.commit_sync) inode_->SyncRange(begin, begin + length);
  return Status::Ok();
}

}  // namespace durlog::crash
