// Compares the files of an open log with what their names show.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/job.h"
#include "platform/file_system.h"
#include "segment/open_segment.h"

namespace durlog {

// The state of a segment's file as a log knows it. The file may become longer meanwhile.
struct HeldSegment {
  uint64_t first_seq = 0;
  std::optional<FileId> id;  // nullopt if another file of the log may take the name
  uint64_t end = 0;          // the end of the frames that are stored
  uint64_t bytes = 0;        // the file has at least this length, and at least `end`
  uint64_t frame_at = 0;     // a frame begins here; 0 if none is known

  // Notes that every frame before `offset` is stored. A frame begins at `frame`, if that is not 0.
  void NoteEnd(uint64_t offset, uint64_t frame) {
    if (offset <= end) return;
    frame_at = frame > 0 ? frame : end;
    end = offset;
  }
};

// Nullopt if the system has no such identity.
inline std::optional<FileId> IdOf(const Result<FileId>& id) {
  return id.ok() ? std::optional<FileId>(*id) : std::nullopt;
}

// OK if the file `name` is the one with the identity `held`, or if either is unknown. Otherwise
// kFileChanged: another program has moved, deleted or replaced it. Needs no descriptor.
Status CheckNamed(Directory& directory, const std::string& name, const std::optional<FileId>& held);

// A file that other processes have to find under its name: the lock, or the page of the members.
struct HeldName {
  std::string name;
  std::optional<FileId> id;
  uint64_t bytes = 0;  // the file has at least this length
};

// Without an identity only the existence and the length are compared: see
// Capabilities::keeps_file_ids.
struct HeldFiles {
  std::optional<FileId> folder;
  std::vector<HeldName> names;
  std::vector<HeldSegment> open;
  std::vector<uint64_t> segments;  // the first seqs of all segments that must have their names
  uint64_t quiet_before = 0;       // no segment with a lower first seq changes any more
};

// The segments of one log as its earlier checks have seen them. Used by one check at a time.
struct SeenSegments {
  // Of a segment that is open.
  struct Open {
    uint64_t end = 0;            // of the frames that a check has found
    uint64_t hole = UINT64_MAX;  // the first hole, which is inside a frame
  };
  // Of a segment that no longer changes.
  struct Quiet {
    std::optional<FileId> id;
    uint64_t bytes = 0;
    uint64_t modified_nanos = 0;
  };
  std::map<uint64_t, Open> open;
  std::map<uint64_t, Quiet> quiet;
  uint64_t next_quiet = 0;  // the first seq from which the next check looks at quiet segments
};

// Finds a file, or the folder, that another program has moved, replaced, deleted or truncated: what
// the log stores there would never be read. Reads only. A file that cannot be examined, for example
// for lack of descriptors, counts as unchanged until the next check.
class FilesCheck final : public Job {
 public:
  FilesCheck(FileSystem& file_system, Directory& directory, HeldFiles held,
             std::shared_ptr<SeenSegments> seen)
      : file_system_(file_system),
        directory_(directory),
        held_(std::move(held)),
        seen_(std::move(seen)) {}

  // After done(). kFileChanged, with the path of the file that has changed.
  const Status& status() const { return status_; }
  // If a segment has changed, its first seq. If it has been trimmed since the check began, there is
  // no change to report.
  std::optional<uint64_t> changed_segment() const { return changed_segment_; }
  // The first seqs of the segments in the folder.
  std::vector<uint64_t> TakeListed() { return std::move(listed_); }

 protected:
  void Run() override;

 private:
  Status Check();
  Status CheckFolder();
  Status CheckName(const HeldName& held);
  Status CheckSegment(const HeldSegment& held);
  Status CheckFrames(OpenedSegment& segment, const HeldSegment& held);
  Status CheckNames();
  Status CheckQuiet();
  Status CheckQuiet(uint64_t first_seq, uint64_t end_seq);
  Status Changed(const char* how, const std::string& name) const;

  FileSystem& file_system_;
  Directory& directory_;
  const HeldFiles held_;
  const std::shared_ptr<SeenSegments> seen_;
  bool drops_cache_ = false;
  std::vector<uint64_t> listed_;
  std::optional<uint64_t> changed_segment_;
  Status status_;
};

}  // namespace durlog
