#include "cursor/cursor_file.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "recovery/identity.h"
#include "recovery/log_files.h"

namespace durlog {
namespace {

constexpr char kSuffix[] = ".cursor";
constexpr size_t kSuffixBytes = sizeof kSuffix - 1;
constexpr size_t kMaxNameBytes = 64;

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
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
  CursorFileView view;
  DURLOG_ASSIGN_OR_RETURN(const uint64_t bytes, file.Size());
  view.unfinished = bytes < kCursorFileBytes;
  if (view.unfinished) return view;
  for (size_t i = 0; i < kCursorSlotOffsets.size(); ++i) {
    uint8_t block[kCursorSlotBytes];
    DURLOG_ASSIGN_OR_RETURN(const size_t read,
                            file.ReadAt(kCursorSlotOffsets[i], block, sizeof block));
    if (read < sizeof block) continue;
    CursorSlot slot;
    const CursorSlotState state = DecodeCursorSlot(block, &slot);
    view.newer_version |= state == CursorSlotState::kNewerVersion;
    if (state != CursorSlotState::kWhole) continue;
    if (view.newest && slot.counter <= view.newest->counter) continue;
    view.newest = slot;
    view.newest_at = i;
  }
  return view;
}

// Only synced records are trimmed, so in no boot has the log lost a record below `first_seq` and
// assigned its seq to another one.
uint64_t PositionIn(const BootId& boot, const CursorSlot& slot, uint64_t first_seq) {
  if (boot != BootId{} && slot.boot == boot) return slot.position;
  return std::max(slot.durable, std::min(slot.position, first_seq));
}

Result<LogOfCursors> FindLog(Directory& directory) {
  DURLOG_ASSIGN_OR_RETURN(const LogFiles files, ListLogFiles(directory));
  if (files.segments.empty()) {
    return Status::Error(Code::kNotFound, "there is no log in this folder")
        .WithPath(directory.path());
  }
  DURLOG_ASSIGN_OR_RETURN(const LogIdentity identity, IdentifyLog(directory, files.segments));
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
      if (read->newest) place.position = PositionIn(boot, *read->newest, log.first_seq);
    }
    place.name = std::move(name);
    places.push_back(std::move(place));
  }
  return places;
}

Status SyncCursorPlace(Directory& directory, const CursorPlace& place) {
  Result<std::unique_ptr<File>> file =
      directory.Open(CursorFileName(place.name), OpenMode::kReadWrite);
  if (file.status().code() == Code::kNotFound) return Status::Ok();  // removed since
  return file.ok() ? (*file)->SyncData() : file.TakeStatus();
}

Result<uint64_t> HighestPosition(Directory& directory, const BootId& boot,
                                 const LogOfCursors& log) {
  DURLOG_ASSIGN_OR_RETURN(const std::vector<CursorPlace> places,
                          ListCursorPlaces(directory, boot, log));
  uint64_t highest = 0;
  for (const CursorPlace& place : places) highest = std::max(highest, place.position.value_or(0));
  return highest;
}

}  // namespace durlog
