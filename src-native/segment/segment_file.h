// A segment's file: its length, its blocks, and the jobs that fill it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/job_list.h"
#include "platform/file_system.h"
#include "segment/chunk.h"

namespace durlog {

// The one owner of what is known about the file. Each call that makes the file shorter changes what
// is known of its blocks, so that no store goes to a block that the file no longer has.
//
// Used by one thread at a time: by the running commit, and by the log between commits. Jobs that
// fill the file use handle() alone.
class SegmentFile {
 public:
  SegmentFile() = default;
  // A file about whose blocks nothing is known.
  SegmentFile(std::unique_ptr<File> file, uint64_t segment_bytes)
      : file_(std::move(file)), segment_bytes_(segment_bytes) {}

  bool is_open() const { return file_ != nullptr; }
  File& handle() { return *file_; }
  // Hands over the file, and forgets its blocks.
  std::unique_ptr<File> Release() { return std::exchange(*this, SegmentFile()).file_; }
  uint64_t segment_bytes() const { return segment_bytes_; }

  // Every byte of the segment has an allocated block: a store to it through a map succeeds.
  bool is_allocated() const { return is_allocated_; }
  // Every extent before this offset is known to be written, by records or by zeros.
  uint64_t written_end() const { return written_end_; }
  void NoteWritten(uint64_t end) { written_end_ = std::max(written_end_, end); }

  // Allocates every block of the segment. kUnsupported if the file system cannot. A failure leaves
  // the file as it was, and a later call may succeed.
  Status Allocate();
  // Makes the file end at `bytes`, if it is longer.
  Status Truncate(uint64_t bytes);
  // Truncates the file, allocates its blocks again if it had its full length, and syncs it. If
  // there is no space or memory for the blocks, the file stays short: it can still grow as it is
  // written, and Allocate() has to succeed before it is mapped.
  Status Cut(uint64_t offset);
  // As Cut(). `reallocates` states whether to allocate the blocks again.
  Status Cut(uint64_t offset, bool reallocates);

  // Notes a job that writes to the file, past its records.
  void AddFill(std::shared_ptr<Job> fill) { fills_.Add(std::move(fill)); }
  bool is_filling() const { return !fills_.AllDone(); }
  // May block for as long as a job takes to populate one chunk.
  void AwaitFills() { fills_.AwaitAll(); }
  // Waits for the jobs that fill the file, and unmaps the chunk that was mapped in advance. Call it
  // before another object makes the file shorter or gives it to another segment: a store to a page
  // after the end of the file would fail, and a fill would end up in the new records.
  void LetGo() {
    AwaitFills();
    first_chunk_ = Chunk{};
  }

  // The chunk that was mapped before the segment got its name.
  void KeepFirstChunk(Chunk chunk) { first_chunk_ = std::move(chunk); }
  bool has_first_chunk() const { return first_chunk_.mapping != nullptr; }
  // Without a mapping from the second call on.
  Chunk TakeFirstChunk() { return std::exchange(first_chunk_, Chunk{}); }
  // Call it before the file is written without the map. Unmaps the chunk and syncs the pages that
  // it dirtied, so that none is written back over a direct write.
  Status DropFirstChunk();

  // As the functions of File.
  Result<size_t> ReadAt(uint64_t offset, void* to, size_t length) {
    return file_->ReadAt(offset, to, length);
  }
  Status WriteAt(uint64_t offset, const void* from, size_t length) {
    return file_->WriteAt(offset, from, length);
  }
  Status StartWriteback(uint64_t offset, uint64_t length) {
    return file_->StartWriteback(offset, length);
  }
  Status SyncData() { return file_->SyncData(); }
  Status SyncFull() { return file_->SyncFull(); }

 private:
  std::unique_ptr<File> file_;
  uint64_t segment_bytes_ = 0;
  bool is_allocated_ = false;
  uint64_t written_end_ = 0;
  Chunk first_chunk_;
  JobList fills_;
};

}  // namespace durlog
