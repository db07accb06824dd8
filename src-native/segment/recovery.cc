#include "segment/recovery.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "record/segment_name.h"

namespace durlog {
namespace {

constexpr size_t kRewriteStepBytes = 1u << 20;
// Truncating zeroes the rest of the file system's block.
constexpr uint64_t kBlockBytes = 4096;
// What every device writes as a whole.
constexpr uint64_t kSectorBytes = 512;

// Of a segment whose frames cannot be checked only the name is known, and how many there may be.
Result<ScannedSegment> Unreadable(Directory& directory, uint64_t first_seq, Status reason) {
  DURLOG_ASSIGN_OR_RETURN(const std::unique_ptr<File> file,
                          directory.Open(SegmentName(first_seq), OpenMode::kRead));
  ScannedSegment segment;
  segment.first_seq = first_seq;
  segment.unreadable = std::move(reason);
  DURLOG_ASSIGN_OR_RETURN(segment.file_bytes, file->Size());
  segment.scan.damaged = true;
  segment.scan.end_offset = 0;
  segment.scan.next_seq = first_seq;
  const uint64_t most = std::min(segment.file_bytes, kMaxSegmentBytes);
  segment.scan.next_after = first_seq + most / kMinRecordFrameBytes;
  return segment;
}

Result<ScannedSegment> ScanOne(Directory& directory, uint64_t first_seq, OpenMode mode,
                               const LogUuid& uuid) {
  Result<OpenedSegment> opened = OpenSegment(directory, first_seq, mode);
  Status status =
      opened.ok() ? CheckIdentity(directory, first_seq, opened->header, uuid) : opened.TakeStatus();
  if (status.code() == Code::kCorrupt) return Unreadable(directory, first_seq, std::move(status));
  if (!status.ok()) return status;
  ScannedSegment segment;
  segment.first_seq = first_seq;
  segment.header = opened->header;
  segment.file = std::move(opened->file);
  DURLOG_ASSIGN_OR_RETURN(segment.file_bytes, segment.file->Size());
  DURLOG_ASSIGN_OR_RETURN(segment.scan,
                          ScanSegment(*segment.file, ContextOf(segment.header, first_seq)));
  return segment;
}

// Newest to oldest, until the data says that everything older is synced.
Status ScanBackwards(Directory& directory, OpenMode mode, ScanExtent extent, RecoveryPlan* plan) {
  for (size_t i = plan->files.segments.size(); i-- > 0;) {
    DURLOG_ASSIGN_OR_RETURN(ScannedSegment segment,
                            ScanOne(directory, plan->files.segments[i], mode, plan->identity.uuid));
    if (extent == ScanExtent::kEverything) segment.file.reset();
    plan->report.scanned_bytes += segment.scan.bytes_read;
    plan->known_synced = std::max(plan->known_synced, segment.scan.watermark);
    const uint64_t first_seq = segment.first_seq;
    plan->scanned.push_back(std::move(segment));
    if (extent == ScanExtent::kUnsyncedEnd && plan->known_synced >= first_seq) break;
  }
  std::reverse(plan->scanned.begin(), plan->scanned.end());
  return Status::Ok();
}

// Index of the first scanned segment that cannot be read or else does not lead to the next one;
// size() for none.
size_t FindDamage(const std::vector<ScannedSegment>& scanned) {
  const auto unreadable =
      std::find_if(scanned.begin(), scanned.end(),
                   [](const ScannedSegment& segment) { return !segment.unreadable.ok(); });
  if (unreadable != scanned.end()) return static_cast<size_t>(unreadable - scanned.begin());
  for (size_t i = 0; i < scanned.size(); ++i) {
    const bool last = i + 1 == scanned.size();
    if (scanned[i].scan.damaged) {
      // Behind the end of a sealed segment nothing matters that is not a record of its own.
      if (last || scanned[i].scan.next_seq != scanned[i + 1].first_seq) return i;
    } else if (!last && scanned[i].scan.next_seq != scanned[i + 1].first_seq) {
      return i;
    }
  }
  return scanned.size();
}

// Behind the damage: the first whole record's seq, and how many there are.
struct Behind {
  uint64_t first = 0;
  uint64_t records = 0;
};

Behind CountBehind(const std::vector<ScannedSegment>& scanned, size_t damaged) {
  Behind behind{scanned[damaged].scan.first_after, scanned[damaged].scan.records_after};
  for (size_t i = damaged + 1; i < scanned.size(); ++i) {
    const SegmentScan& scan = scanned[i].scan;
    const uint64_t records = scan.records + scan.records_after;
    if (behind.records == 0 && records > 0) {
      behind.first = scan.records > 0 ? scanned[i].first_seq : scan.first_after;
    }
    behind.records += records;
  }
  return behind;
}

void PlanCuts(RecoveryPlan* plan, size_t damaged) {
  // Newest first: whenever the power goes, what is left is a log without its end, never one with
  // a gap.
  for (size_t i = plan->scanned.size(); i-- > damaged;) {
    const ScannedSegment& segment = plan->scanned[i];
    Cut cut;
    cut.name = SegmentName(segment.first_seq);
    cut.remove = i > damaged;
    cut.offset = cut.remove ? 0 : segment.scan.end_offset;
    cut.bytes = segment.file_bytes - std::min(segment.file_bytes, cut.offset);
    plan->report.discarded_bytes += cut.bytes;
    plan->cuts.push_back(std::move(cut));
  }
}

// What no crash leaves behind, whatever had been synced. Among segments of several logs a cut could
// also turn the vote on whose folder it is.
bool IsNoCrash(const RecoveryPlan& plan, size_t damaged) {
  const std::vector<ScannedSegment>& scanned = plan.scanned;
  if (!plan.identity.undisputed || !scanned[damaged].unreadable.ok()) return true;
  const bool overlaps = damaged + 1 < scanned.size() &&
                        scanned[damaged].scan.next_seq > scanned[damaged + 1].first_seq;
  return overlaps || std::any_of(scanned.begin(), scanned.end(),
                                 [](const ScannedSegment& s) { return s.scan.gave_up; });
}

void Classify(RecoveryPlan* plan, size_t damaged) {
  const ScannedSegment& segment = plan->scanned[damaged];
  const uint64_t damage_seq = segment.scan.next_seq;
  const Behind behind = CountBehind(plan->scanned, damaged);
  RecoveryReport& report = plan->report;
  report.segment = SegmentName(segment.first_seq);
  report.offset = segment.scan.end_offset;
  report.detail = segment.unreadable.ok() ? DescribeDecodeStatus(segment.scan.damage)
                                          : segment.unreadable.message();
  if (damage_seq < plan->known_synced || IsNoCrash(*plan, damaged)) {
    report.state = RecoveryState::kCorrupt;
    report.lost_first = damage_seq;
    const uint64_t next_whole = behind.records > 0 ? behind.first : plan->known_synced;
    report.lost_last = std::max(next_whole, damage_seq + 1) - 1;
    const ScannedSegment& last = plan->scanned.back();
    const uint64_t free_name = last.first_seq + (last.empty() ? 0 : 1);
    plan->next_seq = std::max({plan->known_synced, damage_seq, free_name});
    // In front of the damage as well: segments that overlap hold what lies behind it, too.
    for (const ScannedSegment& each : plan->scanned) {
      plan->next_seq = std::max({plan->next_seq, each.scan.next_seq, each.scan.next_after});
    }
    return;
  }
  report.state = behind.records > 0 ? RecoveryState::kHole : RecoveryState::kTornTail;
  report.discarded_records = behind.records;
  plan->next_seq = damage_seq;
}

// Same bytes over themselves: a crash in between leaves each sector as it was or as it is.
Status RewriteRange(File& file, uint64_t begin, uint64_t end) {
  AlignedBuffer buffer;
  if (!buffer.Reserve(kRewriteStepBytes, 0)) {
    return Status::Error(Code::kOutOfMemory, "no memory to rewrite the unsynced end");
  }
  while (begin < end) {
    const size_t step = static_cast<size_t>(std::min<uint64_t>(kRewriteStepBytes, end - begin));
    DURLOG_ASSIGN_OR_RETURN(const size_t read, file.ReadAt(begin, buffer.data(), step));
    if (read == 0) break;
    DURLOG_RETURN_IF_ERROR(file.WriteAt(begin, buffer.data(), read));
    begin += read;
  }
  return Status::Ok();
}

Result<uint64_t> OffsetOfSeq(const ScannedSegment& segment, uint64_t seq) {
  FrameScanner scanner(*segment.file, ContextOf(segment.header, segment.first_seq),
                       segment.scan.end_offset);
  while (scanner.next_seq() < seq && scanner.position() < segment.scan.end_offset) {
    DURLOG_ASSIGN_OR_RETURN(const ScannedFrame frame, scanner.Next());
    if (frame.status != DecodeStatus::kWhole) break;
  }
  return scanner.position();
}

// The marker that says all is synced may itself be in the page cache only, where its writer was
// killed: a direct write behind it would leave it there, and a gap on the device.
Status SyncKept(const ScannedSegment& segment, uint64_t known_synced) {
  if (segment.scan.next_seq < known_synced) return Status::Ok();
  uint64_t begin = segment.scan.records_end;
  if (segment.scan.next_seq > known_synced) {
    DURLOG_ASSIGN_OR_RETURN(begin, OffsetOfSeq(segment, known_synced));
  }
  if (begin == segment.scan.end_offset) return Status::Ok();
  DURLOG_RETURN_IF_ERROR(RewriteRange(*segment.file, begin, segment.scan.end_offset));
  return segment.file->SyncData();
}

// Says that every record below `seq` is on the device.
void EncodeMarker(const SegmentHeader& header, uint64_t seq, uint8_t* to) {
  FrameFields fields;
  fields.state = FrameState::kMarker;
  fields.seq = seq;
  EncodeFrameHeader(fields, Bytes{}, header.crc_seed(), to);
}

// A marker where the log is going to end, and it behind it: what is cut may be all that says how
// much in front of it was synced, and damage there must not pass for another torn tail. False
// where there is no room for it: the next open knows less then, and nothing is lost.
Result<bool> MarkSynced(ScannedSegment* segment) {
  const uint64_t at = segment->scan.end_offset;
  if (at + kFrameHeaderBytes > segment->header.segment_bytes) return false;
  uint8_t marker[kFrameHeaderBytes];
  EncodeMarker(segment->header, segment->scan.next_seq, marker);
  Status written = segment->file->WriteAt(at, marker, sizeof marker);
  // The cut makes room.
  if (written.code() == Code::kNoSpace) return false;
  DURLOG_RETURN_IF_ERROR(std::move(written));
  DURLOG_RETURN_IF_ERROR(segment->file->SyncData());
  segment->scan.end_offset = at + sizeof marker;
  return true;
}

// `allocated_bytes` is 0 where the file has no blocks but those that were written.
Status CutAndAllocate(File& file, uint64_t offset, uint64_t allocated_bytes) {
  DURLOG_RETURN_IF_ERROR(file.Truncate(offset));
  if (allocated_bytes > 0) {
    Status allocated = file.Allocate(Preallocation::kFallocate, 0, allocated_bytes);
    if (allocated.code() == Code::kNoSpace) {
      // Without blocks the segment still works: it grows as it is written. What a failed
      // allocation did take is given back.
      DURLOG_RETURN_IF_ERROR(file.Truncate(offset));
    } else if (!allocated.ok() && allocated.code() != Code::kUnsupported) {
      return allocated;
    }
  }
  return file.SyncFull();
}

// The file's end becomes `last`, at `offset`.
//
// Truncating within a block is two writes, the rest of the block as zeros and the size, and the
// zeros may get there alone: a gap in front of records that are known to be synced. So the blocks
// behind go first, then this block's sectors from its end on, each before the one in front of it.
Status CutSectors(File& file, uint64_t offset, Bytes last, uint64_t segment_bytes) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t file_bytes, file.Size());
  const uint64_t last_end = offset + last.size;
  const uint64_t end = std::max(std::min(AlignUp(last_end, kBlockBytes), file_bytes), last_end);
  DURLOG_RETURN_IF_ERROR(file.Truncate(end));
  DURLOG_RETURN_IF_ERROR(file.SyncFull());
  std::vector<uint8_t> image(static_cast<size_t>(end - offset));
  std::copy(last.data, last.data + last.size, image.begin());
  for (uint64_t at = end; at > offset;) {
    const uint64_t begin = std::max(AlignDown(at - 1, kSectorBytes), offset);
    const uint8_t* const from = image.data() + (begin - offset);
    DURLOG_RETURN_IF_ERROR(file.WriteAt(begin, from, static_cast<size_t>(at - begin)));
    DURLOG_RETURN_IF_ERROR(file.SyncData());
    at = begin;
  }
  return CutAndAllocate(file, last_end, file_bytes >= segment_bytes ? segment_bytes : 0);
}

}  // namespace

Result<LogFiles> ListLogFiles(Directory& directory) {
  DURLOG_ASSIGN_OR_RETURN(const std::vector<FileEntry> entries, directory.List());
  LogFiles files;
  for (const FileEntry& entry : entries) {
    if (const auto first_seq = ParseSegmentName(entry.name)) {
      if (!entry.is_regular) {
        return Status::Error(Code::kNotALog, "is named like a segment and is no regular file")
            .WithPath(directory.path() + "/" + entry.name);
      }
      if (*first_seq > kMaxSeq) {
        return Status::Error(Code::kCorrupt, "a segment's name claims a seq above 2^53 - 1")
            .WithPath(directory.path() + "/" + entry.name);
      }
      files.segments.push_back(*first_seq);
    } else if (entry.is_regular && IsSpareName(entry.name)) {
      files.spares.push_back(entry.name);
    }
  }
  std::sort(files.segments.begin(), files.segments.end());
  return files;
}

Status CheckIdentity(const Directory& directory, uint64_t first_seq, const SegmentHeader& header,
                     const LogUuid& uuid) {
  if (header.uuid == uuid) return Status::Ok();
  return Status::Error(Code::kCorrupt, "the segment belongs to another log")
      .WithPath(directory.path() + "/" + SegmentName(first_seq))
      .WithOffset(0)
      .WithLost(first_seq, first_seq);
}

Result<LogIdentity> IdentifyLog(Directory& directory, const std::vector<uint64_t>& segments) {
  const auto uuid_of = [&directory](uint64_t first_seq) -> Result<std::optional<LogUuid>> {
    Result<OpenedSegment> opened = OpenSegment(directory, first_seq, OpenMode::kRead);
    if (opened.ok()) return std::optional<LogUuid>(opened->header.uuid);
    const Code code = opened.status().code();
    // Trimmed since it was listed, or damaged.
    if (code == Code::kNotFound || code == Code::kCorrupt) return std::optional<LogUuid>();
    return opened.TakeStatus();
  };
  DURLOG_ASSIGN_OR_RETURN(const std::optional<LogUuid> newest, uuid_of(segments.back()));
  DURLOG_ASSIGN_OR_RETURN(const std::optional<LogUuid> oldest, uuid_of(segments.front()));
  if (newest && newest == oldest) return LogIdentity{*newest, true};
  std::map<LogUuid, size_t> votes;
  LogIdentity identity;
  size_t most = 0;
  for (const uint64_t first_seq : segments) {
    DURLOG_ASSIGN_OR_RETURN(const std::optional<LogUuid> uuid, uuid_of(first_seq));
    if (!uuid || ++votes[*uuid] <= most) continue;
    most = votes[*uuid];
    identity.uuid = *uuid;
  }
  identity.undisputed = votes.size() <= 1;
  return identity;
}

ScanContext ContextOf(const SegmentHeader& header, uint64_t first_seq) {
  return ScanContext{first_seq, header.crc_seed(), header.segment_bytes, header.recycled};
}

Result<OpenedSegment> OpenSegment(Directory& directory, uint64_t first_seq, OpenMode mode) {
  const std::string name = SegmentName(first_seq);
  OpenedSegment opened;
  DURLOG_ASSIGN_OR_RETURN(opened.file, directory.Open(name, mode));
  uint8_t block[kSegmentHeaderBytes];
  DURLOG_ASSIGN_OR_RETURN(const size_t read, opened.file->ReadAt(0, block, sizeof block));
  Result<DecodedSegmentHeader> decoded = DecodeSegmentHeader(block, read);
  if (!decoded.ok()) {
    return decoded.TakeStatus()
        .WithPath(directory.path() + "/" + name)
        .WithOffset(0)
        .WithLost(first_seq, first_seq);
  }
  opened.header = decoded->header;
  opened.one_header_copy_damaged = decoded->one_copy_damaged;
  return opened;
}

Result<RecoveryPlan> PlanRecovery(Directory& directory, LogFiles files, OpenMode mode,
                                  ScanExtent extent) {
  RecoveryPlan plan;
  plan.files = std::move(files);
  if (plan.files.segments.empty()) {
    return Status::Error(Code::kNotFound, "there is no log here").WithPath(directory.path());
  }
  DURLOG_ASSIGN_OR_RETURN(plan.identity, IdentifyLog(directory, plan.files.segments));
  DURLOG_RETURN_IF_ERROR(ScanBackwards(directory, mode, extent, &plan));
  const size_t damaged = FindDamage(plan.scanned);
  plan.next_seq = plan.scanned.back().scan.next_seq;
  if (damaged == plan.scanned.size()) return plan;
  Classify(&plan, damaged);
  if (plan.report.state != RecoveryState::kCorrupt) {
    PlanCuts(&plan, damaged);
  }
  return plan;
}

Status CutSegment(File& file, uint64_t offset, uint64_t segment_bytes) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t file_bytes, file.Size());
  return CutAndAllocate(file, offset, file_bytes >= segment_bytes ? segment_bytes : 0);
}

Status CutSyncedRecords(File& file, uint64_t offset, uint64_t segment_bytes) {
  return CutSectors(file, offset, Bytes{}, segment_bytes);
}

Result<uint64_t> CutBehindMarker(File& file, const SegmentHeader& header, uint64_t offset,
                                 uint64_t next_seq) {
  uint8_t marker[kFrameHeaderBytes];
  EncodeMarker(header, next_seq, marker);
  const bool fits = offset + sizeof marker <= header.segment_bytes;
  const Bytes last = fits ? Bytes{marker, sizeof marker} : Bytes{};
  DURLOG_RETURN_IF_ERROR(CutSectors(file, offset, last, header.segment_bytes));
  return offset + last.size;
}

Status ApplyRecovery(Directory& directory, RecoveryPlan* plan) {
  const size_t removed = plan->cuts.empty() ? 0 : plan->cuts.size() - 1;
  const size_t kept = plan->scanned.size() - removed;
  for (size_t i = 0; i < kept; ++i) {
    if (!plan->scanned[i].unreadable.ok()) continue;  // evidence
    DURLOG_RETURN_IF_ERROR(SyncKept(plan->scanned[i], plan->known_synced));
  }
  if (!plan->cuts.empty()) {
    DURLOG_RETURN_IF_ERROR(directory.Sync());
    DURLOG_ASSIGN_OR_RETURN(const bool marked, MarkSynced(&plan->scanned[kept - 1]));
    if (marked) plan->known_synced = plan->next_seq;
  }
  for (const Cut& cut : plan->cuts) {
    ScannedSegment& segment = plan->scanned.back();
    if (cut.remove) {
      DURLOG_RETURN_IF_ERROR(segment.file->Close());
      DURLOG_RETURN_IF_ERROR(directory.Remove(cut.name));
      plan->scanned.pop_back();
      plan->files.segments.pop_back();
    } else {
      // By the data none of it was synced. But the page cache may show the work of a truncation
      // that was killed, and the device still hold synced records.
      DURLOG_RETURN_IF_ERROR(
          CutSyncedRecords(*segment.file, segment.scan.end_offset, segment.header.segment_bytes));
    }
  }
  // What was found may be the work of a truncation that was killed before its sync: then the
  // records that it cut are on the device still.
  ScannedSegment& last = plan->scanned.back();
  if (last.unreadable.ok()) DURLOG_RETURN_IF_ERROR(last.file->SyncFull());
  // Always: the newest segment may have got its name from a process that was killed before it
  // could sync the folder, and no commit of ours will do it.
  return directory.Sync();
}

Status CorruptError(const Directory& directory, const RecoveryReport& report) {
  const std::string lost = report.lost_first > report.lost_last
                               ? ""
                               : ": seq " + std::to_string(report.lost_first) + " to " +
                                     std::to_string(report.lost_last);
  return Status::Error(Code::kCorrupt,
                       "synced records are damaged (" + report.detail + ")" + lost +
                           "; restore them from a copy, or open with recovery 'salvage' to go on "
                           "without them")
      .WithPath(directory.path() + "/" + report.segment)
      .WithOffset(report.offset)
      .WithLost(report.lost_first, report.lost_last);
}

}  // namespace durlog
