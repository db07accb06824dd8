#include "inspect/named_segment.h"

#include <memory>
#include <optional>

#include "record/segment_name.h"

namespace durlog {

Result<NamedSegment> OpenNamedSegment(FileSystem& file_system, const std::string& path,
                                      const std::string& name) {
  DURLOG_ASSIGN_OR_RETURN(const auto directory, file_system.OpenDirectory(path, false));
  const std::optional<uint64_t> first_seq = ParseSegmentName(name);
  if (!first_seq) {
    return Status::Error(Code::kInvalidArgument, "\"" + name + "\" is not a segment's name");
  }
  NamedSegment segment;
  segment.first_seq = *first_seq;
  DURLOG_ASSIGN_OR_RETURN(segment.opened, OpenSegment(*directory, *first_seq, OpenMode::kRead));
  DURLOG_ASSIGN_OR_RETURN(segment.file_bytes, segment.opened.file->Size());
  return segment;
}

}  // namespace durlog
