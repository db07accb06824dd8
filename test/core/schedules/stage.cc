#include "stage.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "record/segment_name.h"
#include "turns.h"

namespace durlog::schedules {
namespace {

constexpr uint64_t kFillerFrameBytes = 4048;

bool IsOpenOrClose(char what) { return std::strchr("jloc", what) != nullptr; }

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

LogOptions Stage::OptionsAlone() {
  LogOptions options = Options();
  options.shared = false;
  options.strategy = Strategy::kPwrite;
  options.preallocation_auto = false;
  options.preallocation = Preallocation::kNone;
  options.chunk_bytes = kSegmentHeaderBytes;
  options.max_pending_bytes = kSegmentBytes;
  return options;
}

void Stage::SetUp() {
  // The vector must not reallocate while members hold references to its elements.
  written_.reserve(32);
  for (size_t member = 0; member < scenario_.members.size(); ++member) {
    files_.set_acting(member);
    const char first = scenario_.members[member].front();
    if (first != 'j' && first != 'o') Join(member);
  }
  files_.set_acting(0);
  if (scenario_.after_session) Join(0);
  if (scenario_.room_bytes > 0) FillUpTo(scenario_.room_bytes);
  if (scenario_.without_spare) TakeSpareAway();
  if (scenario_.after_session) EndSessionByDeath();
}

// The log is left in order, so that the scenario begins with a clean one, but the page names a
// session, as after the death of its members.
void Stage::EndSessionByDeath() {
  Leave(0);
  const Result<std::unique_ptr<Directory>> folder = files_.OpenDirectory(kLogPath, false);
  const Result<std::unique_ptr<File>> page = (*folder)->Open(kSharedName, OpenMode::kReadWrite);
  const uint64_t place = kSessionWord * sizeof(uint64_t);
  const Status put = (*page)->WriteAt(place, &kDeadSession, sizeof kDeadSession);
  if (!put.ok()) Fail("the page cannot be written");
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

bool Stage::Join(size_t member) {
  Result<std::unique_ptr<SharedLog>> log = SharedLog::Open(files_, kLogPath, Options());
  if (scenario_.after_session && log.status().code() == Code::kLocked) return false;
  if (!log.ok()) {
    Fail("a member cannot join: " + log.status().message());
    return false;
  }
  logs_[member] = std::move(*log);
  logs_[member]->Attach(&executor_, this);
  return true;
}

bool Stage::OpenAlone(size_t member) {
  Result<std::unique_ptr<Log>> log = Log::Open(files_, kLogPath, OptionsAlone());
  if (log.status().code() == Code::kLocked) return false;
  if (!log.ok()) {
    Fail("the log cannot be opened alone: " + log.status().message());
    return false;
  }
  alone_[member] = std::move(*log);
  alone_[member]->Attach(&executor_, this);
  return true;
}

void Stage::CloseAlone(size_t member) {
  Log& log = *alone_[member];
  log.PrepareClose();
  while (!log.idle()) {
    log.Pump();
    log.Harvest();
  }
  alone_[member].reset();
}

// Keeps the first record. Until the end of the truncation, the others may be there or not.
void Stage::Truncate(Log& log) {
  for (Written& record : written_) {
    if (record.acknowledged && record.seq > 0) record.acknowledged = false;
  }
  if (Turns::Current() != nullptr) Turns::Current()->Tell(Mix(log.next_seq()) + 1);
  if (!log.Sync(Level::kSync).ok()) return Fail("a sync failed");
  Result<std::shared_ptr<TruncateJob>> job = log.BeginTruncate(1);
  if (!job.ok()) return Fail("a truncation failed: " + job.status().message());
  (*job)->RunOnce();
  const Status cut = log.FinishTruncate(**job);
  if (!cut.ok()) Fail("a truncation failed: " + cut.message());
}

void Stage::Rotate(Log& log) {
  if (!log.Sync(Level::kSync).ok()) return Fail("a sync failed");
  Result<std::shared_ptr<RotateJob>> job = log.BeginRotate();
  if (!job.ok()) return Fail("a rotation failed: " + job.status().message());
  if (*job == nullptr) return;
  (*job)->RunOnce();
  const Status rotated = log.FinishRotate(**job);
  if (!rotated.ok()) Fail("a rotation failed: " + rotated.message());
}

void Stage::TrimAlone(Log& log) {
  trimmed_below_ = std::max(trimmed_below_, log.next_seq());
  if (Turns::Current() != nullptr) Turns::Current()->Tell(Mix(~log.next_seq()) + 2);
  if (!log.Sync(Level::kSync).ok()) return Fail("a sync failed");
  const std::shared_ptr<TrimJob> job = log.BeginTrim(log.next_seq());
  if (job == nullptr) return;
  job->RunOnce();
  log.FinishTrim(*job);
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
  std::array<PayloadParts, 2> payloads;
  for (size_t i = 0; i < count; ++i) {
    const size_t number = appended_[member]++;
    std::string payload = "m" + std::to_string(member) + "." + std::to_string(number);
    if (what == 'f') payload.resize(kFillerFrameBytes - kFrameHeaderBytes, 'f');
    written_.push_back({std::move(payload), false, 0, batch});
    payloads[i] = AsBytes(written_.back().payload);
  }
  LogWriter& log = WriterOf(member);
  const Level level = what == 'a' ? Level::kAsync : Level::kSync;
  const uint64_t syncs_before = files_.syncs();
  const Result<uint64_t> seq = what == 'b' ? log.WriteBatch(payloads.data(), count)
                               : what == 'a' || what == 's'
                                   ? log.AppendSync(payloads[0].rest, level, LogWriter::kClockTime)
                                   : log.Write(payloads[0].rest);
  if (!seq.ok()) return Fail("an append failed: " + seq.status().message());
  if (what == 's' && files_.syncs() == syncs_before) {
    return Fail("record " + written_[at].payload + " was acknowledged at sync without a sync");
  }
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
    if (Turns::Current() != nullptr)
      Turns::Current()->BeginStep(scenario_.stops_in_open_only && !IsOpenOrClose(what));
    if (what == 'j') {
      if (!Join(member)) return;
    } else if (what == 'o') {
      if (!OpenAlone(member)) return;
    } else if (what == 'l') {
      Leave(member);
    } else if (what == 'c') {
      CloseAlone(member);
    } else if (what == 'x') {
      Truncate(*alone_[member]);
    } else if (what == 'r') {
      Rotate(*alone_[member]);
    } else if (what == 't' && alone_[member]) {
      TrimAlone(*alone_[member]);
    } else if (what == 't') {
      Trim(member);
    } else {
      Append(member, what);
    }
  }
}

}  // namespace durlog::schedules
