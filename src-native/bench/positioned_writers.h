// Writers that track their position: pwrite through the page cache, and O_DIRECT past it.
#pragma once

#include <cstdint>

#include "bench/baseline.h"
#include "bench/scratch_file.h"

namespace durlog::bench {

enum class SyncCall { kNone, kStart, kDataOnly, kAll };

// pwrite, followed by nothing, by sync_file_range(WRITE) of the new bytes (starts the writeback
// without waiting for it), by fdatasync, or by fsync.
template <SyncCall kCall>
class PwriteWriter {
 public:
  explicit PwriteWriter(const Spec& spec) : spec_(spec) {}
  Status Open();
  bool HasRoom(uint64_t records) const {
    return offset_ + records * spec_.record_bytes <= spec_.file_bytes;
  }
  int Append(const uint8_t* record);
  int Sync();
  Status Close();

 private:
  const Spec spec_;
  ScopedFd file_;
  uint64_t offset_ = 0;
  uint64_t started_ = 0;  // writeback of the bytes below this offset has been started
};

// O_DIRECT, with consecutive records as in a log: the unfinished last block is kept in memory and
// written again with the next record. With kDurable, O_DSYNC is set too, so that a write is on the
// device when it returns.
template <bool kDurable>
class DirectWriter {
 public:
  explicit DirectWriter(const Spec& spec) : spec_(spec) {}
  Status Open();
  bool HasRoom(uint64_t records) const {
    return block_offset_ + tail_bytes_ + records * spec_.record_bytes + kBlockBytes <=
           spec_.file_bytes;
  }
  int Append(const uint8_t* record);
  int Sync() { return 0; }
  Status Close();

 private:
  const Spec spec_;
  ScopedFd file_;
  AlignedBuffer staged_;
  uint64_t block_offset_ = 0;  // the offset of staged_[0] in the file
  uint64_t tail_bytes_ = 0;    // the bytes of the block at block_offset_ that hold records
};

}  // namespace durlog::bench
