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

  // Record `seq`, which is known to be there if it is below `limit`; with kNoLimit it may be behind
  // the end of the log. kOutOfRange where it has been trimmed away or is not there, kCorrupt where
  // it was synced and cannot be read.
  Result<PointRecord> Get(uint64_t seq, uint64_t limit);
  // Closes the files; the next read opens what it needs. Not while a read is under way.
  void Forget();

 private:
  using SegmentPointer = std::shared_ptr<const ReadableSegment>;

  std::optional<PointRecord> Find(uint64_t seq);
  SegmentPointer SegmentOf(uint64_t seq);
  SegmentPointer TakeKept(uint64_t first_seq);
  void Keep(const SegmentPointer& segment);
  Status LookAround();
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
