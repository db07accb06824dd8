// A segment: one file of records. It begins as a spare, becomes active, and is finally sealed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/job.h"
#include "platform/file_system.h"
#include "record/segment_header.h"
#include "segment/chunk.h"
#include "segment/preallocation.h"
#include "segment/segment_file.h"
#include "segment/zeros.h"

namespace durlog {

// The parameters of a spare.
struct SpareRequest {
  Preallocation preallocation = Preallocation::kFallocate;
  // A trimmed segment under a spare's name, to be reused; "" for a new file.
  std::string recycled_name;
  // For a log that stores into a map: the length that is mapped and populated too, if the blocks
  // are allocated; 0 for none.
  uint64_t first_chunk_bytes = 0;
  Populating populating = Populating::kTouch;
  // The alignment of direct writes, which write the zeros if the file system allows them; 0 to use
  // no direct writes.
  uint32_t direct_alignment = 0;
};

// A file with a synced header and its blocks in place, which lacks only a segment's name.
struct Spare {
  std::string name;
  SegmentFile file;
  Preallocation preallocated = Preallocation::kNone;
  // The newest job that writes zeros to it; null if there was none.
  std::shared_ptr<ZerosJob> zeros;

  // Ends the job, which a worker may be running.
  void StopZeros();
};

// Makes a spare and syncs it. If the file system cannot preallocate blocks, the file grows as it is
// written. If the disk is full, the call fails and leaves no file.
Result<Spare> MakeSpare(Directory& directory, const SpareRequest& request,
                        const SegmentHeader& header, const std::string& name);

// Calls MakeSpare() on a worker. The header is determined when the job is made, so that records can
// be framed for the segment before its file exists.
class SpareJob final : public Job {
 public:
  SpareJob(Directory& directory, SpareRequest request, SegmentHeader header, std::string name)
      : directory_(directory),
        request_(std::move(request)),
        header_(header),
        name_(std::move(name)),
        spare_(Status::Error(Code::kIo, "the spare has not been made yet")) {}

  const SegmentHeader& header() const { return header_; }
  // After done().
  Result<Spare>& spare() { return spare_; }

 protected:
  void Run() override { spare_ = MakeSpare(directory_, request_, header_, name_); }

 private:
  Directory& directory_;
  const SpareRequest request_;
  const SegmentHeader header_;
  const std::string name_;
  Result<Spare> spare_;
};

// Waits for the job and removes its file. A failure is ignored, because the next open removes the
// file.
void RemoveSpare(Directory& directory, SpareJob& job);

// Shared by the log and by the commits that write and sync it. The identity never changes. The
// first thread that needs the files opens them with Activate(), and later threads see them because
// that thread passes the segment to them.
class Segment {
 public:
  // A segment that exists: recovered from disk.
  Segment(uint64_t first_seq, const SegmentHeader& header, SegmentFile file);
  // A segment that will exist once Activate() has given the spare its name. `replaced` is null, or
  // has the same first seq, holds no record and bears that name until then.
  Segment(uint64_t first_seq, std::shared_ptr<SpareJob> spare,
          std::shared_ptr<Segment> replaced = nullptr);

  uint64_t first_seq() const { return first_seq_; }
  const SegmentHeader& header() const { return header_; }
  uint32_t crc_seed() const { return crc_seed_; }
  const std::string& name() const { return name_; }
  uint64_t bytes() const { return header_.segment_bytes; }
  Preallocation preallocated() const { return preallocated_; }

  bool active() const { return file_.is_open(); }
  // Waits for the spare that will become the segment. OK if there is one.
  Status AwaitSpare(Directory& directory);
  // Waits for the spare and renames it. The new entry is durable after the folder's next sync.
  // Closes the files of a replaced segment, which must not be in use; a failure opens them again.
  Status Activate(Directory& directory);
  // Gives up a segment that will not be activated: see RemoveSpare().
  void Discard(Directory& directory);
  // The identity of the file, if the system has one. After Activate().
  std::optional<FileId> id() const { return id_; }
  // After Activate().
  SegmentFile& file() { return file_; }
  // After Activate(). Opens the file as kDirect or kDirectUnsynced, once each. kUnsupported if the
  // file system refuses.
  Status OpenDirect(Directory& directory, OpenMode mode);
  // After OpenDirect() with the same mode.
  File& direct(OpenMode mode) { return mode == OpenMode::kDirect ? *direct_ : *direct_unsynced_; }

  // Whether a sync of the folder has covered the segment's name. Accessed by the running commit,
  // and by the log between commits.
  bool entry_synced = false;

 private:
  void NoteId();
  Status TakeName(Directory& directory, const std::string& spare_name);

  const uint64_t first_seq_;
  const SegmentHeader header_;
  const uint32_t crc_seed_;
  const std::string name_;
  std::shared_ptr<SpareJob> spare_;
  std::shared_ptr<Segment> replaced_;
  SegmentFile file_;
  std::optional<FileId> id_;
  std::unique_ptr<File> direct_;
  std::unique_ptr<File> direct_unsynced_;
  Preallocation preallocated_ = Preallocation::kNone;
};

}  // namespace durlog
