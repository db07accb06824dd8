#include "cursor/cursors.h"

#include <utility>

#include "base/owner_line.h"
#include "cursor/cursor_file.h"
#include "cursor/cut_list.h"

namespace durlog {
namespace {

// An attempt fails only if another process removes the file during it.
constexpr int kTakeAttempts = 100;

Status NoCursor(const Directory& directory, const std::string& name) {
  return Status::Error(Code::kNotFound, "the log has no cursor of this name")
      .WithPath(directory.PathOf(CursorFileName(name)));
}

Status FindOwner(FileSystem& file_system, File& file, CursorSummary* summary) {
  DURLOG_ASSIGN_OR_RETURN(summary->owned, file.IsLocked());
  char line[kOwnerLineBytes];
  DURLOG_ASSIGN_OR_RETURN(const size_t read, file.ReadAt(0, line, sizeof line));
  if (!summary->owned) return Status::Ok();
  summary->owner_pid = OwnerInLine(line, read).IdIn(file_system.PidNamespace());
  return Status::Ok();
}

}  // namespace

// Between the lock and the open, the previous owner may have removed the file of that name.
Result<OwnedCursorFile> TakeCursorFile(Directory& directory, const std::string& file_name) {
  const std::string path = directory.PathOf(file_name);
  for (int attempt = 0; attempt < kTakeAttempts; ++attempt) {
    OwnedCursorFile taken;
    Result<std::unique_ptr<FileLock>> lock = directory.Lock(file_name);
    if (lock.status().code() == Code::kLocked) {
      return std::move(lock.TakeStatus())
          .WithMessage(
              "the cursor is open already, elsewhere or in this process: close it there first")
          .WithPath(path);
    }
    if (!lock.ok()) return lock.TakeStatus();
    taken.lock = std::move(*lock);
    DURLOG_ASSIGN_OR_RETURN(taken.file, directory.OpenOrCreate(file_name));
    const Result<FileId> locked = taken.lock->Id();
    const Result<FileId> opened = taken.file->Id();
    if (!locked.ok() || !opened.ok() || *locked == *opened) return taken;
  }
  return Status::Error(Code::kIo, "the cursor is removed again and again").WithPath(path);
}

Result<std::vector<CursorSummary>> ListCursors(FileSystem& file_system, const std::string& path) {
  DURLOG_ASSIGN_OR_RETURN(const auto directory, file_system.OpenDirectory(path, false));
  DURLOG_ASSIGN_OR_RETURN(const LogOfCursors log, FindLog(*directory));
  DURLOG_ASSIGN_OR_RETURN(const Capabilities capabilities, directory->Probe());
  DURLOG_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListCursorNames(*directory));
  const Result<CutList> cuts = ReadCuts(*directory, log.uuid);
  // A damaged list stays so: the cursors are listed without their cuts.
  if (!cuts.ok() && cuts.status().code() != Code::kCorrupt) return cuts.status();
  std::vector<CursorSummary> summaries;
  for (const std::string& name : names) {
    Result<std::unique_ptr<File>> file = directory->Open(CursorFileName(name), OpenMode::kRead);
    if (file.status().code() == Code::kNotFound) continue;  // removed since
    if (!file.ok()) return file.TakeStatus();
    DURLOG_ASSIGN_OR_RETURN(const CursorFileView view, ReadCursorFile(**file));
    if (view.unfinished) continue;
    CursorSummary summary;
    summary.name = name;
    if (view.newest && view.newest->uuid == log.uuid) {
      summary.position = PositionIn(file_system.CurrentBoot(), *view.newest, log.first_seq);
      if (cuts.ok()) summary.cut = cuts.value().LowestSince(view.newest->generation);
      if (summary.cut && *summary.cut >= *summary.position) summary.cut.reset();
      if (view.newest->proof.position <= *summary.position) summary.proof = view.newest->proof;
      summary.confirmed = view.confirmed;
    }
    if (!view.newest) summary.confirmed = true;  // damaged: a file that is created has a slot
    if (view.newer_version) summary.confirmed = false;
    if (capabilities.shares_maps) {
      DURLOG_RETURN_IF_ERROR(FindOwner(file_system, **file, &summary));
    }
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

Status RemoveCursor(FileSystem& file_system, const std::string& path, const std::string& name) {
  DURLOG_ASSIGN_OR_RETURN(const auto directory, file_system.OpenDirectory(path, false));
  const std::string file_name = CursorFileName(name);
  {
    const Result<std::unique_ptr<File>> there = directory->Open(file_name, OpenMode::kRead);
    if (there.status().code() == Code::kNotFound) return NoCursor(*directory, name);
    if (!there.ok()) return there.status();
  }
  DURLOG_ASSIGN_OR_RETURN(const OwnedCursorFile owned, TakeCursorFile(*directory, file_name));
  DURLOG_RETURN_IF_ERROR(directory->Remove(file_name));
  // Not every cursor has a status, and one that is left does no harm.
  static_cast<void>(directory->Remove(name + ".status"));
  return directory->Sync();
}

}  // namespace durlog
