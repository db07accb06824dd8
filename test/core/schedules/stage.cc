#include "stage.h"

#include <algorithm>
#include <utility>

#include "record/segment_name.h"
#include "turns.h"

namespace durlog::schedules {
namespace {

constexpr uint64_t kFillerFrameBytes = 4048;

Bytes AsBytes(const std::string& text) {
  return Bytes{reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

LogOptions Stage::Options() {
  LogOptions options;
  options.segment_bytes = kSegmentBytes;
  options.max_record_bytes = kSegmentHeaderBytes;
  options.shared = true;
  return options;
}

void Stage::SetUp() {
  // The vector must not reallocate while members hold references to its elements.
  written_.reserve(32);
  for (size_t member = 0; member < scenario_.members.size(); ++member) {
    files_.set_acting(member);
    if (scenario_.members[member].front() != 'j') Join(member);
  }
  files_.set_acting(0);
  if (scenario_.room_bytes > 0) FillUpTo(scenario_.room_bytes);
  if (scenario_.without_spare) TakeSpareAway();
}

// Two records fill the first segment.
void Stage::FillUpTo(uint64_t room_bytes) {
  const uint64_t taken = kSegmentHeaderBytes + kFillerFrameBytes;
  for (const uint64_t frame_bytes : {kFillerFrameBytes, kSegmentBytes - taken - room_bytes}) {
    const std::string filler(static_cast<size_t>(frame_bytes - kFrameHeaderBytes), 'f');
    const Result<uint64_t> seq = logs_[0]->Write(AsBytes(filler));
    if (!seq.ok()) Fail("the log cannot be filled: " + seq.status().message());
    written_.push_back({filler, true, written_.size(), SIZE_MAX});
  }
}

void Stage::TakeSpareAway() {
  const Result<std::unique_ptr<Directory>> folder = files_.OpenDirectory(kLogPath, false);
  const Result<std::unique_ptr<MembersPage>> page = MembersPage::Open(**folder);
  if (!(*page)->Join().ok()) return Fail("the members' page cannot be opened");
  SharedWord& spare = (*page)->Word(PageWord::kSpare);
  if (!(*folder)->Remove((*page)->NextSpareName()).ok()) return Fail("there was no spare");
  spare.store(0);
}

void Stage::Join(size_t member) {
  Result<std::unique_ptr<SharedLog>> log = SharedLog::Open(files_, kLogPath, Options());
  if (!log.ok()) return Fail("a member cannot join: " + log.status().message());
  logs_[member] = std::move(*log);
  logs_[member]->Attach(&executor_, this);
}

void Stage::Leave(size_t member) {
  SharedLog& log = *logs_[member];
  log.PrepareClose();
  while (!log.idle()) {
    log.Pump();
    log.Harvest();
  }
  logs_[member].reset();
}

void Stage::Append(size_t member, char what) {
  const size_t count = what == 'b' ? 2 : 1;
  const size_t at = written_.size();
  const size_t batch = member * 16 + appended_[member];
  std::array<Bytes, 2> payloads;
  for (size_t i = 0; i < count; ++i) {
    const size_t number = appended_[member]++;
    std::string payload = "m" + std::to_string(member) + "." + std::to_string(number);
    if (what == 'f') payload.resize(kFillerFrameBytes - kFrameHeaderBytes, 'f');
    written_.push_back({std::move(payload), false, 0, batch});
    payloads[i] = AsBytes(written_.back().payload);
  }
  const Result<uint64_t> seq = what == 'b'   ? logs_[member]->WriteBatch(payloads.data(), count)
                               : what == 'a' ? logs_[member]->AppendSync(payloads[0], Level::kAsync)
                               : what == 's' ? logs_[member]->AppendSync(payloads[0], Level::kSync)
                                             : logs_[member]->Write(payloads[0]);
  if (!seq.ok()) return Fail("an append failed: " + seq.status().message());
  for (size_t i = 0; i < count; ++i) {
    written_[at + i].acknowledged = true;
    written_[at + i].seq = *seq + i;
  }
  if (Turns::Current() != nullptr) Turns::Current()->Tell(Mix(Mix(batch) ^ *seq));
}

void Stage::Trim(size_t member) {
  const uint64_t seq = logs_[member]->next_seq();
  trimmed_below_ = std::max(trimmed_below_, seq);
  if (Turns::Current() != nullptr) Turns::Current()->Tell(Mix(~seq) + member);
  const std::shared_ptr<SharedTrimJob> job = logs_[member]->BeginTrim(seq);
  job->RunOnce();
  if (!job->status().ok()) Fail("a trim failed: " + job->status().message());
}

void Stage::Work(size_t member) {
  for (const char what : scenario_.members[member]) {
    if (!violation_.empty()) return;
    if (what == 'j') {
      Join(member);
    } else if (what == 'l') {
      Leave(member);
    } else if (what == 't') {
      Trim(member);
    } else {
      Append(member, what);
    }
  }
}

}  // namespace durlog::schedules
