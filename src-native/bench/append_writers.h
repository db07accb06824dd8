// Writers that append with O_APPEND, so that the kernel chooses the offset. Several processes can
// append to one file if the method allows it. None of the writers syncs.
#pragma once

#include <linux/aio_abi.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "bench/baseline.h"
#include "bench/scratch_file.h"

namespace durlog::bench {

// The common base of the O_APPEND writers: the descriptor and this process's progress.
class Appending {
 public:
  explicit Appending(const Spec& spec) : spec_(spec) {}
  bool HasRoom(uint64_t records) const {
    return spec_.shared || written_ + records * spec_.record_bytes <= spec_.file_bytes;
  }
  int Sync() { return 0; }
  Status Close();

 protected:
  Status OpenAppending(int flags);

  const Spec spec_;
  ScopedFd file_;
  uint64_t written_ = 0;
};

// write(2).
class WriteAppend : public Appending {
 public:
  using Appending::Appending;
  Status Open() { return OpenAppending(0); }
  int Append(const uint8_t* record);
};

// writev(2) of the record in two pieces, as a log with headers and payloads would do it.
class WritevAppend : public Appending {
 public:
  using Appending::Appending;
  Status Open() { return OpenAppending(0); }
  int Append(const uint8_t* record);
};

// O_DIRECT | O_APPEND, each record padded to whole blocks. This is the only way in which several
// processes can append past the page cache.
class DirectAppend : public Appending {
 public:
  using Appending::Appending;
  Status Open();
  int Append(const uint8_t* record);

 private:
  AlignedBuffer padded_;
};

// fwrite; with kFlush, an fflush after each record. Otherwise the record stays in this process
// until stdio's buffer is full, and kill -9 loses it.
template <bool kFlush>
class StdioAppend {
 public:
  explicit StdioAppend(const Spec& spec) : spec_(spec) {}
  StdioAppend(const StdioAppend&) = delete;
  StdioAppend& operator=(const StdioAppend&) = delete;
  ~StdioAppend();
  Status Open();
  bool HasRoom(uint64_t records) const {
    return spec_.shared || written_ + records * spec_.record_bytes <= spec_.file_bytes;
  }
  int Append(const uint8_t* record);
  int Sync() { return 0; }
  Status Close();

 private:
  const Spec spec_;
  std::FILE* stream_ = nullptr;
  uint64_t written_ = 0;
};

// Linux AIO through its raw system calls: one io_submit starts up to kDepth appends, and one
// io_getevents collects their results.
class AioAppend : public Appending {
 public:
  explicit AioAppend(const Spec& spec);
  AioAppend(const AioAppend&) = delete;
  AioAppend& operator=(const AioAppend&) = delete;
  ~AioAppend();
  Status Open();
  int Append(const uint8_t* record);
  int Sync() { return Flush(); }
  Status Close();

 private:
  static constexpr uint32_t kDepth = 32;
  int Flush();

  std::vector<uint8_t> records_;  // kDepth copies, which the kernel reads until it is collected
  std::vector<iocb> controls_;
  std::vector<iocb*> pointers_;
  aio_context_t context_ = 0;
  uint32_t queued_ = 0;
};

}  // namespace durlog::bench
