#include "recovery/identity.h"

#include <map>
#include <optional>

#include "record/segment_name.h"
#include "segment/open_segment.h"

namespace durlog {

Status CheckIdentity(const Directory& directory, uint64_t first_seq, const SegmentHeader& header,
                     const LogUuid& uuid) {
  if (header.uuid == uuid) return Status::Ok();
  return Status::Error(Code::kCorrupt, "the segment belongs to another log")
      .WithPath(directory.PathOf(SegmentName(first_seq)))
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

Result<LogIdentity> IdentifyExpectedLog(Directory& directory, const std::vector<uint64_t>& segments,
                                        const LogUuid& expected) {
  DURLOG_ASSIGN_OR_RETURN(const LogIdentity identity, IdentifyLog(directory, segments));
  const bool any = expected == LogUuid{} || identity.uuid == LogUuid{};
  if (any || identity.uuid == expected) return identity;
  return Status::Error(Code::kNotALog,
                       "the folder was replaced and holds another log now: close the log and open "
                       "it again")
      .WithPath(directory.path());
}

}  // namespace durlog
