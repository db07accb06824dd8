#include "bench/positioned_writers.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/bytes.h"

namespace durlog::bench {

namespace {

// Returns 0 or an errno. A short write to a regular file means that the disk is full.
int WriteAll(int fd, const void* from, uint64_t bytes, uint64_t offset) {
  const ssize_t written = pwrite(fd, from, static_cast<size_t>(bytes), static_cast<off_t>(offset));
  if (written < 0) return errno;
  return static_cast<uint64_t>(written) == bytes ? 0 : ENOSPC;
}

}  // namespace

template <SyncCall kCall>
Status PwriteWriter<kCall>::Open() {
  DURLOG_ASSIGN_OR_RETURN(file_, OpenFile(spec_.path, O_RDWR));
  offset_ = 0;
  started_ = 0;
  return Status::Ok();
}

template <SyncCall kCall>
int PwriteWriter<kCall>::Append(const uint8_t* record) {
  const int error = WriteAll(file_.get(), record, spec_.record_bytes, offset_);
  offset_ += spec_.record_bytes;
  return error;
}

template <SyncCall kCall>
int PwriteWriter<kCall>::Sync() {
  int failed = 0;
  if (kCall == SyncCall::kStart) {
    failed = sync_file_range(file_.get(), static_cast<off_t>(started_),
                             static_cast<off_t>(offset_ - started_), SYNC_FILE_RANGE_WRITE);
    started_ = offset_;
  } else if (kCall != SyncCall::kNone) {
    failed = kCall == SyncCall::kAll ? fsync(file_.get()) : fdatasync(file_.get());
  }
  return failed == 0 ? 0 : errno;
}

template <SyncCall kCall>
Status PwriteWriter<kCall>::Close() {
  return CloseFile(&file_, spec_.path);
}

template <bool kDurable>
Status DirectWriter<kDurable>::Open() {
  DURLOG_ASSIGN_OR_RETURN(staged_,
                          MakeZeroedBuffer(AlignUp(spec_.record_bytes, kBlockBytes) + kBlockBytes));
  DURLOG_ASSIGN_OR_RETURN(file_,
                          OpenFile(spec_.path, O_RDWR | O_DIRECT | (kDurable ? O_DSYNC : 0)));
  block_offset_ = 0;
  tail_bytes_ = 0;
  return Status::Ok();
}

template <bool kDurable>
int DirectWriter<kDurable>::Append(const uint8_t* record) {
  std::memcpy(staged_.data() + tail_bytes_, record, spec_.record_bytes);
  tail_bytes_ += spec_.record_bytes;
  const uint64_t bytes = AlignUp(tail_bytes_, kBlockBytes);
  // The rest of the last block holds bytes of earlier records.
  std::memset(staged_.data() + tail_bytes_, 0, bytes - tail_bytes_);
  const int error = WriteAll(file_.get(), staged_.data(), bytes, block_offset_);
  const uint64_t finished = AlignDown(tail_bytes_, kBlockBytes);
  if (finished != 0) {
    std::memmove(staged_.data(), staged_.data() + finished, bytes - finished);
    block_offset_ += finished;
    tail_bytes_ -= finished;
  }
  return error;
}

template <bool kDurable>
Status DirectWriter<kDurable>::Close() {
  return CloseFile(&file_, spec_.path);
}

template class PwriteWriter<SyncCall::kNone>;
template class PwriteWriter<SyncCall::kStart>;
template class PwriteWriter<SyncCall::kDataOnly>;
template class PwriteWriter<SyncCall::kAll>;
template class DirectWriter<true>;
template class DirectWriter<false>;

}  // namespace durlog::bench
