#include "read/measure.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "read/point_reader.h"
#include "record/record_format.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

// Reads the record again if its place had to be searched, because the place is known then. The
// record is acknowledged.
Result<PointRecord> Locate(PointReader& reader, uint64_t seq) {
  DURLOG_ASSIGN_OR_RETURN(PointRecord record, reader.Get(seq, PointReader::kNoLimit, seq + 1));
  if (record.frame_offset != 0) return record;
  return reader.Get(seq, PointReader::kNoLimit, seq + 1);
}

// The lengths of consecutive segments.
class SegmentLengths {
 public:
  SegmentLengths(Directory& directory, std::vector<uint64_t> first_seqs)
      : directory_(directory), first_seqs_(std::move(first_seqs)) {}

  uint64_t Sum() const {
    if (first_seqs_.empty()) return 0;  // trimmed away
    const size_t last = first_seqs_.size() - 1;
    const uint64_t first_bytes = LengthOf(0);
    if (last == 0) return first_bytes;
    const uint64_t last_bytes = LengthOf(last);
    return first_bytes + SumBetween(0, first_bytes, last, last_bytes) + last_bytes;
  }

 private:
  // 0 if the segment was trimmed away.
  uint64_t LengthOf(size_t index) const {
    const auto file = directory_.Open(SegmentName(first_seqs_[index]), OpenMode::kRead);
    if (!file.ok()) return 0;
    const Result<uint64_t> bytes = (*file)->Size();
    return bytes.ok() ? *bytes : 0;
  }

  // Opening a file takes 4 us, and neighbours seldom differ. So all segments between two of nearly
  // the same length count with their mean.
  uint64_t SumBetween(size_t low, uint64_t low_bytes, size_t high, uint64_t high_bytes) const {
    const uint64_t count = high - low - 1;
    if (count == 0) return 0;
    const auto [least, most] = std::minmax(low_bytes, high_bytes);
    if (most - least <= most / 16) return count * (least + (most - least) / 2);
    const size_t middle = low + (high - low) / 2;
    const uint64_t bytes = LengthOf(middle);
    return SumBetween(low, low_bytes, middle, bytes) + bytes +
           SumBetween(middle, bytes, high, high_bytes);
  }

  Directory& directory_;
  const std::vector<uint64_t> first_seqs_;
};

}  // namespace

Result<LogDistance> MeasureDistance(FileSystem& file_system, const std::string& path,
                                    uint64_t first, uint64_t last) {
  PointReader reader(file_system, path, PointReader::Writer::kForeign);
  DURLOG_ASSIGN_OR_RETURN(const PointRecord from, Locate(reader, first));
  DURLOG_ASSIGN_OR_RETURN(const PointRecord to, Locate(reader, last));
  LogDistance distance;
  distance.ms = to.timestamp_ms - std::min(from.timestamp_ms, to.timestamp_ms);
  // The known place was wrong twice: the log is being cut.
  if (from.frame_offset == 0 || to.frame_offset == 0) return distance;
  const uint64_t end = to.frame_offset + FrameBytes(to.length);
  if (from.segment_first_seq == to.segment_first_seq) {
    distance.bytes = end - std::min(from.frame_offset, end);
    return distance;
  }
  DURLOG_ASSIGN_OR_RETURN(const auto directory, file_system.OpenDirectory(path, false));
  std::vector<uint64_t> sealed =
      reader.SegmentsWithin(from.segment_first_seq, to.segment_first_seq);
  const uint64_t headers = sealed.size() * kSegmentHeaderBytes;
  distance.bytes = SegmentLengths(*directory, std::move(sealed)).Sum() + end;
  distance.bytes -= std::min(distance.bytes, headers + from.frame_offset);
  return distance;
}

}  // namespace durlog
