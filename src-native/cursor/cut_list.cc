#include "cursor/cut_list.h"

#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "checksum/crc32c.h"
#include "cursor/cursor_file.h"
#include "recovery/drop_cache.h"

namespace durlog {
namespace {

constexpr size_t kCutsVersionAt = 8;
constexpr size_t kCutsCountAt = 12;
constexpr size_t kCutsUuidAt = 16;
constexpr size_t kCutsGenerationAt = 32;
constexpr size_t kCutsEntriesAt = 40;
constexpr size_t kEntryBytes = 16;
constexpr size_t kCutsCrcAt = kCutsSlotBytes - 4;
constexpr size_t kCutsPendingAt = kCutsCrcAt - 4;
static_assert(kCutsEntriesAt + kMaxCuts * kEntryBytes <= kCutsPendingAt, "a slot holds every cut");

using CutsFile = std::array<uint8_t, kCutsFileBytes>;

void EncodeCuts(const LogUuid& uuid, const CutList& list, uint8_t* to) {
  std::memset(to, 0, kCutsSlotBytes);
  Store64(to, kCutsMagic);
  Store32(to + kCutsVersionAt, kCutsVersion);
  Store32(to + kCutsCountAt, static_cast<uint32_t>(list.entries.size()));
  std::memcpy(to + kCutsUuidAt, uuid.data(), uuid.size());
  Store64(to + kCutsGenerationAt, list.generation);
  uint8_t* at = to + kCutsEntriesAt;
  for (const CutList::Entry& entry : list.entries) {
    Store64(at, entry.generation);
    Store64(at + 8, entry.next_seq);
    at += kEntryBytes;
  }
  Store32(to + kCutsPendingAt, list.pending);
  Store32(to + kCutsCrcAt, Crc32c(0, to, kCutsCrcAt));
}

bool IsWhole(const uint8_t* slot) {
  return Load64(slot) == kCutsMagic && Load32(slot + kCutsCrcAt) == Crc32c(0, slot, kCutsCrcAt) &&
         Load32(slot + kCutsCountAt) <= kMaxCuts &&
         Load32(slot + kCutsPendingAt) <= Load64(slot + kCutsGenerationAt);
}

CutList DecodeCuts(const uint8_t* from) {
  CutList list;
  list.generation = Load64(from + kCutsGenerationAt);
  list.pending = Load32(from + kCutsPendingAt);
  const uint8_t* at = from + kCutsEntriesAt;
  for (uint32_t i = 0; i < Load32(from + kCutsCountAt); ++i, at += kEntryBytes) {
    list.entries.push_back({Load64(at), Load64(at + 8)});
  }
  return list;
}

bool IsNewer(const uint8_t* slot, const uint8_t* other) {
  const uint64_t generation = Load64(slot + kCutsGenerationAt);
  const uint64_t other_generation = Load64(other + kCutsGenerationAt);
  if (generation != other_generation) return generation > other_generation;
  return Load32(slot + kCutsPendingAt) < Load32(other + kCutsPendingAt);
}

// The slot with the newer list; null if neither is whole.
const uint8_t* NewestSlot(const CutsFile& bytes) {
  const uint8_t* newest = nullptr;
  for (size_t at = 0; at < kCutsFileBytes; at += kCutsSlotBytes) {
    const uint8_t* const slot = bytes.data() + at;
    if (!IsWhole(slot)) continue;
    if (newest == nullptr || IsNewer(slot, newest)) newest = slot;
  }
  return newest;
}

// Null if there is no complete file.
Result<std::unique_ptr<File>> Load(Directory& directory, OpenMode mode, CutsFile* bytes) {
  Result<std::unique_ptr<File>> file = directory.Open(kCutsName, mode);
  if (file.status().code() == Code::kNotFound) return std::unique_ptr<File>();
  if (!file.ok()) return file.TakeStatus();
  DURLOG_ASSIGN_OR_RETURN(const size_t read, (*file)->ReadAt(0, bytes->data(), bytes->size()));
  return read == bytes->size() ? std::move(*file) : std::unique_ptr<File>();
}

Status Damaged(const Directory& directory) {
  return Status::Error(Code::kCorrupt,
                       "the list of the log's truncations cannot be read: note where each cursor "
                       "must continue, remove the file, and seek each cursor")
      .WithPath(directory.PathOf(kCutsName));
}

// Returns an empty list if the file belongs to another log.
Result<CutList> ListIn(const CutsFile& bytes, const Directory& directory, const LogUuid& uuid) {
  const uint8_t* const slot = NewestSlot(bytes);
  if (slot == nullptr) return Damaged(directory);
  if (std::memcmp(slot + kCutsUuidAt, uuid.data(), uuid.size()) != 0) return CutList{};
  if (Load32(slot + kCutsVersionAt) > kCutsVersion) {
    return Status::Error(Code::kVersion, "was written by a newer version of durlog")
        .WithPath(directory.PathOf(kCutsName));
  }
  return DecodeCuts(slot);
}

// Writes the last byte after the rest is on the device, so that a file of full length is complete.
Result<std::unique_ptr<File>> MakeCuts(Directory& directory, const LogUuid& uuid,
                                       const CutList& list) {
  Status removed = directory.Remove(kCutsName);
  if (!removed.ok() && removed.code() != Code::kNotFound) return removed;
  DURLOG_ASSIGN_OR_RETURN(auto file, directory.Open(kCutsName, OpenMode::kCreateNew));
  CutsFile bytes{};
  EncodeCuts(uuid, list, bytes.data());
  DURLOG_RETURN_IF_ERROR(file->WriteAt(0, bytes.data(), kCutsFileBytes - 1));
  DURLOG_RETURN_IF_ERROR(file->SyncFull());
  DURLOG_RETURN_IF_ERROR(file->WriteAt(kCutsFileBytes - 1, &bytes.back(), 1));
  DURLOG_RETURN_IF_ERROR(file->SyncFull());
  DURLOG_RETURN_IF_ERROR(directory.Sync());
  return file;
}

// Overwrites the older of the two slots in `bytes`, the content of `file`.
Status StoreCuts(File& file, const LogUuid& uuid, const CutList& list, CutsFile* bytes) {
  const uint64_t offset = NewestSlot(*bytes) == bytes->data() ? kCutsSlotBytes : 0;
  EncodeCuts(uuid, list, bytes->data());
  DURLOG_RETURN_IF_ERROR(file.WriteAt(offset, bytes->data(), kCutsSlotBytes));
  return file.SyncData();
}

}  // namespace

void CutList::Add(uint64_t next_seq) {
  while (!entries.empty() && entries.back().next_seq >= next_seq) entries.pop_back();
  entries.push_back({++generation, next_seq});
  if (entries.size() <= kMaxCuts) return;
  entries[1].next_seq = entries[0].next_seq;
  entries.erase(entries.begin());
}

std::optional<uint64_t> CutList::LowestSince(uint64_t since) const {
  for (const Entry& entry : entries) {
    if (entry.generation > since) return entry.next_seq;
  }
  return std::nullopt;
}

Result<CutList> ReadCuts(Directory& directory, const LogUuid& uuid) {
  CutsFile bytes;
  DURLOG_ASSIGN_OR_RETURN(const auto file, Load(directory, OpenMode::kRead, &bytes));
  if (!file) return CutList{};
  return ListIn(bytes, directory, uuid);
}

Result<CutsSince> FindCutsSince(FileSystem& file_system, const std::string& path,
                                uint64_t generation) {
  DURLOG_ASSIGN_OR_RETURN(const auto directory, file_system.OpenDirectory(path, false));
  DURLOG_ASSIGN_OR_RETURN(const LogOfCursors log, FindLog(*directory));
  CutsSince found;
  found.uuid = log.uuid;
  const Result<CutList> cuts = ReadCuts(*directory, log.uuid);
  if (cuts.status().code() == Code::kCorrupt) return found;
  if (!cuts.ok()) return cuts.status();
  found.generation = cuts->Current();
  found.lowest = cuts->LowestSince(generation);
  return found;
}

Status StartGeneration(Directory& directory, const LogUuid& uuid, uint64_t generation) {
  CutList list;
  list.generation = generation;
  list.entries.push_back({generation, 0});
  return MakeCuts(directory, uuid, list).status();
}

Status SyncCuts(Directory& directory) {
  const Result<std::unique_ptr<File>> file = directory.Open(kCutsName, OpenMode::kReadWrite);
  if (file.status().code() == Code::kNotFound) return Status::Ok();
  if (!file.ok()) return file.status();
  // Drops the cache: if the writeback of the last cut failed, the list must be read from the
  // device.
  DURLOG_RETURN_IF_ERROR(DropCache(**file).TakeStatus());
  return directory.Sync();
}

Result<std::unique_ptr<File>> RecordCut(Directory& directory, const LogUuid& uuid,
                                        uint64_t next_seq) {
  CutsFile bytes;
  DURLOG_ASSIGN_OR_RETURN(auto file, Load(directory, OpenMode::kReadWrite, &bytes));
  CutList list;
  if (file) {
    DURLOG_ASSIGN_OR_RETURN(list, ListIn(bytes, directory, uuid));
  }
  // No log has so many cuts, and a list with the next generation would count as older.
  if (list.generation >= kMaxSeq) return Damaged(directory);
  list.Add(next_seq);
  ++list.pending;
  // The content of a file that belongs to another log is replaced.
  if (!file || list.generation == 1) return MakeCuts(directory, uuid, list);
  DURLOG_RETURN_IF_ERROR(StoreCuts(*file, uuid, list, &bytes));
  return file;
}

// A damaged list does not keep the log from being opened.
Status FinishCuts(File& file) {
  CutsFile bytes;
  DURLOG_ASSIGN_OR_RETURN(const size_t read, file.ReadAt(0, bytes.data(), bytes.size()));
  const uint8_t* const slot = read == bytes.size() ? NewestSlot(bytes) : nullptr;
  if (slot == nullptr || Load32(slot + kCutsVersionAt) > kCutsVersion) return Status::Ok();
  CutList list = DecodeCuts(slot);
  if (list.pending == 0) return Status::Ok();
  list.pending = 0;
  LogUuid uuid;
  std::memcpy(uuid.data(), slot + kCutsUuidAt, uuid.size());
  return StoreCuts(file, uuid, list, &bytes);
}

Status FinishCuts(Directory& directory) {
  const Result<std::unique_ptr<File>> file = directory.Open(kCutsName, OpenMode::kReadWrite);
  if (file.status().code() == Code::kNotFound) return Status::Ok();
  return file.ok() ? FinishCuts(**file) : file.status();
}

}  // namespace durlog
