#include "segment/segment.h"

#include <algorithm>

#include "base/bytes.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

// Writes zeros from the end of the header to the end of the segment. Whole blocks bypass the page
// cache if possible: cached zeros are in large folios, and a store of one byte would write a whole
// folio back.
Status ZeroSegment(Directory& directory, File& file, const std::string& name, uint64_t bytes,
                   uint32_t direct_alignment) {
  std::unique_ptr<File> direct;
  if (direct_alignment != 0) {
    Result<std::unique_ptr<File>> opened = directory.Open(name, OpenMode::kDirectUnsynced);
    if (opened.ok()) direct = std::move(*opened);
  }
  if (!direct) return WriteZeros(file, kSegmentHeaderBytes, bytes);
  const uint64_t begin = std::min(AlignUp(kSegmentHeaderBytes, direct_alignment), bytes);
  const uint64_t end = std::max(AlignDown(bytes, direct_alignment), begin);
  DURLOG_RETURN_IF_ERROR(WriteZeros(file, kSegmentHeaderBytes, begin));
  DURLOG_RETURN_IF_ERROR(WriteZeros(*direct, begin, end));
  DURLOG_RETURN_IF_ERROR(WriteZeros(file, end, bytes));
  return direct->Close();
}

// If this fails, the first store maps the segment and reports the reason.
Chunk MapFirstChunk(File& file, const SpareRequest& request, const SegmentHeader& header) {
  Chunk chunk;
  chunk.end = std::min(request.first_chunk_bytes, header.segment_bytes);
  Status populated = PopulateChunk(file, request.populating, kSegmentHeaderBytes, &chunk);
  return populated.ok() ? chunk : Chunk{};
}

Result<Spare> FillSpare(Directory& directory, const SpareRequest& request,
                        const SegmentHeader& header, const std::string& name) {
  const OpenMode mode = header.recycled ? OpenMode::kReadWrite : OpenMode::kCreateNew;
  DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<File> opened, directory.Open(name, mode));
  Spare spare;
  spare.name = name;
  spare.file = SegmentFile(std::move(opened), header.segment_bytes);
  File& file = spare.file.handle();
  const bool zero = request.preallocation == Preallocation::kZero;
  // A recycled file may have been made without preallocation.
  if (header.recycled || request.preallocation != Preallocation::kNone) {
    Status allocated = spare.file.Allocate();
    if (!allocated.ok() && allocated.code() != Code::kUnsupported) return allocated;
  }
  if (spare.file.is_allocated()) spare.preallocated = Preallocation::kFallocate;
  uint8_t block[kSegmentHeaderBytes];
  EncodeSegmentHeader(header, block);
  DURLOG_RETURN_IF_ERROR(file.WriteAt(0, block, sizeof block));
  if (zero && !header.recycled) {
    DURLOG_RETURN_IF_ERROR(
        ZeroSegment(directory, file, spare.name, header.segment_bytes, request.direct_alignment));
  }
  if (zero) spare.preallocated = Preallocation::kZero;
  if (header.recycled) spare.preallocated = Preallocation::kRecycle;
  if (zero || header.recycled) spare.file.NoteWritten(header.segment_bytes);
  // Syncs size and extents as well, so that later durable writes into the file need no metadata.
  Status synced = file.SyncFull();
  if (!synced.ok()) {
    // The file holds no record. Another one can be made, for example once there is room.
    const Code code = Status::OfErrno(synced.sys_errno()).code();
    return std::move(synced).WithCode(code);
  }
  if (request.first_chunk_bytes > 0 && spare.file.is_allocated()) {
    spare.file.KeepFirstChunk(MapFirstChunk(file, request, header));
  }
  return spare;
}

}  // namespace

void Spare::StopZeros() {
  if (!zeros) return;
  zeros->Cancel();
  zeros->Await();
  file.NoteWritten(zeros->written_end());
}

Result<Spare> MakeSpare(Directory& directory, const SpareRequest& request,
                        const SegmentHeader& header, const std::string& name) {
  const std::string& made = header.recycled ? request.recycled_name : name;
  Result<Spare> spare = FillSpare(directory, request, header, made);
  if (!spare.ok()) {
    // The first error is returned; the next open removes a spare that is left.
    static_cast<void>(directory.Remove(made));
  }
  return spare;
}

Segment::Segment(uint64_t first_seq, const SegmentHeader& header, SegmentFile file)
    : entry_synced(true),
      first_seq_(first_seq),
      header_(header),
      crc_seed_(header.crc_seed()),
      name_(SegmentName(first_seq)),
      file_(std::move(file)) {
  NoteId();
}

Segment::Segment(uint64_t first_seq, std::shared_ptr<SpareJob> spare,
                 std::shared_ptr<Segment> replaced)
    : first_seq_(first_seq),
      header_(spare->header()),
      crc_seed_(header_.crc_seed()),
      name_(SegmentName(first_seq)),
      spare_(std::move(spare)),
      replaced_(std::move(replaced)) {
  // A segment that was never activated has no file; its name belongs to the segment that it should
  // have replaced.
  if (replaced_ && !replaced_->active()) replaced_ = replaced_->replaced_;
}

Status Segment::AwaitSpare(Directory& directory) {
  if (!spare_) return Status::Error(Code::kIo, "the segment was given up").WithPath(name_);
  spare_->Await();
  // The error names the segment, because the spare no longer exists.
  if (!spare_->spare().ok()) {
    return Status(spare_->spare().status()).WithPath(directory.PathOf(name_));
  }
  return Status::Ok();
}

Status Segment::Activate(Directory& directory) {
  if (active()) return Status::Ok();
  DURLOG_RETURN_IF_ERROR(AwaitSpare(directory));
  Spare& spare = spare_->spare().value();
  spare.StopZeros();
  DURLOG_RETURN_IF_ERROR(TakeName(directory, spare.name));
  file_ = std::move(spare.file);
  file_.handle().SetPath(directory.PathOf(name_));
  NoteId();
  preallocated_ = spare.preallocated;
  spare_.reset();
  return Status::Ok();
}

void Segment::NoteId() {
  if (!file_.is_open()) return;
  const Result<FileId> id = file_.handle().Id();
  if (id.ok()) id_ = *id;
}

// Not every file system renames over a file that is open.
Status Segment::TakeName(Directory& directory, const std::string& spare_name) {
  if (replaced_) {
    replaced_->file_ = SegmentFile();
    replaced_->direct_.reset();
    replaced_->direct_unsynced_.reset();
  }
  Status renamed = directory.Rename(spare_name, name_);
  // The error does not name the spare, whose file is removed when the log is closed.
  if (!renamed.ok()) renamed = std::move(renamed).WithPath(directory.PathOf(name_));
  if (!replaced_ || renamed.ok()) {
    replaced_.reset();
    return renamed;
  }
  Result<std::unique_ptr<File>> file = directory.Open(name_, OpenMode::kReadWrite);
  if (!file.ok()) {
    // Without a file the previous state cannot be restored, whatever the error was.
    return Status::Error(Code::kIo, "the segment could neither be replaced (" + renamed.message() +
                                        ") nor be opened again (" + file.status().message() + ")")
        .WithPath(directory.PathOf(name_));
  }
  replaced_->file_ = SegmentFile(std::move(*file), replaced_->bytes());
  return renamed;
}

void Segment::Discard(Directory& directory) {
  if (active() || !spare_) return;
  RemoveSpare(directory, *spare_);
  spare_.reset();
}

void RemoveSpare(Directory& directory, SpareJob& job) {
  job.Await();
  if (!job.spare().ok()) return;
  job.spare()->StopZeros();
  // Closes the file: a worker may hold the job longer, and a removed file keeps its blocks while it
  // is open.
  job.spare()->file = SegmentFile();
  static_cast<void>(directory.Remove(job.spare()->name));
}

Status Segment::OpenDirect(Directory& directory, OpenMode mode) {
  std::unique_ptr<File>& file = mode == OpenMode::kDirect ? direct_ : direct_unsynced_;
  if (file) return Status::Ok();
  DURLOG_ASSIGN_OR_RETURN(file, directory.Open(name_, mode));
  return Status::Ok();
}

}  // namespace durlog
