#include "read/measure.h"

#include <algorithm>
#include <memory>

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
  distance.bytes = end - kSegmentHeaderBytes;
  for (const uint64_t first_seq :
       reader.SegmentsWithin(from.segment_first_seq, to.segment_first_seq)) {
    const auto file = directory->Open(SegmentName(first_seq), OpenMode::kRead);
    if (!file.ok()) continue;  // trimmed away since
    DURLOG_ASSIGN_OR_RETURN(const uint64_t size, (*file)->Size());
    const uint64_t begin =
        first_seq == from.segment_first_seq ? from.frame_offset : kSegmentHeaderBytes;
    distance.bytes += size - std::min(begin, size);
  }
  return distance;
}

}  // namespace durlog
