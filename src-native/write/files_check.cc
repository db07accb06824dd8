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

// The most bytes of new frames that a check reads.
constexpr uint64_t kReadBytes = 64u << 10;
// How many segments that no longer change are examined at each check.
constexpr size_t kQuietSegments = 64;

// The end of the whole frames from `begin` on, where a frame begins.
struct FramesEndPoint {
  uint64_t offset;
  uint64_t next_seq;
};
FramesEndPoint FramesEnd(const OpenedSegment& segment, uint64_t first_seq, uint64_t begin,
                         uint64_t end) {
  FrameScanner scanner(*segment.file, ContextOf(segment.header, first_seq), end);
  if (begin > kSegmentHeaderBytes) {
    scanner.AcceptAnySeq();
    scanner.Seek(begin, first_seq);
  }
  while (scanner.position() < end) {
    const Result<ScannedFrame> frame = scanner.Next();
    if (!frame.ok()) return {end, scanner.next_seq()};
    if (frame->status != DecodeStatus::kWhole) break;
  }
  return {scanner.position(), scanner.next_seq()};
}

// The first hole among the frames of a segment; UINT64_MAX if there is none.
uint64_t HoleIn(File& file) {
  const Result<uint64_t> hole = file.NextHole(kSegmentHeaderBytes);
  return hole.ok() ? *hole : UINT64_MAX;
}

// The first word of a frame is never zero.
bool IsZeroAt(File& file, uint64_t offset) {
  uint64_t word = 0;
  const Result<size_t> read = file.ReadAt(offset, &word, sizeof word);
  return read.ok() && *read == sizeof word && word == 0;
}

Status ChangedIn(const Directory& directory, const char* how, const std::string& name) {
  return Status::Error(Code::kFileChanged,
                       std::string("another program has ") + how +
                           " this file while the log was open, and records may be lost: put it "
                           "back, or restore it from a copy, then close the log and open it again")
      .WithPath(name.empty() ? directory.path() : directory.PathOf(name));
}

}  // namespace

Status CheckNamed(Directory& directory, const std::string& name,
                  const std::optional<FileId>& held) {
  if (!held) return Status::Ok();
  const Result<FileId> named = directory.IdOf(name);
  if (IsGone(named.status())) return ChangedIn(directory, kMoved, name);
  return Differs(held, named) ? ChangedIn(directory, kReplaced, name) : Status::Ok();
}

Status FilesCheck::Changed(const char* how, const std::string& name) const {
  return ChangedIn(directory_, how, name);
}

// A second look, because the log may have changed its own files during the first one, and because
// the page cache may hold old bytes of a file that is written with O_DIRECT.
void FilesCheck::Run() {
  if (cancelled()) return;
  status_ = Check();
  if (status_.ok()) return;
  drops_cache_ = true;
  status_ = Check();
}

Status FilesCheck::Check() {
  changed_segment_.reset();
  DURLOG_RETURN_IF_ERROR(CheckFolder());
  for (const HeldName& held : held_.names) DURLOG_RETURN_IF_ERROR(CheckName(held));
  for (const HeldSegment& held : held_.open) DURLOG_RETURN_IF_ERROR(CheckSegment(held));
  DURLOG_RETURN_IF_ERROR(CheckNames());
  return CheckQuiet();
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
  if (Differs(held.id, (*file)->Id())) return Changed(kReplaced, held.name);
  const Result<uint64_t> bytes = (*file)->Size();
  return bytes.ok() && *bytes < held.bytes ? Changed(kTruncated, held.name) : Status::Ok();
}

Status FilesCheck::CheckSegment(const HeldSegment& held) {
  changed_segment_ = held.first_seq;
  const std::string name = SegmentName(held.first_seq);
  Result<OpenedSegment> segment = OpenSegmentFile(directory_, name, OpenMode::kRead);
  if (segment.status().code() == Code::kCorrupt) return Changed(kTruncated, name);
  if (!segment.ok()) return IsGone(segment.status()) ? Changed(kMoved, name) : Status::Ok();
  if (Differs(held.id, segment->file->Id())) return Changed(kReplaced, name);
  const Result<uint64_t> bytes = segment->file->Size();
  if (bytes.ok() && *bytes < std::max(held.end, held.bytes)) return Changed(kTruncated, name);
  return CheckFrames(*segment, held);
}

// The file may have been truncated and then made longer again. Where records were, it has a hole,
// or zeros if they were fewer than a block.
Status FilesCheck::CheckFrames(OpenedSegment& segment, const HeldSegment& held) {
  if (held.end <= kSegmentHeaderBytes) return Status::Ok();
  File& file = *segment.file;
  if (drops_cache_ && !file.DropCache().ok()) return Status::Ok();
  const std::string name = SegmentName(held.first_seq);
  if (held.frame_at > 0 && IsZeroAt(file, held.frame_at)) return Changed(kTruncated, name);
  SeenSegments::Open& seen = seen_->open[held.first_seq];
  const uint64_t seen_end = std::max<uint64_t>(seen.end, kSegmentHeaderBytes);
  const auto lacks_frames_from = [&](uint64_t begin) {
    return FramesEnd(segment, held.first_seq, begin, held.end).offset < held.end;
  };
  if (seen_end < held.end && held.end - seen_end <= kReadBytes && lacks_frames_from(seen_end)) {
    return Changed(kTruncated, name);
  }
  const uint64_t hole = HoleIn(file);
  if (hole < held.end && hole != seen.hole) {
    // The payload of a void may be a hole.
    if (lacks_frames_from(kSegmentHeaderBytes)) return Changed(kTruncated, name);
    seen.hole = hole;
  }
  seen.end = held.end;
  return Status::Ok();
}

Status FilesCheck::CheckNames() {
  Result<LogFiles> files = ListLogFiles(directory_);
  // Also fails if a segment was replaced by a folder or a link.
  listed_ = files.ok() ? std::move(files->segments) : std::vector<uint64_t>();
  for (const uint64_t first_seq : held_.segments) {
    if (std::binary_search(listed_.begin(), listed_.end(), first_seq)) continue;
    // A list that is read while names change need not be complete.
    changed_segment_ = first_seq;
    const std::string name = SegmentName(first_seq);
    if (IsGone(directory_.Open(name, OpenMode::kRead).status())) return Changed(kMoved, name);
  }
  changed_segment_.reset();
  if (!files.ok()) listed_ = held_.segments;
  return Status::Ok();
}

// Examines a part of the segments that no longer change, so that the time of a check does not grow
// with their number.
Status FilesCheck::CheckQuiet() {
  const auto end = std::lower_bound(listed_.begin(), listed_.end(), held_.quiet_before);
  auto at = std::lower_bound(listed_.begin(), end, seen_->next_quiet);
  for (size_t count = 0; count < kQuietSegments && at != end && at + 1 != listed_.end(); ++count) {
    DURLOG_RETURN_IF_ERROR(CheckQuiet(at[0], at[1]));
    ++at;
  }
  changed_segment_.reset();
  seen_->next_quiet = at == end ? 0 : *at;
  // Without the segments that were trimmed.
  if (!listed_.empty()) {
    seen_->quiet.erase(seen_->quiet.begin(), seen_->quiet.lower_bound(listed_.front()));
    seen_->open.erase(seen_->open.begin(), seen_->open.lower_bound(listed_.front()));
  }
  return Status::Ok();
}

// `end_seq` is the first seq of the next segment.
Status FilesCheck::CheckQuiet(uint64_t first_seq, uint64_t end_seq) {
  const std::string name = SegmentName(first_seq);
  changed_segment_ = first_seq;
  const auto file = directory_.Open(name, OpenMode::kRead);
  if (!file.ok()) return IsGone(file.status()) ? Changed(kMoved, name) : Status::Ok();
  const Result<uint64_t> bytes = (*file)->Size();
  const Result<uint64_t> modified = (*file)->ModifiedNanos();
  if (!bytes.ok() || !modified.ok()) return Status::Ok();
  if (drops_cache_ && !(*file)->DropCache().ok()) return Status::Ok();
  const std::optional<FileId> id = held_.folder ? IdOf((*file)->Id()) : std::nullopt;
  const SeenSegments::Quiet now{id, *bytes, *modified};
  const auto [entry, is_new] = seen_->quiet.try_emplace(first_seq, now);
  SeenSegments::Quiet& seen = entry->second;
  if (is_new ||
      (seen.id == now.id && seen.bytes == now.bytes && seen.modified_nanos == now.modified_nanos)) {
    return Status::Ok();
  }
  if (seen.id && now.id && !(*seen.id == *now.id)) return Changed(kReplaced, name);
  // A program may have set the file's time, or copied a file over itself.
  Result<OpenedSegment> segment = OpenSegment(directory_, first_seq, OpenMode::kRead);
  if (!segment.ok() && segment.status().code() != Code::kCorrupt) return Status::Ok();
  if (!segment.ok() ||
      FramesEnd(*segment, first_seq, kSegmentHeaderBytes, *bytes).next_seq != end_seq) {
    return Changed(kTruncated, name);
  }
  seen = now;
  return Status::Ok();
}

}  // namespace durlog
