#include "cursor/durable_cursor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "cursor/cursor_file.h"
#include "cursor/cursors.h"
#include "cursor/cut_list.h"
#include "recovery/drop_cache.h"

namespace durlog {
namespace {

constexpr size_t kBlockBytes = 4096;

}  // namespace

DurableCursor::DurableCursor(FileSystem& file_system, std::unique_ptr<Directory> directory,
                             std::string name)
    : file_system_(file_system), directory_(std::move(directory)), name_(std::move(name)) {}

Result<std::unique_ptr<DurableCursor>> DurableCursor::Open(FileSystem& file_system,
                                                           const std::string& path,
                                                           const std::string& name,
                                                           const LogUuid& uuid) {
  DURLOG_ASSIGN_OR_RETURN(auto directory, file_system.OpenDirectory(path, false));
  DURLOG_ASSIGN_OR_RETURN(const LogOfCursors log, FindLog(*directory, uuid));
  DURLOG_ASSIGN_OR_RETURN(OwnedCursorFile owned, TakeCursorFile(*directory, CursorFileName(name)));
  std::unique_ptr<DurableCursor> cursor(
      new DurableCursor(file_system, std::move(directory), CursorFileName(name)));
  cursor->uuid_ = log.uuid;
  cursor->lock_ = std::move(owned.lock);
  cursor->file_ = std::move(owned.file);
  DURLOG_RETURN_IF_ERROR(cursor->Load(log.first_seq));
  return cursor;
}

// Removes the file of a new cursor that never got a position or was discarded. The lock is held
// while the name is removed.
DurableCursor::~DurableCursor() {
  if (!discarded_) {
    if (placed_) return;
    const Result<uint64_t> bytes = file_->Size();
    if (!bytes.ok() || *bytes >= kCursorFileBytes) return;
  }
  static_cast<void>(directory_->Remove(name_));
}

Status DurableCursor::Load(uint64_t log_first_seq) {
  // After a failed sync the page cache may show data that the device does not hold.
  DURLOG_RETURN_IF_ERROR(DropCache(*file_).TakeStatus());
  DURLOG_ASSIGN_OR_RETURN(const CursorFileView view, ReadCursorFile(*file_));
  if (view.unfinished) return Status::Ok();
  placed_ = true;
  if (view.newer_version) {
    return Status::Error(Code::kVersion, "was written by a newer version of durlog")
        .WithPath(path());
  }
  if (view.newest && view.newest->uuid != uuid_) {
    return Status::Error(Code::kNotALog, "is a cursor of another log: remove it").WithPath(path());
  }
  DURLOG_RETURN_IF_ERROR(Map());
  if (!view.newest) {
    broken_ = Status::Error(Code::kCorrupt,
                            "the cursor's position cannot be read: seek to the seq to continue at")
                  .WithPath(path());
    return Status::Ok();
  }
  newest_ = *view.newest;
  newest_.boot = file_system_.CurrentBoot();
  newest_.position = PositionIn(newest_.boot, *view.newest, log_first_seq);
  if (newest_.proof.position > newest_.position) newest_.proof = CursorProof{};
  confirmed_ = view.confirmed;
  memory_slot_ = view.newest_at == 0 ? 1 : 0;
  synced_slot_ = view.newest_at == kFirstSyncedSlot ? kFirstSyncedSlot + 1 : kFirstSyncedSlot;
  return Status::Ok();
}

Status DurableCursor::Map() {
  DURLOG_ASSIGN_OR_RETURN(const Capabilities capabilities, directory_->Probe());
  if (!capabilities.overwrites_in_place || !capabilities.survives_map_faults) return Status::Ok();
  Result<std::unique_ptr<Mapping>> mapping = file_->Map(0, kCursorFileBytes);
  if (!mapping.ok() || !(*mapping)->Populate(0, kCursorFileBytes).ok()) return Status::Ok();
  mapping_ = std::move(*mapping);
  return Status::Ok();
}

std::optional<uint64_t> DurableCursor::position() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!placed_ || !broken_.ok()) return std::nullopt;
  return newest_.position;
}

Result<std::optional<uint64_t>> DurableCursor::FindCut(uint64_t reached) {
  DURLOG_ASSIGN_OR_RETURN(const CutList cuts, ReadCuts(*directory_, uuid_));
  const std::lock_guard<std::mutex> guard(mutex_);
  if (newest_.generation > cuts.generation) {
    return Status::Error(Code::kCorrupt,
                         "the list of the log's truncations was lost: seek to the seq to continue "
                         "at")
        .WithPath(path());
  }
  const std::optional<uint64_t> lowest = cuts.LowestSince(newest_.generation);
  if (lowest && *lowest < std::max(reached, newest_.position)) return lowest;
  newest_.generation = std::max(newest_.generation, cuts.Current());
  return std::optional<uint64_t>();
}

Result<uint64_t> DurableCursor::NewestGeneration() const {
  DURLOG_ASSIGN_OR_RETURN(const CutList cuts, ReadCuts(*directory_, uuid_));
  return cuts.generation;
}

Result<uint64_t> DurableCursor::CurrentGeneration() const {
  DURLOG_ASSIGN_OR_RETURN(const CutList cuts, ReadCuts(*directory_, uuid_));
  return cuts.Current();
}

Status DurableCursor::Commit(uint64_t position, uint64_t synced_end) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!failure_.ok()) return LatchedError();
  if (position <= newest_.position) return Status::Ok();
  newest_.position = position;
  newest_.durable = std::max(newest_.durable, std::min(position, synced_end));
  return StoreInMemory();
}

CursorProof DurableCursor::proof() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return newest_.proof;
}

Status DurableCursor::Prove(const CursorProof& proof) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!failure_.ok()) return LatchedError();
  if (proof.position > newest_.position) return Status::Ok();
  newest_.proof = proof;
  DURLOG_RETURN_IF_ERROR(StoreInMemory());
  Status named = CheckName();
  return named.ok() ? std::move(named) : Latch(std::move(named));
}

Status DurableCursor::Confirm() {
  const std::lock_guard<std::mutex> guard(mutex_);
  return confirmed_ ? Status::Ok() : StoreInMemory();
}

// Overwrites the older of the two memory slots, so that the newer slot stays intact if the process
// is killed during the store. A synced position is in a third slot.
Status DurableCursor::StoreInMemory() {
  uint8_t bytes[kCursorSlotBytes];
  DURLOG_RETURN_IF_ERROR(EncodeNext(bytes));
  const size_t slot = memory_slot_;
  memory_slot_ ^= 1;
  Status stored = Store(slot, bytes);
  if (!stored.ok()) return Latch(std::move(stored));
  confirmed_ = true;
  return stored;
}

// Beyond its last value the counter would make the slot older than all others.
Status DurableCursor::EncodeNext(uint8_t bytes[kCursorSlotBytes]) {
  if (newest_.counter == std::numeric_limits<uint64_t>::max()) {
    return Status::Error(Code::kCorrupt,
                         "the counter in the cursor's file is damaged: remove the cursor")
        .WithPath(path());
  }
  ++newest_.counter;
  EncodeCursorSlot(newest_, bytes);
  return Status::Ok();
}

Result<uint64_t> DurableCursor::Sync(uint64_t synced_end, bool full) {
  uint8_t bytes[kCursorSlotBytes];
  uint64_t durable = 0;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (!failure_.ok()) return LatchedError();
    newest_.durable = std::max(newest_.durable, std::min(newest_.position, synced_end));
    durable = newest_.durable;
    DURLOG_RETURN_IF_ERROR(EncodeNext(bytes));
  }
  Status synced = Store(synced_slot_, bytes);
  if (synced.ok()) synced = SyncSlot(synced_slot_, full);
  if (synced.ok()) synced = CheckName();
  synced_slot_ ^= 1;
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!failure_.ok()) return LatchedError();  // a commit in memory has failed during the sync
  if (synced.ok()) return durable;
  return Latch(std::move(synced));
}

Status DurableCursor::Place(uint64_t position, uint64_t synced_end, uint64_t generation,
                            std::optional<uint32_t> checksum) {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (!failure_.ok()) return LatchedError();
    newest_.uuid = uuid_;
    newest_.boot = file_system_.CurrentBoot();
    newest_.generation = generation;
    newest_.position = position;
    newest_.durable = std::min(position, synced_end);
    newest_.proof = checksum ? CursorProof{position, *checksum} : CursorProof{};
    if (!placed_) {
      DURLOG_RETURN_IF_ERROR(MakeFile());
      placed_ = true;
      return Map();
    }
  }
  DURLOG_RETURN_IF_ERROR(Sync(synced_end, false).TakeStatus());
  broken_ = Status::Ok();
  return Status::Ok();
}

// Writes the last byte after the rest is on the device, so that a file of full length is complete.
Status DurableCursor::MakeFile() {
  std::array<uint8_t, kCursorFileBytes> image{};
  newest_.counter = 1;
  EncodeCursorSlot(newest_, image.data() + kCursorSlotOffsets[kFirstSyncedSlot]);
  synced_slot_ = kFirstSyncedSlot + 1;
  const size_t begin = kCursorSlotOffsets[0];
  DURLOG_RETURN_IF_ERROR(file_->WriteAt(begin, image.data() + begin, kCursorFileBytes - 1 - begin));
  DURLOG_RETURN_IF_ERROR(file_->SyncFull());
  DURLOG_RETURN_IF_ERROR(file_->WriteAt(kCursorFileBytes - 1, &image.back(), 1));
  DURLOG_RETURN_IF_ERROR(file_->SyncFull());
  return directory_->Sync();
}

Status DurableCursor::Store(size_t slot, const uint8_t* bytes) {
  const uint64_t offset = kCursorSlotOffsets[slot];
  if (!mapping_) return file_->WriteAt(offset, bytes, kCursorSlotBytes);
  std::memcpy(mapping_->data() + offset, bytes, kCursorSlotBytes);
  if (!mapping_->faulted()) return Status::Ok();
  return Status::Error(Code::kIo, "the kernel could not provide a page of the cursor's file")
      .WithPath(path());
}

Status DurableCursor::SyncSlot(size_t slot, bool full) {
  if (mapping_) {
    DURLOG_RETURN_IF_ERROR(
        mapping_->Sync(static_cast<size_t>(kCursorSlotOffsets[slot]), kBlockBytes));
    return full ? file_->SyncFull() : Status::Ok();
  }
  return full ? file_->SyncFull() : file_->SyncData();
}

// If another program has moved, replaced or deleted the file, the next open will not find the
// positions that are stored in it. An error of the call shows nothing.
Status DurableCursor::CheckName() {
  const Result<FileId> held = file_->Id();
  const Result<FileId> named = directory_->IdOf(name_);
  const bool gone = named.status().code() == Code::kNotFound;
  if (!gone && (!held.ok() || !named.ok() || *held == *named)) return Status::Ok();
  return Status::Error(Code::kFileChanged,
                       std::string("another program has ") +
                           (gone ? "moved or deleted" : "replaced") +
                           " the cursor's file while it was open: put it back, then close the "
                           "cursor and open it again, or seek to the seq to continue at");
}

// A failed sync is final: the kernel may have dropped data that it could not write, and reports
// this only once.
Status DurableCursor::Latch(Status cause) {
  failure_ = std::move(cause).WithPath(path());
  if (failure_.code() != Code::kFileChanged) {
    const std::string reason = failure_.message();
    failure_ = std::move(failure_)
                   .WithCode(Code::kSyncFailed)
                   .WithMessage("writing the cursor's position failed (" + reason +
                                "): the positions before it stay; close the cursor and open it "
                                "again");
  }
  return failure_;
}

Status DurableCursor::LatchedError() const {
  return Status::Error(Code::kLatched, "the cursor was latched by an earlier failure (" +
                                           failure_.message() + "): close it and open it again")
      .WithPath(path());
}

}  // namespace durlog
