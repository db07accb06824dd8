#include "bench/record_pattern.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/bytes.h"
#include "bench/scratch_file.h"

namespace durlog::bench {

namespace {

constexpr uint8_t kFill = 0x5A;
constexpr uint8_t kShortFill = 0x80;
constexpr uint64_t kReadBytes = 4u << 20;
constexpr uint64_t kMaxCounter = 1ull << 32;

// The counters that have been seen, one bit each, for each writer.
class Seen {
 public:
  // False if it was present already.
  bool Insert(uint32_t writer, uint64_t counter) {
    std::vector<bool>& bits = writers_[writer];
    if (bits.size() <= counter) bits.resize(std::max<uint64_t>(counter + 1, bits.size() * 2));
    if (bits[counter]) return false;
    bits[counter] = true;
    return true;
  }

 private:
  std::vector<bool> writers_[kMaxWriters];
};

bool AllZero(const uint8_t* slot, uint64_t bytes) {
  return std::all_of(slot, slot + bytes, [](uint8_t byte) { return byte == 0; });
}

bool IsWhole(const uint8_t* slot, uint64_t bytes) {
  if (bytes < kStampBytes) {
    return (slot[0] & kShortFill) != 0 && static_cast<uint32_t>(slot[0] & 0x7F) < kMaxWriters &&
           std::all_of(slot, slot + bytes, [slot](uint8_t byte) { return byte == slot[0]; });
  }
  if (Load32(slot) != kRecordMagic || Load32(slot + 4) >= kMaxWriters) return false;
  const uint64_t counter = Load64(slot + 8);
  if (counter >= kMaxCounter) return false;
  if (bytes < kTailStampBytes) return true;
  return Load64(slot + bytes - 8) == counter &&
         std::all_of(slot + kStampBytes, slot + bytes - 8,
                     [](uint8_t byte) { return byte == kFill; });
}

void CountSlot(const uint8_t* slot, uint64_t bytes, Seen* seen, Verified* verified) {
  if (IsWhole(slot, bytes)) {
    const bool first = bytes < kStampBytes || seen->Insert(Load32(slot + 4), Load64(slot + 8));
    ++(first ? verified->records : verified->duplicates);
  } else if (!AllZero(slot, bytes)) {
    ++verified->damaged;
  }
}

}  // namespace

std::vector<uint8_t> MakeRecord(uint64_t bytes, uint32_t writer) {
  if (bytes < kStampBytes) {
    return std::vector<uint8_t>(bytes, static_cast<uint8_t>(kShortFill | writer));
  }
  std::vector<uint8_t> record(bytes, kFill);
  Store32(record.data(), kRecordMagic);
  Store32(record.data() + 4, writer);
  return record;
}

Result<Verified> VerifyRecords(const std::string& path, uint64_t start, uint64_t stride,
                               uint64_t record_bytes) {
  DURLOG_ASSIGN_OR_RETURN(ScopedFd file, OpenFile(path, O_RDONLY));
  const uint64_t slots = std::max<uint64_t>(1, kReadBytes / stride);
  std::vector<uint8_t> buffer(slots * stride);
  Verified verified;
  Seen seen;
  uint64_t held = 0;
  for (uint64_t at = start;;) {
    const ssize_t got =
        pread(file.get(), buffer.data() + held, buffer.size() - held, static_cast<off_t>(at));
    if (got < 0) return Status::System("pread", errno, path);
    at += static_cast<uint64_t>(got);
    held += static_cast<uint64_t>(got);
    if (got != 0 && held < buffer.size()) continue;
    const uint64_t whole = held - held % stride;
    for (uint64_t slot = 0; slot < whole; slot += stride) {
      CountSlot(buffer.data() + slot, record_bytes, &seen, &verified);
    }
    if (got == 0) {
      if (!AllZero(buffer.data() + whole, held - whole)) ++verified.damaged;
      return verified;
    }
    held = 0;
  }
}

}  // namespace durlog::bench
