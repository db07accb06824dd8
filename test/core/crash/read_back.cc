#include "read_back.h"

#include <algorithm>
#include <vector>

#include "read/log_reader.h"

namespace durlog::crash {
namespace {

std::string Text(uint64_t number) { return std::to_string(number); }

std::string Describe(const Status& status) {
  std::string text = status.message() + " (code " + Text(static_cast<uint64_t>(status.code()));
  if (!status.path().empty()) text += ", " + status.path();
  if (status.offset() >= 0) text += ", offset " + Text(static_cast<uint64_t>(status.offset()));
  return text + ")";
}

std::string Problems(const VerifyReport& report) {
  std::string text;
  for (const Problem& problem : report.problems) {
    text += "; " + problem.message + " in " + problem.segment + " at " + Text(problem.offset);
  }
  return text + "; known synced below " + Text(report.bounds.synced_end) + " of " +
         Text(report.bounds.next_seq);
}

std::string CheckBounds(const Found& found, const Ledger& ledger, Survived survived) {
  const uint64_t floor = survived == Survived::kPowerCut ? ledger.synced : ledger.in_memory;
  const std::string range = "[" + Text(found.first) + ", " + Text(found.next) + ")";
  if (found.next < floor)
    return "acknowledged records are lost: " + range + ", promised " + Text(floor);
  if (found.next > ledger.next()) {
    return "records that were cut or never appended: " + range + ", appended " +
           Text(ledger.next());
  }
  if (found.first < ledger.first_low) {
    return "trimmed records are back: " + range + ", trimmed below " + Text(ledger.first_low);
  }
  if (found.first > ledger.first_high) {
    return "records are gone that were not trimmed: " + range + ", trimmed below " +
           Text(ledger.first_high);
  }
  if (!ledger.MayEndAt(found.next)) return "a batch is torn: " + range;
  if (ledger.closed_cleanly && found.state != RecoveryState::kClean) {
    return "a log that was closed is not found clean";
  }
  return "";
}

std::string CheckRecord(uint64_t seq, const uint8_t* payload, size_t size, uint64_t time_ms,
                        const Ledger& ledger, std::vector<uint8_t>* expected) {
  const Entry* const entry = ledger.Find(seq);
  if (entry == nullptr) return "seq " + Text(seq) + " was never appended";
  if (entry->time_ms != kAnyTime && entry->time_ms != time_ms) {
    return "seq " + Text(seq) + " has the time " + Text(time_ms) + ", it was given " +
           Text(entry->time_ms);
  }
  FillPayload(*entry, expected);
  if (size == expected->size() && std::equal(expected->begin(), expected->end(), payload))
    return "";
  return "seq " + Text(seq) + " is not the record that was appended";
}

// Reads everything from `first` on and sets `*end` to the end that the reader found.
std::string ReadAll(FileSystem& disk, const std::string& path, uint64_t first, const Ledger& ledger,
                    Random* random, uint64_t* end) {
  Result<std::unique_ptr<LogReader>> reader = LogReader::Open(disk, path, first);
  if (!reader.ok()) return "a reader cannot be opened: " + Describe(reader.status());
  std::vector<uint8_t> buffer(random->OneIn(4) ? 4096 : 65536);
  std::vector<ReadEntry> entries(256);
  std::vector<uint8_t> expected;
  uint64_t seq = first;
  for (;;) {
    const Result<ReadBatch> batch = (*reader)->Next(buffer.data(), buffer.size(), entries.data(),
                                                    entries.size(), LogReader::kNoLimit);
    if (!batch.ok()) return "the reader fails: " + Describe(batch.status());
    if (batch->count == 0 && batch->need_bytes > 0) {
      if (batch->need_bytes <= buffer.size()) return "the reader asks for a buffer that it has";
      buffer.resize(batch->need_bytes);
      continue;
    }
    const uint64_t begin = batch->count == 0 ? batch->next_seq : batch->first_seq;
    while (seq < begin && ledger.Find(seq) != nullptr && ledger.Find(seq)->is_void()) ++seq;
    if (batch->count == 0) break;
    if (batch->first_seq != seq) return "the reader jumps to seq " + Text(batch->first_seq);
    for (size_t i = 0; i < batch->count; ++i, ++seq) {
      std::string wrong = CheckRecord(seq, buffer.data() + entries[i].offset, entries[i].length,
                                      batch->base_time_ms + entries[i].time_ms, ledger, &expected);
      if (!wrong.empty()) return wrong;
    }
  }
  *end = seq;
  return "";
}

}  // namespace

std::string ReadBack(FileSystem& disk, const std::string& path, const Ledger& ledger,
                     Survived survived, Random* random, Found* found) {
  const Result<VerifyReport> report = Verify(disk, path);
  if (!report.ok()) {
    if (report.status().code() == Code::kNotFound && !ledger.created) return "";
    return "verify fails: " + Describe(report.status());
  }
  found->exists = true;
  found->first = report->bounds.first_seq;
  found->next = report->bounds.next_seq;
  found->state = report->state;
  if (report->state == RecoveryState::kCorrupt) {
    return "verify says corrupt after a crash" + Problems(*report);
  }
  std::string wrong = CheckBounds(*found, ledger, survived);
  if (!wrong.empty()) return wrong + Problems(*report);
  uint64_t end = 0;
  wrong = ReadAll(disk, path, found->first, ledger, random, &end);
  if (!wrong.empty()) return wrong;
  if (end != found->next) {
    return "verify ends the log at " + Text(found->next) + ", the reader at " + Text(end);
  }
  return "";
}

}  // namespace durlog::crash
