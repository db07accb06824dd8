#include "streams/record_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "checksum/crc32c.h"

namespace durlog {
namespace {

// If records need more pages than this, they are written with direct I/O.
constexpr size_t kBufferedPagesMax = 16;
// The approximate size of a direct write, and of a write of frames. A longer record is written
// whole.
constexpr size_t kPieceBytes = 256 << 10;

}  // namespace

Status StoppedError() { return Status::Error(Code::kIo, "stopped by a trial"); }

Result<bool> RecordWriter::Open(uint64_t size) {
  Result<std::unique_ptr<File>> opened = directory_.Open(name_, OpenMode::kReadWrite);
  if (opened.status().code() == Code::kNotFound) {
    if (size > 0) return false;
    if (!steps_->Take()) return StoppedError();
    opened = directory_.Open(name_, OpenMode::kCreatePrivate);
  }
  if (opened.status().code() == Code::kNotALog) return false;
  if (!opened.ok()) return opened.TakeStatus();
  file_ = std::move(*opened);
  DURLOG_ASSIGN_OR_RETURN(const uint64_t found, file_->Size());
  return found == size;
}

Status RecordWriter::Add(const void* from, size_t length) {
  if (!scratch_->Reserve(used_ + length, used_)) {
    return Status::Error(Code::kOutOfMemory, "no memory for the lines of a stream");
  }
  std::memcpy(scratch_->data() + used_, from, length);
  used_ += length;
  return Status::Ok();
}

Status RecordWriter::AddSpaces(size_t count) {
  static constexpr char kSpaces[] =
      "                                                                ";
  for (; count > 0; count -= std::min(count, sizeof kSpaces - 1)) {
    DURLOG_RETURN_IF_ERROR(Add(kSpaces, std::min(count, sizeof kSpaces - 1)));
  }
  return Status::Ok();
}

Result<File*> RecordWriter::Direct() {
  if (direct_ || direct_refused_) return direct_.get();
  Result<std::unique_ptr<File>> opened = directory_.Open(name_, OpenMode::kDirectUnsynced);
  if (opened.ok()) {
    direct_ = std::move(*opened);
  } else if (opened.status().code() == Code::kUnsupported) {
    direct_refused_ = true;
  } else {
    return opened.TakeStatus();
  }
  return direct_.get();
}

Status RecordWriter::Flush(bool direct, uint32_t* crc) {
  if (used_ == 0) return Status::Ok();
  if (!steps_->Take()) return StoppedError();
  File* file = nullptr;
  if (direct) {
    DURLOG_ASSIGN_OR_RETURN(file, Direct());
  }
  if (file != nullptr) {
    Status written = file->WriteAt(offset_, scratch_->data(), used_);
    if (!written.ok()) {
      // Some file systems refuse only the write.
      if (written.sys_errno() != EINVAL) return written;
      direct_.reset();
      direct_refused_ = true;
      file = nullptr;
    }
  }
  if (file == nullptr) DURLOG_RETURN_IF_ERROR(file_->WriteAt(offset_, scratch_->data(), used_));
  *crc = Crc32c(*crc, scratch_->data(), used_);
  offset_ += used_;
  used_ = 0;
  return Status::Ok();
}

Status RecordWriter::WriteLines(uint64_t size, const StreamRecord* records, size_t count,
                                uint32_t* crc, std::vector<uint64_t>* ends) {
  offset_ = size;
  size_t total = 0;
  size_t longest = 0;
  for (size_t i = 0; i < count; ++i) {
    total += records[i].data.size + 1;
    longest = std::max(longest, records[i].data.size + 1);
  }
  return longest > kStreamPageBytes || total > kBufferedPagesMax * kStreamPageBytes
             ? WriteInBlocks(records, count, crc, ends)
             : WriteInPages(records, count, crc, ends);
}

// One write. A line that does not fit into the rest of a page begins on the next page, so that a
// reader never sees a part of a line.
Status RecordWriter::WriteInPages(const StreamRecord* records, size_t count, uint32_t* crc,
                                  std::vector<uint64_t>* ends) {
  for (size_t i = 0; i < count; ++i) {
    const Bytes line = records[i].data;
    const size_t room =
        kStreamPageBytes - static_cast<size_t>((offset_ + used_) % kStreamPageBytes);
    if (line.size + 1 > room) DURLOG_RETURN_IF_ERROR(AddSpaces(room));
    DURLOG_RETURN_IF_ERROR(Add(line.data, line.size));
    DURLOG_RETURN_IF_ERROR(Add("\n", 1));
    ends->push_back(offset_ + used_);
  }
  return Flush(false, crc);
}

// Fills the current block with spaces, and then writes whole blocks. The last line of each write is
// padded with spaces before its newline.
Status RecordWriter::WriteInBlocks(const StreamRecord* records, size_t count, uint32_t* crc,
                                   std::vector<uint64_t>* ends) {
  if (offset_ % kStreamPageBytes != 0) {
    DURLOG_RETURN_IF_ERROR(
        AddSpaces(kStreamPageBytes - static_cast<size_t>(offset_ % kStreamPageBytes)));
    DURLOG_RETURN_IF_ERROR(Flush(false, crc));
    // The direct writes extend the file on the device. Without this sync, a power cut could leave
    // zeros in place of the spaces, which are only in memory.
    DURLOG_RETURN_IF_ERROR(Sync());
  }
  for (size_t i = 0; i < count; ++i) {
    const Bytes line = records[i].data;
    DURLOG_RETURN_IF_ERROR(Add(line.data, line.size));
    const bool last = i + 1 == count || used_ + 1 >= kPieceBytes;
    if (last) {
      DURLOG_RETURN_IF_ERROR(
          AddSpaces(static_cast<size_t>(AlignUp(used_ + 1, kStreamPageBytes)) - used_ - 1));
    }
    DURLOG_RETURN_IF_ERROR(Add("\n", 1));
    ends->push_back(offset_ + used_);
    if (last) DURLOG_RETURN_IF_ERROR(Flush(true, crc));
  }
  return Status::Ok();
}

Status RecordWriter::WriteFrames(uint64_t size, const StreamRecord* records, size_t count,
                                 uint32_t* crc, std::vector<uint64_t>* ends) {
  offset_ = size;
  for (size_t i = 0; i < count; ++i) {
    const Bytes data = records[i].data;
    uint8_t header[kStreamFrameHeaderBytes];
    Store32(header, static_cast<uint32_t>(data.size));
    Store32(header + 4, Crc32c(0, data.data, data.size));
    DURLOG_RETURN_IF_ERROR(Add(header, sizeof header));
    if (data.size > 0) DURLOG_RETURN_IF_ERROR(Add(data.data, data.size));
    ends->push_back(offset_ + used_);
    if (used_ >= kPieceBytes) DURLOG_RETURN_IF_ERROR(Flush(false, crc));
  }
  return Flush(false, crc);
}

Status RecordWriter::StartWriteback(uint64_t from) {
  return file_->StartWriteback(from, offset_ - from);
}

Status RecordWriter::Sync() {
  if (!steps_->Take()) return StoppedError();
  return file_->SyncData();
}

}  // namespace durlog
