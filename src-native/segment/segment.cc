#include "segment/segment.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

constexpr size_t kZeroStepBytes = 4u << 20;

// What to try instead where the file system has no such call; kNone ends the line.
Preallocation Weaker(Preallocation how) {
  switch (how) {
    case Preallocation::kZeroRange:
      return Preallocation::kFallocate;
    case Preallocation::kFallocate:
    case Preallocation::kKeepSize:
      return Preallocation::kSparse;
    default:
      return Preallocation::kNone;
  }
}

Result<Preallocation> AllocateOrWeaker(File& file, Preallocation how, uint64_t bytes) {
  while (how != Preallocation::kNone) {
    Status status = file.Allocate(how, 0, bytes);
    if (status.ok()) return how;
    if (status.code() != Code::kUnsupported) return status;
    how = Weaker(how);
  }
  return how;
}

// Zeros from the header's end to the segment's, in steps that a slow disk can interleave with
// commits. Past the page cache where possible: cached zeros are large folios, and a one-byte store
// to one writes all of it back.
Status WriteZeros(Directory& directory, File& file, const std::string& name, uint64_t bytes,
                  bool past_cache) {
  std::unique_ptr<File> direct;
  if (past_cache) {
    Result<std::unique_ptr<File>> opened = directory.Open(name, OpenMode::kDirect);
    if (opened.ok()) direct = std::move(*opened);
  }
  File& target = direct ? *direct : file;
  AlignedBuffer zeros;
  if (!zeros.Reserve(kZeroStepBytes, 0)) {
    return Status::Error(Code::kOutOfMemory, "no memory for a block of zeros");
  }
  std::memset(zeros.data(), 0, kZeroStepBytes);
  for (uint64_t at = kSegmentHeaderBytes; at < bytes;) {
    const size_t step = static_cast<size_t>(std::min<uint64_t>(kZeroStepBytes, bytes - at));
    DURLOG_RETURN_IF_ERROR(target.WriteAt(at, zeros.data(), step));
    at += step;
  }
  return direct ? direct->Close() : Status::Ok();
}

bool HasAllBlocks(Preallocation how) {
  return how == Preallocation::kFallocate || how == Preallocation::kZeroRange;
}

// Where it cannot be had, whoever wants to store maps the segment himself and is told why.
Chunk MapFirstChunk(File& file, const SpareRequest& request, const SegmentHeader& header) {
  Chunk chunk;
  chunk.end = std::min(request.first_chunk_bytes, header.segment_bytes);
  Status populated = PopulateChunk(file, request.populating, kSegmentHeaderBytes, &chunk);
  return populated.ok() ? chunk : Chunk{};
}

Result<Spare> FillSpare(Directory& directory, const SpareRequest& request,
                        const SegmentHeader& header, Spare spare) {
  File& file = *spare.file;
  if (request.extent_size_hint != 0) {
    // A hint: where the file system has none, nothing is lost.
    Status hint = file.SetExtentSizeHint(request.extent_size_hint);
    if (!hint.ok() && hint.code() != Code::kUnsupported) return hint;
  }
  const bool zero = request.preallocation == Preallocation::kZero ||
                    request.preallocation == Preallocation::kRecycle;
  // A recycled file has its blocks; asking again is cheap, and it may have been sparse in its
  // former life.
  const Preallocation how =
      zero || header.recycled ? Preallocation::kFallocate : request.preallocation;
  DURLOG_ASSIGN_OR_RETURN(spare.preallocated, AllocateOrWeaker(file, how, header.segment_bytes));
  spare.blocks_allocated = HasAllBlocks(spare.preallocated);
  uint8_t block[kSegmentHeaderBytes];
  EncodeSegmentHeader(header, block);
  DURLOG_RETURN_IF_ERROR(file.WriteAt(0, block, sizeof block));
  if (zero && !header.recycled) {
    DURLOG_RETURN_IF_ERROR(
        WriteZeros(directory, file, spare.name, header.segment_bytes, request.zero_past_cache));
  }
  if (zero) spare.preallocated = request.preallocation;
  if (header.recycled) spare.preallocated = Preallocation::kRecycle;
  // Size and extents as well: from here on a durable write into it touches no metadata.
  DURLOG_RETURN_IF_ERROR(file.SyncFull());
  if (request.first_chunk_bytes > 0 && spare.blocks_allocated) {
    spare.first_chunk = MapFirstChunk(file, request, header);
  }
  return spare;
}

}  // namespace

Result<Spare> MakeSpare(Directory& directory, const SpareRequest& request,
                        const SegmentHeader& header, const std::string& name) {
  Spare spare;
  if (header.recycled) {
    spare.name = request.recycled_name;
    DURLOG_ASSIGN_OR_RETURN(spare.file, directory.Open(spare.name, OpenMode::kReadWrite));
  } else {
    spare.name = name;
    DURLOG_ASSIGN_OR_RETURN(spare.file, directory.Open(spare.name, OpenMode::kCreateNew));
  }
  const std::string made = spare.name;
  Result<Spare> filled = FillSpare(directory, request, header, std::move(spare));
  if (!filled.ok()) {
    // The first error is the one to tell; a leftover spare is swept up by the next open.
    Status removed = directory.Remove(made);
    static_cast<void>(removed);
  }
  return filled;
}

Segment::Segment(uint64_t first_seq, const SegmentHeader& header, std::unique_ptr<File> file)
    : entry_synced(true),
      first_seq_(first_seq),
      header_(header),
      crc_seed_(header.crc_seed()),
      name_(SegmentName(first_seq)),
      file_(std::move(file)) {}

Segment::Segment(uint64_t first_seq, std::shared_ptr<SpareJob> spare,
                 std::shared_ptr<Segment> replaced)
    : first_seq_(first_seq),
      header_(spare->header()),
      crc_seed_(header_.crc_seed()),
      name_(SegmentName(first_seq)),
      spare_(std::move(spare)),
      replaced_(std::move(replaced)) {
  // One that was never activated has no file; the name belongs to the one that it was to replace.
  if (replaced_ && !replaced_->active()) replaced_ = replaced_->replaced_;
}

Status Segment::Activate(Directory& directory) {
  if (active()) return Status::Ok();
  if (!spare_) return Status::Error(Code::kIo, "the segment was given up").WithPath(name_);
  spare_->Await();
  const std::string path = directory.path() + "/" + name_;
  // The spare is gone; what could not be made is the segment.
  if (!spare_->spare().ok()) return Status(spare_->spare().status()).WithPath(path);
  Spare& spare = spare_->spare().value();
  DURLOG_RETURN_IF_ERROR(TakeName(directory, spare.name));
  file_ = std::move(spare.file);
  file_->SetPath(path);
  preallocated_ = spare.preallocated;
  blocks_allocated_ = spare.blocks_allocated;
  first_chunk_ = std::move(spare.first_chunk);
  if (preallocated_ == Preallocation::kZero || preallocated_ == Preallocation::kRecycle) {
    written_until = bytes();
  }
  spare_.reset();
  return Status::Ok();
}

// Not every file system renames over a file that is open.
Status Segment::TakeName(Directory& directory, const std::string& spare_name) {
  if (replaced_) {
    replaced_->file_.reset();
    replaced_->direct_.reset();
  }
  Status renamed = directory.Rename(spare_name, name_);
  if (!replaced_ || renamed.ok()) {
    replaced_.reset();
    return renamed;
  }
  Result<std::unique_ptr<File>> file = directory.Open(name_, OpenMode::kReadWrite);
  if (!file.ok()) {
    // Without a file there is nothing to go back to, whatever the reason was.
    return Status::Error(Code::kIo, "the segment could neither be replaced (" + renamed.message() +
                                        ") nor be opened again (" + file.status().message() + ")")
        .WithPath(directory.path() + "/" + name_);
  }
  replaced_->file_ = std::move(*file);
  return renamed;
}

void Segment::Discard(Directory& directory) {
  if (active() || !spare_) return;
  spare_->Await();
  if (spare_->spare().ok()) {
    Status removed = directory.Remove(spare_->spare()->name);
    static_cast<void>(removed);
  }
  spare_.reset();
}

Status Segment::DropFirstChunk() {
  if (!first_chunk_.mapping) return Status::Ok();
  first_chunk_ = Chunk{};
  return file_->SyncData();
}

Result<File*> Segment::Direct(Directory& directory) {
  if (!direct_) {
    DURLOG_ASSIGN_OR_RETURN(direct_, directory.Open(name_, OpenMode::kDirect));
  }
  return direct_.get();
}

}  // namespace durlog
