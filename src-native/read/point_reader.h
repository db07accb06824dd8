// Single records of a log, by seq.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "platform/file_system.h"
#include "read/record_lookup.h"
#include "record/segment_header.h"

namespace durlog {

// Reads while the log's writer appends. If a record is missing, damaged or trimmed, a LogReader
// decides: this class only uses known positions to find present records quickly.
//
// For any thread; several may read at once.
class PointReader {
 public:
  static constexpr uint64_t kNoLimit = UINT64_MAX;
  // The number of most recently used segments that stay open.
  static constexpr size_t kMaxKeptSegments = 16;

  // Which process writes the log.
  enum class Writer : uint8_t {
    // This process. It calls Forget() before each change of the log other than an append, and reads
    // nothing until the change is made. Segments are kept open.
    kOwn,
    // Another process, or none. A segment is opened by its name for each read, so that a name that
    // was removed, or now belongs to another file, is noticed.
    kForeign,
  };

  // Opens nothing yet. Reads fail with kNotALog if `path` holds another log than `uuid` (zeros: any
  // log).
  PointReader(FileSystem& file_system, std::string path, Writer writer, const LogUuid& uuid = {})
      : file_system_(file_system), path_(std::move(path)), writer_(writer), expected_(uuid) {}
  PointReader(const PointReader&) = delete;
  PointReader& operator=(const PointReader&) = delete;

  // Reads record `seq`. If `seq` is below `limit`, the record is known to exist; with kNoLimit it
  // may be after the end of the log. kOutOfRange if it was trimmed or does not exist, kCorrupt if
  // it was synced and cannot be read, kVoid if a writer that died left the seq without a record.
  //
  // Records below `acknowledged_end`, and below `limit`, were acknowledged when the call was made,
  // so the rest of their batch is not read.
  Result<PointRecord> Get(uint64_t seq, uint64_t limit, uint64_t acknowledged_end = 0);
  // Like Get(), if known positions and the page cache are enough: does not wait for the device, and
  // takes 5 to 10 us. An empty result means that Get() must decide.
  std::optional<PointRecord> GetCached(uint64_t seq, uint64_t acknowledged_end = 0);
  // The seq of the first record of [first, end) at or after `time_ms` (milliseconds since 1970);
  // `end` if there is none. All of them are known to exist. The search assumes that times rise with
  // the seqs, as the clock makes them. If callers passed times that fall, or several writers raced,
  // the result is one of the places where an earlier time is followed by a later one. It reads some
  // records, not the whole log: a binary search over the first records of the segments, and then
  // within one segment. Errors as for Get().
  Result<uint64_t> SeqAt(uint64_t time_ms, uint64_t first, uint64_t end);
  // The first seqs of the segments that begin in [begin, end), ascending, as of the last listing,
  // which a read makes if it does not know the segment of its record.
  std::vector<uint64_t> SegmentsWithin(uint64_t begin, uint64_t end);
  // Closes the files; the next read opens the files that it needs. Must not be called during a
  // read.
  void Forget();

 private:
  using SegmentPointer = std::shared_ptr<const ReadableSegment>;

  // The first record at or after `seq`.
  Result<PointRecord> GetFrom(uint64_t seq, uint64_t limit, uint64_t acknowledged_end);
  std::optional<PointRecord> Find(uint64_t seq, uint64_t acknowledged_end);
  SegmentPointer SegmentOf(uint64_t seq, RecordLookup::Reading reading);
  std::optional<uint64_t> FirstSeqOf(uint64_t seq) const;
  SegmentPointer TakeKept(uint64_t first_seq);
  void Keep(const SegmentPointer& segment);
  Status LookAround();
  Result<bool> IsBefore(uint64_t seq, uint64_t time_ms, uint64_t end);
  Result<uint64_t> SeqOfRecordFrom(uint64_t seq, uint64_t end);
  Result<PointRecord> ReadInOrder(uint64_t seq, uint64_t limit);

  FileSystem& file_system_;
  const std::string path_;
  const Writer writer_;
  const LogUuid expected_;

  std::mutex mutex_;  // protects the members below
  std::shared_ptr<Directory> directory_;
  LogUuid uuid_{};
  std::vector<uint64_t> first_seqs_;  // ascending, as of the last listing
  std::list<SegmentPointer> kept_;    // the most recently used first
};

}  // namespace durlog
