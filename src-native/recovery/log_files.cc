#include "recovery/log_files.h"

#include <algorithm>

#include "record/record_format.h"
#include "record/segment_name.h"

namespace durlog {

Result<LogFiles> ListLogFiles(Directory& directory) {
  DURLOG_ASSIGN_OR_RETURN(const std::vector<FileEntry> entries, directory.List());
  LogFiles files;
  for (const FileEntry& entry : entries) {
    if (const auto first_seq = ParseSegmentName(entry.name)) {
      if (!entry.is_regular) {
        return Status::Error(Code::kNotALog, "is named like a segment and is no regular file")
            .WithPath(directory.PathOf(entry.name));
      }
      if (*first_seq > kMaxSeq) {
        return Status::Error(Code::kCorrupt, "a segment's name claims a seq above 2^53 - 1")
            .WithPath(directory.PathOf(entry.name));
      }
      files.segments.push_back(*first_seq);
    } else if (entry.is_regular && IsSpareName(entry.name)) {
      files.spares.push_back(entry.name);
    }
  }
  std::sort(files.segments.begin(), files.segments.end());
  return files;
}

Result<LogFiles> FindLogFiles(Directory& directory) {
  Result<LogFiles> files = ListLogFiles(directory);
  if (!files.ok() || !files->segments.empty()) return files;
  return Status::Error(Code::kNotFound, kNoSegment).WithPath(directory.path());
}

}  // namespace durlog
