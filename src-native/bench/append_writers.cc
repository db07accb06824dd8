#include "bench/append_writers.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/bytes.h"

namespace durlog::bench {

namespace {

// 0 or errno from the result of a write of `bytes`.
int Written(int64_t result, uint64_t bytes) {
  if (result < 0) return errno;
  return static_cast<uint64_t>(result) == bytes ? 0 : ENOSPC;
}

}  // namespace

Status Appending::OpenAppending(int flags) {
  DURLOG_ASSIGN_OR_RETURN(file_, OpenFile(spec_.path, O_WRONLY | O_APPEND | flags));
  written_ = 0;
  return Status::Ok();
}

Status Appending::Close() { return CloseFile(&file_, spec_.path); }

int WriteAppend::Append(const uint8_t* record) {
  written_ += spec_.record_bytes;
  return Written(write(file_.get(), record, spec_.record_bytes), spec_.record_bytes);
}

int WritevAppend::Append(const uint8_t* record) {
  const size_t first = std::min<size_t>(24, spec_.record_bytes);
  auto* start = const_cast<uint8_t*>(record);
  const iovec parts[2] = {{start, first}, {start + first, spec_.record_bytes - first}};
  written_ += spec_.record_bytes;
  return Written(writev(file_.get(), parts, 2), spec_.record_bytes);
}

Status DirectAppend::Open() {
  DURLOG_ASSIGN_OR_RETURN(padded_, MakeZeroedBuffer(AlignUp(spec_.record_bytes, kBlockBytes)));
  return OpenAppending(O_DIRECT);
}

int DirectAppend::Append(const uint8_t* record) {
  const uint64_t bytes = AlignUp(spec_.record_bytes, kBlockBytes);
  std::memcpy(padded_.data(), record, spec_.record_bytes);
  written_ += bytes;
  return Written(write(file_.get(), padded_.data(), bytes), bytes);
}

template <bool kFlush>
StdioAppend<kFlush>::~StdioAppend() {
  static_cast<void>(Close());
}

template <bool kFlush>
Status StdioAppend<kFlush>::Open() {
  stream_ = std::fopen(spec_.path.c_str(), "ae");
  if (stream_ == nullptr) return Status::System("fopen", errno, spec_.path);
  written_ = 0;
  return Status::Ok();
}

template <bool kFlush>
int StdioAppend<kFlush>::Append(const uint8_t* record) {
  written_ += spec_.record_bytes;
  if (std::fwrite(record, 1, spec_.record_bytes, stream_) != spec_.record_bytes) return errno;
  return !kFlush || std::fflush(stream_) == 0 ? 0 : errno;
}

template <bool kFlush>
Status StdioAppend<kFlush>::Close() {
  if (stream_ == nullptr || std::fclose(std::exchange(stream_, nullptr)) == 0) return Status::Ok();
  return Status::System("fclose", errno, spec_.path);
}

AioAppend::AioAppend(const Spec& spec)
    : Appending(spec), records_(spec.record_bytes * kDepth), controls_(kDepth), pointers_(kDepth) {}

AioAppend::~AioAppend() { static_cast<void>(Close()); }

Status AioAppend::Open() {
  DURLOG_RETURN_IF_ERROR(OpenAppending(0));
  queued_ = 0;
  if (syscall(SYS_io_setup, kDepth, &context_) != 0) {
    return Status::System("io_setup", errno, spec_.path);
  }
  return Status::Ok();
}

int AioAppend::Append(const uint8_t* record) {
  uint8_t* copy = records_.data() + queued_ * spec_.record_bytes;
  std::memcpy(copy, record, spec_.record_bytes);
  iocb& control = controls_[queued_];
  control = {};
  control.aio_fildes = static_cast<uint32_t>(file_.get());
  control.aio_lio_opcode = IOCB_CMD_PWRITE;
  control.aio_buf = reinterpret_cast<uintptr_t>(copy);
  control.aio_nbytes = spec_.record_bytes;
  pointers_[queued_] = &control;
  written_ += spec_.record_bytes;
  return ++queued_ == kDepth ? Flush() : 0;
}

int AioAppend::Flush() {
  uint32_t submitted = 0;
  int error = 0;
  while (submitted < queued_ && error == 0) {
    const long taken =
        syscall(SYS_io_submit, context_, queued_ - submitted, pointers_.data() + submitted);
    if (taken < 0) error = errno;
    if (taken > 0) submitted += static_cast<uint32_t>(taken);
  }
  for (uint32_t collected = 0; collected < submitted;) {
    io_event events[kDepth];
    const long got = syscall(SYS_io_getevents, context_, 1, kDepth, events, nullptr);
    if (got < 0) return errno;
    for (long i = 0; i < got; ++i) {
      if (events[i].res < 0) error = static_cast<int>(-events[i].res);
    }
    collected += static_cast<uint32_t>(got);
  }
  queued_ = 0;
  return error;
}

Status AioAppend::Close() {
  if (context_ == 0) return Status::Ok();
  const int error = Flush();
  static_cast<void>(syscall(SYS_io_destroy, std::exchange(context_, aio_context_t{0})));
  if (error != 0) return Status::System("io_submit", error, spec_.path);
  return Appending::Close();
}

template class StdioAppend<true>;
template class StdioAppend<false>;

}  // namespace durlog::bench
