#include "read/point_reader.h"

#include <algorithm>
#include <utility>

#include "read/log_reader.h"
#include "recovery/identity.h"
#include "recovery/log_files.h"
#include "segment/open_segment.h"

namespace durlog {
namespace {

// The bytes that a LogReader reads at once.
constexpr size_t kScanBytes = 256 << 10;

// The error for seqs from `seq` to below `next` that hold no record.
Status VoidError(uint64_t seq, uint64_t next) {
  return Status::Error(Code::kVoid, "seq " + std::to_string(seq) +
                                        " holds no record: its writer died before it had finished; "
                                        "read on from " +
                                        std::to_string(next))
      .WithLost(seq, next - 1);
}

// The first value of [begin, end) that is not before the target; `end` if all are.
template <typename IsBefore>
Result<uint64_t> FirstNotBefore(uint64_t begin, uint64_t end, const IsBefore& is_before) {
  while (begin < end) {
    const uint64_t middle = begin + (end - begin) / 2;
    DURLOG_ASSIGN_OR_RETURN(const bool before, is_before(middle));
    if (before) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

}  // namespace

Result<PointRecord> PointReader::Get(uint64_t seq, uint64_t limit, uint64_t acknowledged_end) {
  if (limit != kNoLimit) acknowledged_end = limit;
  Result<PointRecord> record = GetFrom(seq, limit, acknowledged_end);
  if (record.ok() && record->seq != seq) return VoidError(seq, record->seq);
  return record;
}

std::optional<PointRecord> PointReader::GetCached(uint64_t seq, uint64_t acknowledged_end) {
  const SegmentPointer segment = SegmentOf(seq, RecordLookup::Reading::kCached);
  if (!segment) return std::nullopt;
  Result<std::optional<PointRecord>> found =
      RecordLookup(*segment, acknowledged_end, RecordLookup::Reading::kCached).Find(seq);
  return found.ok() ? std::move(*found) : std::nullopt;
}

Result<uint64_t> PointReader::SeqAt(uint64_t time_ms, uint64_t first, uint64_t end) {
  const auto is_before = [&](uint64_t seq) { return IsBefore(seq, time_ms, end); };
  if (first >= end) return end;
  // This first lookup also lists the folder again if the last segment is a new one.
  DURLOG_ASSIGN_OR_RETURN(const bool all_before, is_before(end - 1));
  if (all_before) return end;
  const std::vector<uint64_t> starts = SegmentsWithin(first + 1, end - 1);
  DURLOG_ASSIGN_OR_RETURN(
      const uint64_t behind,
      FirstNotBefore(0, starts.size(), [&](uint64_t index) { return is_before(starts[index]); }));
  const uint64_t low = behind == 0 ? first : starts[behind - 1] + 1;
  DURLOG_ASSIGN_OR_RETURN(
      const uint64_t found,
      FirstNotBefore(low, behind == starts.size() ? end - 1 : starts[behind], is_before));
  return SeqOfRecordFrom(found, end);
}

// `seq`, or the seq after the void that contains it; `end` if no record follows.
Result<uint64_t> PointReader::SeqOfRecordFrom(uint64_t seq, uint64_t end) {
  const Result<PointRecord> record = GetFrom(seq, end, end);
  if (record.status().code() == Code::kVoid) return end;
  if (!record.ok()) return record.status();
  return record->seq;
}

Result<bool> PointReader::IsBefore(uint64_t seq, uint64_t time_ms, uint64_t end) {
  const Result<PointRecord> record = GetFrom(seq, end, end);
  if (record.status().code() == Code::kVoid) return false;
  if (!record.ok()) return record.status();
  return record->timestamp_ms < time_ms;
}

std::vector<uint64_t> PointReader::SegmentsWithin(uint64_t begin, uint64_t end) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto from = std::lower_bound(first_seqs_.begin(), first_seqs_.end(), begin);
  return std::vector<uint64_t>(from, std::lower_bound(from, first_seqs_.end(), end));
}

void PointReader::Forget() {
  std::list<SegmentPointer> closing;
  std::shared_ptr<Directory> directory;
  const std::lock_guard<std::mutex> guard(mutex_);
  closing.swap(kept_);
  directory.swap(directory_);
  first_seqs_.clear();
}

// The first record at or after `seq`.
Result<PointRecord> PointReader::GetFrom(uint64_t seq, uint64_t limit, uint64_t acknowledged_end) {
  std::optional<PointRecord> found = Find(seq, acknowledged_end);
  if (!found && LookAround().ok()) found = Find(seq, acknowledged_end);
  if (found) return std::move(*found);
  return ReadInOrder(seq, limit);
}

// ReadInOrder() meets the same error again and returns it.
std::optional<PointRecord> PointReader::Find(uint64_t seq, uint64_t acknowledged_end) {
  const SegmentPointer segment = SegmentOf(seq, RecordLookup::Reading::kAny);
  if (!segment) return std::nullopt;
  Result<std::optional<PointRecord>> found = RecordLookup(*segment, acknowledged_end).Find(seq);
  return found.ok() ? std::move(*found) : std::nullopt;
}

// Looks for the segment of `seq` among the known segments. The caller holds mutex_.
std::optional<uint64_t> PointReader::FirstSeqOf(uint64_t seq) const {
  const auto behind = std::upper_bound(first_seqs_.begin(), first_seqs_.end(), seq);
  return behind == first_seqs_.begin() ? std::nullopt : std::optional<uint64_t>(*std::prev(behind));
}

// The segment that holds `seq`, by the known segments; null if it is not known, if the knowledge is
// outdated, or if `reading` does not allow to open it.
PointReader::SegmentPointer PointReader::SegmentOf(uint64_t seq, RecordLookup::Reading reading) {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::optional<uint64_t> known = FirstSeqOf(seq);
  if (!known) return nullptr;
  const uint64_t first_seq = *known;
  if (SegmentPointer kept = TakeKept(first_seq)) return kept;
  const std::shared_ptr<Directory> directory = directory_;
  const LogUuid uuid = uuid_;
  lock.unlock();

  std::optional<OpenedSegment> opened;
  if (reading == RecordLookup::Reading::kCached) {
    opened = OpenCachedSegment(*directory, first_seq);
  } else if (auto read = OpenSegment(*directory, first_seq, OpenMode::kRead); read.ok()) {
    opened = std::move(*read);
  }
  if (!opened || opened->header.uuid != uuid) return nullptr;
  const auto segment = std::make_shared<ReadableSegment>();
  segment->first_seq = first_seq;
  segment->header = opened->header;
  segment->crc_seed = opened->header.crc_seed();
  segment->file = std::move(opened->file);
  if (writer_ == Writer::kOwn) Keep(segment);
  return segment;
}

PointReader::SegmentPointer PointReader::TakeKept(uint64_t first_seq) {
  for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
    if ((*kept)->first_seq != first_seq) continue;
    kept_.splice(kept_.begin(), kept_, kept);
    return kept_.front();
  }
  return nullptr;
}

void PointReader::Keep(const SegmentPointer& segment) {
  SegmentPointer closing;  // outside the lock
  const std::lock_guard<std::mutex> guard(mutex_);
  // Another thread may have opened it at the same time.
  if (TakeKept(segment->first_seq)) return;
  kept_.push_front(segment);
  if (kept_.size() <= kMaxKeptSegments) return;
  closing = std::move(kept_.back());
  kept_.pop_back();
}

Status PointReader::LookAround() {
  DURLOG_ASSIGN_OR_RETURN(std::shared_ptr<Directory> directory,
                          file_system_.OpenDirectory(path_, false));
  DURLOG_ASSIGN_OR_RETURN(LogFiles files, FindLogFiles(*directory));
  DURLOG_ASSIGN_OR_RETURN(const LogIdentity identity,
                          IdentifyExpectedLog(*directory, files.segments, expected_));
  const std::lock_guard<std::mutex> guard(mutex_);
  directory_.swap(directory);
  uuid_ = identity.uuid;
  first_seqs_ = std::move(files.segments);
  return Status::Ok();
}

Result<PointRecord> PointReader::ReadInOrder(uint64_t seq, uint64_t limit) {
  DURLOG_ASSIGN_OR_RETURN(const auto reader, LogReader::Open(file_system_, path_, seq, expected_));
  PointRecord record;
  for (size_t bytes = kScanBytes;;) {
    if (!record.memory.Reserve(bytes, 0)) {
      return Status::Error(Code::kOutOfMemory,
                           "no memory for a record of " + std::to_string(bytes) + " bytes");
    }
    ReadEntry entry;
    DURLOG_ASSIGN_OR_RETURN(const ReadBatch batch,
                            reader->Next(record.memory.data(), bytes, &entry, 1, limit));
    if (batch.count > 0) {
      record.offset = entry.offset;
      record.length = entry.length;
      record.seq = batch.first_seq;
      record.timestamp_ms = batch.base_time_ms + entry.time_ms;
      return record;
    }
    if (reader->seq() > seq) return VoidError(seq, reader->seq());
    if (batch.need_bytes <= bytes) {
      return Status::Error(Code::kOutOfRange, "there is no record " + std::to_string(seq));
    }
    bytes = batch.need_bytes;
  }
}

}  // namespace durlog
