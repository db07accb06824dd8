// Single records of a log, by seq.
#ifndef DURLOG_READ_POINT_READER_H_
#define DURLOG_READ_POINT_READER_H_

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

// Reads beside the log's writer. A Cursor has the last word on what is missing, damaged or trimmed
// away: this class only knows the short way to what is there.
//
// For any thread; several may read at once.
class PointReader {
 public:
  static constexpr uint64_t kNoLimit = UINT64_MAX;
  // Open segments that are kept, used last.
  static constexpr size_t kMaxKeptSegments = 16;

  // Who writes the log.
  enum class Writer : uint8_t {
    // This process. It calls Forget() before each change of the log other than an append, and reads
    // nothing until that is made. Segments are kept open.
    kOwn,
    // Another one, or none. A segment is opened by its name for each read, so that a name that is
    // gone, or belongs to another file by now, is noticed.
    kForeign,
  };

  // Opens nothing yet. `path` must mean the same folder for as long as the reader lives.
  PointReader(FileSystem& file_system, std::string path, Writer writer)
      : file_system_(file_system), path_(std::move(path)), writer_(writer) {}
  PointReader(const PointReader&) = delete;
  PointReader& operator=(const PointReader&) = delete;

  // Record `seq`, which is known to be there if it is below `limit`; with kNoLimit it may be after
  // the end of the log. kOutOfRange if it has been trimmed away or is not there, kCorrupt if it was
  // synced and cannot be read, kVoid if a writer that died has left the seq without one.
  //
  // Records below `acknowledged_end`, and below `limit`, were acknowledged when the call was made:
  // the rest of a batch that one of them belongs to is not read.
  Result<PointRecord> Get(uint64_t seq, uint64_t limit, uint64_t acknowledged_end = 0);
  // As Get(), if that needs only what is known and the page cache holds: does not wait for the
  // device, and takes some 5 us. Nothing says nothing.
  std::optional<PointRecord> GetCached(uint64_t seq, uint64_t acknowledged_end = 0);
  // The seq of the first record of [first, end) at or after `time_ms` (milliseconds since 1970);
  // `end` if there is none. All of them are known to be there. Times are taken to rise with the
  // seqs, as the clock makes them: where callers gave times that go back, or several writers raced,
  // it is one of the places where an earlier time is followed by a later one. Reads some records,
  // not the log: a binary search among the first records of the segments, and then within one.
  // Errors as for Get().
  Result<uint64_t> SeqAt(uint64_t time_ms, uint64_t first, uint64_t end);
  // Closes the files; the next read opens what it needs. Not while a read is under way.
  void Forget();

 private:
  using SegmentPointer = std::shared_ptr<const ReadableSegment>;

  // The first record at or after `seq`.
  Result<PointRecord> GetFrom(uint64_t seq, uint64_t limit, uint64_t acknowledged_end);
  std::optional<PointRecord> Find(uint64_t seq, uint64_t acknowledged_end);
  SegmentPointer SegmentOf(uint64_t seq);
  std::optional<uint64_t> FirstSeqOf(uint64_t seq) const;
  SegmentPointer TakeKept(uint64_t first_seq);
  void Keep(const SegmentPointer& segment);
  Status LookAround();
  Result<bool> IsBefore(uint64_t seq, uint64_t time_ms, uint64_t end);
  Result<uint64_t> SeqOfRecordFrom(uint64_t seq, uint64_t end);
  std::vector<uint64_t> SegmentsWithin(uint64_t begin, uint64_t end);
  Result<PointRecord> ReadInOrder(uint64_t seq, uint64_t limit);

  FileSystem& file_system_;
  const std::string path_;
  const Writer writer_;

  std::mutex mutex_;  // for all below
  std::shared_ptr<Directory> directory_;
  LogUuid uuid_{};
  std::vector<uint64_t> first_seqs_;  // ascending, as of the last look around
  std::list<SegmentPointer> kept_;    // used last, first
};

}  // namespace durlog

#endif  // DURLOG_READ_POINT_READER_H_
