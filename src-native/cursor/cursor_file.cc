#include "cursor/cursor_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "recovery/identity.h"
#include "recovery/log_files.h"

namespace durlog {
namespace {

constexpr char kSuffix[] = ".cursor";
constexpr size_t kSuffixBytes = sizeof kSuffix - 1;
constexpr size_t kMaxNameBytes = 64;
constexpr int kReadAttempts = 3;

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

CursorFileView ViewOf(const uint8_t* image, size_t bytes) {
  CursorFileView view;
  view.unfinished = bytes < kCursorFileBytes;
  if (view.unfinished) return view;
  for (size_t i = 0; i < kCursorSlotOffsets.size(); ++i) {
    CursorSlot slot;
    const CursorSlotState state = DecodeCursorSlot(image + kCursorSlotOffsets[i], &slot);
    view.newer_version |= state == CursorSlotState::kNewerVersion;
    if (state != CursorSlotState::kWhole) continue;
    view.confirmed |= i < kFirstSyncedSlot;
    view.whole.push_back(slot);
    if (view.newest && slot.counter <= view.newest->counter) continue;
    view.newest = slot;
    view.newest_at = i;
  }
  return view;
}

// The content of the file on the device. nullopt if the file system has no direct I/O.
Result<std::optional<CursorFileView>> ReadOnDevice(Directory& directory, const std::string& name) {
  DURLOG_ASSIGN_OR_RETURN(const Capabilities capabilities, directory.Probe());
  const uint64_t alignment = capabilities.direct_alignment;
  if (!capabilities.direct_io || alignment > AlignedBuffer::kAlignment) {
    return std::optional<CursorFileView>();
  }
  DURLOG_ASSIGN_OR_RETURN(const auto direct, directory.Open(name, OpenMode::kDirectUnsynced));
  const size_t length = static_cast<size_t>(AlignUp(kCursorFileBytes, alignment));
  AlignedBuffer image;
  if (!image.Reserve(length, 0)) return Status::Error(Code::kOutOfMemory, "no memory to read");
  // On Btrfs, a direct read into memory that was never touched continues in the page cache.
  std::memset(image.data(), 0, length);
  DURLOG_ASSIGN_OR_RETURN(const size_t bytes, direct->ReadAt(0, image.data(), length));
  return std::optional<CursorFileView>(ViewOf(image.data(), bytes));
}

}  // namespace

bool IsCursorName(const std::string& name) {
  return !name.empty() && name.size() <= kMaxNameBytes &&
         std::all_of(name.begin(), name.end(), IsNameByte);
}

std::string CursorFileName(const std::string& name) { return name + kSuffix; }

Result<std::vector<std::string>> ListCursorNames(Directory& directory) {
  DURLOG_ASSIGN_OR_RETURN(const std::vector<FileEntry> entries, directory.List());
  std::vector<std::string> names;
  for (const FileEntry& entry : entries) {
    if (!entry.is_regular || entry.name.size() <= kSuffixBytes) continue;
    const size_t length = entry.name.size() - kSuffixBytes;
    if (entry.name.compare(length, kSuffixBytes, kSuffix) != 0) continue;
    std::string name = entry.name.substr(0, length);
    if (IsCursorName(name)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<CursorFileView> ReadCursorFile(File& file) {
  std::array<uint8_t, kCursorFileBytes> image;
  DURLOG_ASSIGN_OR_RETURN(const size_t bytes, file.ReadAt(0, image.data(), image.size()));
  return ViewOf(image.data(), bytes);
}

// Only synced records are trimmed. So no power cut made the log lose a record below `first_seq` and
// assign its seq to another record.
uint64_t PositionIn(const BootId& boot, const CursorSlot& slot, uint64_t first_seq) {
  if (boot != BootId{} && slot.boot == boot) return slot.position;
  return std::max(slot.durable, std::min(slot.position, first_seq));
}

Result<LogOfCursors> FindLog(Directory& directory, const LogUuid& expected) {
  DURLOG_ASSIGN_OR_RETURN(const LogFiles files, FindLogFiles(directory));
  DURLOG_ASSIGN_OR_RETURN(const LogIdentity identity,
                          IdentifyExpectedLog(directory, files.segments, expected));
  return LogOfCursors{identity.uuid, files.segments.front()};
}

Result<std::vector<CursorPlace>> ListCursorPlaces(Directory& directory, const BootId& boot,
                                                  const LogOfCursors& log) {
  DURLOG_ASSIGN_OR_RETURN(std::vector<std::string> names, ListCursorNames(directory));
  std::vector<CursorPlace> places;
  for (std::string& name : names) {
    CursorPlace place;
    Result<std::unique_ptr<File>> file = directory.Open(CursorFileName(name), OpenMode::kRead);
    if (file.status().code() == Code::kNotFound) continue;  // removed since
    // A file of another user may not be readable. It must not keep the writer from opening the log.
    Result<CursorFileView> read = file.ok() ? ReadCursorFile(**file) : file.TakeStatus();
    if (read.ok()) {
      if (read->unfinished) continue;
      if (read->newest && read->newest->uuid != log.uuid) continue;
      if (read->newest) {
        place.position = PositionIn(boot, *read->newest, log.first_seq);
        place.generation = read->newest->generation;
        place.slots = std::move(read->whole);
      }
    }
    place.name = std::move(name);
    places.push_back(std::move(place));
  }
  return places;
}

// The system reports a failed writeback once to each open of a file that is older than the failure.
// This open is later than the owner's commit, so the success of its sync proves nothing.
Status SyncCursorPlace(Directory& directory, const CursorPlace& place) {
  const std::string name = CursorFileName(place.name);
  Result<std::unique_ptr<File>> file = directory.Open(name, OpenMode::kReadWrite);
  if (file.status().code() == Code::kNotFound) return Status::Ok();  // removed since
  if (!file.ok()) return file.TakeStatus();
  DURLOG_ASSIGN_OR_RETURN(const CursorFileView seen, ReadCursorFile(**file));
  DURLOG_RETURN_IF_ERROR((*file)->SyncData());
  if (!seen.newest) return Status::Ok();
  // The owner may store a slot while the device is read. Then the previous slot is whole on the
  // device, or will be soon.
  for (int attempt = 0; attempt < kReadAttempts; ++attempt) {
    const Result<std::optional<CursorFileView>> read = ReadOnDevice(directory, name);
    if (read.status().code() == Code::kNotFound) return Status::Ok();  // removed since
    if (!read.ok()) return read.status();
    const std::optional<CursorFileView>& held = *read;
    if (!held || (held->newest && held->newest->counter >= seen.newest->counter)) {
      return Status::Ok();
    }
  }
  return Status::Error(Code::kIo,
                       "the device lacks the position that the page cache shows: an earlier write "
                       "to it failed")
      .WithPath(directory.PathOf(name));
}

}  // namespace durlog
