// Builds a hostile folder, and inspects, repairs, opens, appends to, reads and reopens its log.
#include <cstdint>
#include <string>
#include <vector>

#include "../core/inline_executor.h"
#include "inspect/frames.h"
#include "inspect/repair.h"
#include "inspect/verify.h"
#include "log/log.h"
#include "read/log_reader.h"
#include "read/position_index.h"
#include "record/segment_name.h"
#include "require.h"
#include "signed_image.h"
#include "targets.h"

namespace durlog {
namespace {

class SilentListener final : public LogListener {
 public:
  void OnFailure(const Status&, uint64_t, uint64_t, bool) override { failed = true; }
  void OnRotated(uint64_t) override {}
  bool failed = false;
};

std::string NameOf(uint8_t kind, uint8_t seq) {
  switch (kind % 8) {
    case 0: return SpareName(seq);
    case 1: return "spare-" + std::to_string(seq);
    case 2: return kLockName;
    case 3: return SegmentName(seq < 128 ? kMaxSeq - seq : kMaxSeq + seq);
    default: return SegmentName(seq);
  }
}

// The input is a sequence of | kind | seq | length u16 | bytes |.
MemoryFolder SplitIntoFiles(const uint8_t* data, size_t size) {
  MemoryFolder files;
  while (size >= 4) {
    const std::string name = NameOf(data[0], data[1]);
    const size_t claimed = size_t{data[2]} | size_t{data[3]} << 8;
    const size_t length = std::min(claimed, size - 4);
    files[name] = std::make_shared<MemoryBytes>(SignedSegment(data + 4, length));
    data += 4 + length;
    size -= 4 + length;
  }
  return files;
}

MemoryFolder CopyOf(const MemoryFolder& files) {
  MemoryFolder copy;
  for (const auto& [name, bytes] : files) copy[name] = std::make_shared<MemoryBytes>(*bytes);
  return copy;
}

bool SameBytes(const MemoryFolder& before, const MemoryFolder& after) {
  for (const auto& [name, bytes] : before) {
    const auto found = after.find(name);
    if (found == after.end() || *found->second != *bytes) return false;
  }
  return true;
}

// Every seq that can be read, without damaged ones; each is larger than the previous one.
std::vector<uint64_t> ReadAll(MemoryFileSystem& disk, uint64_t from) {
  std::vector<uint64_t> seqs;
  Result<std::unique_ptr<LogReader>> opened = LogReader::Open(disk, "memory", from);
  if (!opened.ok()) return seqs;
  LogReader& reader = **opened;
  std::vector<uint8_t> buffer(256);
  ReadEntry entries[8];
  for (int steps = 0; steps < 20000; ++steps) {
    const Result<ReadBatch> batch =
        reader.Next(buffer.data(), buffer.size(), entries, 8, LogReader::kNoLimit);
    if (!batch.ok()) {
      if (batch.status().code() != Code::kCorrupt) return seqs;
      const Result<std::optional<uint64_t>> next = reader.SkipDamage();
      if (!next.ok() || !*next) return seqs;
      continue;
    }
    for (size_t i = 0; i < batch->count; ++i) {
      const uint64_t seq = batch->first_seq + i;
      Require(seqs.empty() || seq > seqs.back());
      Require(entries[i].offset + entries[i].length <= buffer.size());
      seqs.push_back(seq);
    }
    if (batch->count > 0) continue;
    if (batch->need_bytes == 0) return seqs;
    Require(batch->need_bytes > buffer.size() && batch->need_bytes <= (256u << 20));
    buffer.resize(batch->need_bytes);
  }
  Require(false);  // the reader loops
  return seqs;
}

void LookAt(MemoryFileSystem& disk) {
  const MemoryFolder before = CopyOf(disk.files);
  const Result<VerifyReport> verified = Verify(disk, "memory");
  const Result<LogBounds> bounds = ReadBounds(disk, "memory");
  if (bounds.ok()) Require(bounds->synced_end <= bounds->next_seq);
  const Result<RepairReport> plan = Repair(disk, "memory", false, "backup");
  if (plan.ok()) Require(plan->state != RecoveryState::kCorrupt);
  for (const auto& [name, bytes] : disk.files) {
    const Result<std::vector<FrameReport>> frames = ListFrames(disk, "memory", name, 0, 1000);
    if (frames.ok()) Require(frames->size() <= 1000);
  }
  ReadAll(disk, 0);
  Require(SameBytes(before, disk.files));
}

LogOptions OptionsFor(uint8_t choice, bool salvage) {
  LogOptions options;
  options.strategy = (choice & 1) != 0 ? Strategy::kPwrite : Strategy::kDirect;
  options.preallocation_auto = false;
  options.preallocation = (choice & 2) != 0 ? Preallocation::kNone : Preallocation::kFallocate;
  options.segment_bytes = 16384;
  options.max_record_bytes = 8192;
  options.salvage = salvage;
  return options;
}

bool AppendSome(Log& log, InlineExecutor& executor, SilentListener& listener) {
  log.Attach(&executor, &listener);
  const std::vector<uint8_t> payload(3000, 0x77);
  const Bytes whole{payload.data(), payload.size()};
  for (int i = 0; i < 8; ++i) {
    const uint64_t seq = log.next_seq();
    const Result<uint64_t> got = log.AppendSync(whole, Level::kSync);
    if (!got.ok()) return false;
    Require(*got == seq);
  }
  const PayloadParts batch[] = {Bytes{payload.data(), 5}, Bytes{payload.data(), 50}};
  const Result<uint64_t> first = log.AppendBatch(batch, 2, Level::kSync);
  if (!first.ok()) return false;
  log.PrepareClose();
  for (int i = 0; i < 100 && !log.idle(); ++i) {
    log.Pump();
    log.Harvest();
  }
  Require(listener.failed || log.idle());
  return !listener.failed;
}

void OpenAndAppend(MemoryFileSystem& disk, uint8_t choice) {
  const MemoryFolder before = CopyOf(disk.files);
  const std::vector<uint64_t> readable = ReadAll(disk, 0);
  bool salvaged = false;
  Result<std::unique_ptr<Log>> log = Log::Open(disk, "memory", OptionsFor(choice, false));
  if (!log.ok()) {
    Require(SameBytes(before, disk.files));
    if (log.status().code() != Code::kCorrupt) return;
    log = Log::Open(disk, "memory", OptionsFor(choice, true));
    if (!log.ok()) return;
    salvaged = true;
  }
  const uint64_t next_seq = (*log)->next_seq();
  if (next_seq > kMaxSeq - 1000) return;
  InlineExecutor executor;
  SilentListener listener;
  if (!AppendSome(**log, executor, listener)) return;
  Require((*log)->next_seq() == next_seq + 10);
  log = Status::Error(Code::kClosed, "closed");
  for (const auto& [name, bytes] : before) {
    if (salvaged && ParseSegmentName(name)) {
      // All but the segment that an earlier salvage left empty keep every byte.
      const MemoryBytes& now = *disk.files[name];
      Require(now.size() >= kSegmentHeaderBytes || now == *bytes);
      Require(now == *bytes || name == SegmentName(next_seq));
    }
  }
  const Result<std::unique_ptr<Log>> again = Log::Open(disk, "memory", OptionsFor(choice, false));
  Require(again.ok());
  Require((*again)->recovery().state == RecoveryState::kClean);
  Require((*again)->next_seq() == next_seq + 10);
  ReadAll(disk, (*again)->first_seq());
  // Begins here, because an open does not examine damage in earlier segments.
  const std::vector<uint64_t> seqs = ReadAll(disk, next_seq);
  Require(seqs.size() == 10);
  for (uint64_t i = 0; i < 10; ++i) Require(seqs[i] == next_seq + i);
}

}  // namespace

void TryOpen(const uint8_t* data, size_t size) {
  if (size < 1) return;
  const uint8_t choice = data[0];
  MemoryFileSystem disk;
  disk.files = SplitIntoFiles(data + 1, size - 1);
  // The process caches positions by salt, and every run has the same salts here.
  PositionIndex::Shared().Clear();
  LookAt(disk);
  const MemoryFolder files = CopyOf(disk.files);
  OpenAndAppend(disk, choice);
  disk.files = files;
  PositionIndex::Shared().Clear();
  disk.elsewhere.clear();
  const Result<RepairReport> repaired = Repair(disk, "memory", true, "backup");
  if (repaired.ok()) {
    const Result<LogBounds> bounds = ReadBounds(disk, "memory");
    Require(bounds.ok());
    const Result<RepairReport> once_more = Repair(disk, "memory", false, "backup");
    Require(once_more.ok() && once_more->cuts.empty());
  }
}

}  // namespace durlog
