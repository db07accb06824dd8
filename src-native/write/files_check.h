// Compares the files of an open log with what their names show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/job.h"
#include "platform/file_system.h"

namespace durlog {

// The state of a segment's file as a log knows it. The file may become longer meanwhile.
struct HeldSegment {
  uint64_t first_seq = 0;
  std::optional<FileId> id;  // nullopt if another file of the log may take the name
  uint64_t end = 0;          // the end of the frames that are stored
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

// A file that other processes have to find under its name: the lock, or the page of the members.
struct HeldName {
  std::string name;
  std::optional<FileId> id;
};

// Without an identity only the existence and the length are compared: see
// Capabilities::keeps_file_ids.
struct HeldFiles {
  std::optional<FileId> folder;
  std::vector<HeldName> names;
  std::vector<HeldSegment> open;
  std::vector<uint64_t> segments;  // the first seqs of all segments that must have their names
};

// Finds a file, or the folder, that another program has moved, replaced, deleted or truncated: what
// the log stores there would never be read. Reads only. A file that cannot be examined, for example
// for lack of descriptors, counts as unchanged until the next check.
class FilesCheck final : public Job {
 public:
  FilesCheck(FileSystem& file_system, Directory& directory, HeldFiles held)
      : file_system_(file_system), directory_(directory), held_(std::move(held)) {}

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
  Status CheckNames();
  Status Changed(const char* how, const std::string& name);

  FileSystem& file_system_;
  Directory& directory_;
  const HeldFiles held_;
  std::vector<uint64_t> listed_;
  std::optional<uint64_t> changed_segment_;
  Status status_;
};

}  // namespace durlog
