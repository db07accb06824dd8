#include "write/files_check.h"

#include <algorithm>
#include <memory>

#include "record/segment_name.h"
#include "recovery/log_files.h"

namespace durlog {
namespace {

constexpr char kMoved[] = "moved or deleted";
constexpr char kReplaced[] = "replaced";
constexpr char kTruncated[] = "truncated";

// Whether the failed examination of a name shows that its file is gone. Any other error shows
// nothing.
bool IsGone(const Status& status) {
  return status.code() == Code::kNotFound || status.code() == Code::kNotALog;
}

bool Differs(const std::optional<FileId>& held, const Result<FileId>& named) {
  return held && named.ok() && !(*held == *named);
}

// The first word of a header or of a frame is never zero.
bool IsZeroAt(File& file, uint64_t offset) {
  uint64_t word = 0;
  const Result<size_t> read = file.ReadAt(offset, &word, sizeof word);
  return read.ok() && *read == sizeof word && word == 0;
}

}  // namespace

Status FilesCheck::Changed(const char* how, const std::string& name) {
  return Status::Error(Code::kFileChanged,
                       std::string("another program has ") + how +
                           " this file while the log was open, and records may be lost: put it "
                           "back, or restore it from a copy, then close the log and open it again")
      .WithPath(name.empty() ? directory_.path() : directory_.PathOf(name));
}

// A second look, because the log may have changed its own files during the first one.
void FilesCheck::Run() {
  if (cancelled()) return;
  status_ = Check();
  if (!status_.ok()) status_ = Check();
}

Status FilesCheck::Check() {
  changed_segment_.reset();
  DURLOG_RETURN_IF_ERROR(CheckFolder());
  for (const HeldName& held : held_.names) DURLOG_RETURN_IF_ERROR(CheckName(held));
  for (const HeldSegment& held : held_.open) DURLOG_RETURN_IF_ERROR(CheckSegment(held));
  return CheckNames();
}

// The path may lead through links, which may change as long as it leads to the same folder.
Status FilesCheck::CheckFolder() {
  const auto named = file_system_.OpenDirectory(directory_.path(), false);
  if (!named.ok()) return IsGone(named.status()) ? Changed(kMoved, "") : Status::Ok();
  return Differs(held_.folder, (*named)->Id()) ? Changed(kReplaced, "") : Status::Ok();
}

// Without the lock's file, another process could open the log and write to it too. Without the page
// of the members, it could not join them.
Status FilesCheck::CheckName(const HeldName& held) {
  const auto file = directory_.Open(held.name, OpenMode::kRead);
  if (!file.ok()) return IsGone(file.status()) ? Changed(kMoved, held.name) : Status::Ok();
  return Differs(held.id, (*file)->Id()) ? Changed(kReplaced, held.name) : Status::Ok();
}

Status FilesCheck::CheckSegment(const HeldSegment& held) {
  changed_segment_ = held.first_seq;
  const std::string name = SegmentName(held.first_seq);
  const auto file = directory_.Open(name, OpenMode::kRead);
  if (!file.ok()) return IsGone(file.status()) ? Changed(kMoved, name) : Status::Ok();
  if (Differs(held.id, (*file)->Id())) return Changed(kReplaced, name);
  const Result<uint64_t> bytes = (*file)->Size();
  if (bytes.ok() && *bytes < held.end) return Changed(kTruncated, name);
  // The file may have been truncated and then made longer again.
  if (IsZeroAt(**file, 0)) return Changed(kTruncated, name);
  if (held.frame_at > 0 && IsZeroAt(**file, held.frame_at)) return Changed(kTruncated, name);
  return Status::Ok();
}

Status FilesCheck::CheckNames() {
  Result<LogFiles> files = ListLogFiles(directory_);
  if (!files.ok()) return Status::Ok();
  listed_ = std::move(files->segments);
  for (const uint64_t first_seq : held_.segments) {
    if (std::binary_search(listed_.begin(), listed_.end(), first_seq)) continue;
    // A list that is read while names change need not be complete.
    changed_segment_ = first_seq;
    const std::string name = SegmentName(first_seq);
    if (IsGone(directory_.Open(name, OpenMode::kRead).status())) return Changed(kMoved, name);
  }
  changed_segment_.reset();
  return Status::Ok();
}

}  // namespace durlog
