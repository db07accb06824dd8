#include "judge.h"

#include <map>
#include <memory>

#include "inspect/verify.h"
#include "read/log_reader.h"
#include "read/position_index.h"

namespace durlog::schedules {
namespace {

using Records = std::map<uint64_t, std::string>;

std::string ReadAll(ModelFiles& files, Records* records) {
  PositionIndex::Shared().Clear();
  const Result<VerifyReport> report = Verify(files, kLogPath);
  if (!report.ok()) return "verify fails: " + report.status().message();
  Result<std::unique_ptr<LogReader>> reader =
      LogReader::Open(files, kLogPath, report->bounds.first_seq);
  if (!reader.ok()) return "a reader cannot be opened: " + reader.status().message();
  std::vector<uint8_t> buffer(ModelFiles::kMaxFileBytes);
  std::vector<ReadEntry> entries(64);
  for (;;) {
    const Result<ReadBatch> batch = (*reader)->Next(buffer.data(), buffer.size(), entries.data(),
                                                    entries.size(), LogReader::kNoLimit);
    if (!batch.ok()) return "the reader fails: " + batch.status().message();
    if (batch->count == 0) return "";
    for (size_t i = 0; i < batch->count; ++i) {
      const auto* const at = reinterpret_cast<const char*>(buffer.data()) + entries[i].offset;
      const std::string payload(at, entries[i].length);
      if (!records->emplace(batch->first_seq + i, payload).second) {
        return "seq " + std::to_string(batch->first_seq + i) + " is there twice";
      }
    }
  }
}

bool IsBeforeAll(uint64_t seq, const Records& records) {
  return records.empty() || seq < records.begin()->first;
}

std::string Compare(const Records& records, const Stage& stage) {
  std::map<std::string, uint64_t> found;
  for (const auto& [seq, payload] : records) {
    if (!found.emplace(payload, seq).second) return "record " + payload + " is there twice";
  }
  std::map<size_t, bool> batches;
  size_t known = 0;
  for (const Written& record : stage.written()) {
    const auto at = found.find(record.payload);
    const bool is_there = at != found.end();
    known += is_there ? 1 : 0;
    if (record.acknowledged && !is_there) {
      // A trim removes whole segments, so the log now begins after this record.
      if (record.seq < stage.trimmed_below() && IsBeforeAll(record.seq, records)) continue;
      return "record " + record.payload + " was acknowledged as seq " + std::to_string(record.seq) +
             ", and is not there";
    }
    if (record.acknowledged && at->second != record.seq) {
      return "record " + record.payload + " was acknowledged as seq " + std::to_string(record.seq) +
             ", and is seq " + std::to_string(at->second);
    }
    const auto batch = batches.emplace(record.batch, is_there);
    if (record.batch != SIZE_MAX && batch.first->second != is_there) {
      return "a batch is torn at " + record.payload;
    }
  }
  return known == found.size() ? "" : "there is a record that no member has written";
}

std::string CheckVerdict(ModelFiles& files, bool must_be_clean) {
  const Result<VerifyReport> report = Verify(files, kLogPath);
  if (!report.ok()) return "verify fails: " + report.status().message();
  if (report->state == RecoveryState::kClean && report->problems.empty()) return "";
  if (!must_be_clean && report->state != RecoveryState::kCorrupt) return "";
  return "verify says state " + std::to_string(static_cast<int>(report->state)) +
         (report->problems.empty() ? "" : ": " + report->problems.front().message);
}

// Opens the log as the next member does, and closes it in order.
std::string OpenAndLeave(ModelFiles& files) {
  Scenario scenario;
  scenario.members = {"jwl"};
  Stage next(scenario, files);
  next.SetUp();
  next.Work(0);
  return next.violation();
}

}  // namespace

std::string Judge(ModelFiles& files, const Stage& stage) {
  Records records;
  std::string wrong = ReadAll(files, &records);
  if (wrong.empty()) wrong = Compare(records, stage);
  if (wrong.empty()) wrong = CheckVerdict(files, false);
  if (!wrong.empty()) return wrong;
  wrong = OpenAndLeave(files);
  if (!wrong.empty()) return "after the run, " + wrong;
  Records kept;
  wrong = ReadAll(files, &kept);
  if (!wrong.empty()) return "opened again, " + wrong;
  // The record of OpenAndLeave() is the last one.
  const size_t before = records.size();
  if (kept.size() != before + 1) return "opening again changed what is in the log";
  kept.erase(std::prev(kept.end()));
  wrong = Compare(kept, stage);
  if (wrong.empty()) wrong = CheckVerdict(files, true);
  return wrong.empty() ? "" : "opened again, " + wrong;
}

}  // namespace durlog::schedules
