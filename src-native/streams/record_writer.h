// Writes records after the end of a stream's file: docs/STREAMS.md, "The file of a stream".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "platform/file_system.h"

namespace durlog {

// The extensions of the file of a stream whose records are lines, or frames.
constexpr char kLinesExtension[] = ".jsonl";
constexpr char kFramesExtension[] = ".frames";
// The header of a frame: the length and the CRC-32C of its data.
constexpr size_t kStreamFrameHeaderBytes = 8;
// A reader of a growing file may see a part of a buffered write, which ends with a page. Also the
// alignment of direct writes.
constexpr size_t kStreamPageBytes = 4096;

struct StreamRecord {
  Bytes data;
  uint64_t time_ms = 0;
  uint64_t position = 0;
};

// Counts the steps that change the device. A trial limits their number, so that the call stops
// after each of them in turn.
class StepLimit {
 public:
  explicit StepLimit(uint64_t limit) : left_(limit) {}
  // Returns false once the limit has been reached.
  bool Take() {
    if (left_ == 0) stopped_ = true;
    if (stopped_) return false;
    --left_;
    ++taken_;
    return true;
  }
  bool stopped() const { return stopped_; }
  uint64_t taken() const { return taken_; }

 private:
  uint64_t left_;
  uint64_t taken_ = 0;
  bool stopped_ = false;
};

// The error of a call that was stopped by the limit.
Status StoppedError();

// Writes one file, which stays open as long as the writer exists.
class RecordWriter {
 public:
  RecordWriter(Directory& directory, std::string name, AlignedBuffer* scratch, StepLimit* steps)
      : directory_(directory), name_(std::move(name)), scratch_(scratch), steps_(steps) {}

  // Opens the file, which is created if `size` is 0. False if its length is not `size`.
  Result<bool> Open(uint64_t size);
  // Writes the records from `size` on, one line or one frame each, and continues `crc`. Appends the
  // offset after each record to `ends`.
  Status WriteLines(uint64_t size, const StreamRecord* records, size_t count, uint32_t* crc,
                    std::vector<uint64_t>* ends);
  Status WriteFrames(uint64_t size, const StreamRecord* records, size_t count, uint32_t* crc,
                     std::vector<uint64_t>* ends);
  Status Sync();
  // Starts the writeback of the file from `from` on, without waiting for it.
  Status StartWriteback(uint64_t from);

 private:
  // Bytes of `scratch_` that are to be written at `offset_`.
  Status Add(const void* from, size_t length);
  Status AddSpaces(size_t count);
  Status Flush(bool direct, uint32_t* crc);
  Status WriteInPages(const StreamRecord* records, size_t count, uint32_t* crc,
                      std::vector<uint64_t>* ends);
  Status WriteInBlocks(const StreamRecord* records, size_t count, uint32_t* crc,
                       std::vector<uint64_t>* ends);
  // Null if the file system has no direct I/O.
  Result<File*> Direct();

  Directory& directory_;
  const std::string name_;
  AlignedBuffer* const scratch_;
  StepLimit* const steps_;
  std::unique_ptr<File> file_;
  std::unique_ptr<File> direct_;
  bool direct_refused_ = false;
  uint64_t offset_ = 0;
  size_t used_ = 0;
};

}  // namespace durlog
