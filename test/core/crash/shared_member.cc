#include "shared_member.h"

#include <algorithm>
#include <utility>

#include "shared_session.h"

namespace durlog::crash {
namespace {

// A log that is not idle after this many turns never becomes idle.
constexpr int kMaxTurns = 4000;
constexpr uint64_t kIdBytes = sizeof(uint64_t);

}  // namespace

SharedMember::SharedMember(SharedSession* session, uint32_t process, uint32_t steps, uint64_t seed)
    : session_(session),
      process_(process),
      steps_(steps),
      file_system_(&session->disk(), process),
      random_(seed) {}

SharedMember::~SharedMember() = default;

bool SharedMember::going() const { return session_->going() && !dead_; }

void SharedMember::Note(const std::string& what) {
  session_->Note("process " + std::to_string(process_) + ": " + what);
}

bool SharedMember::Open() {
  Result<std::unique_ptr<SharedLog>> opened =
      SharedLog::Open(file_system_, kLogPath, session_->scenario().options);
  if (!going()) {
    if (opened.ok()) log_ = std::move(*opened);
    if (log_) log_->Attach(this, this);
    return false;
  }
  if (!opened.ok()) {
    Note("refused: " + opened.status().message());
    if (session_->disk().fault_has_struck()) return false;
    session_->Fail("the log does not open: " + opened.status().message() + " " +
                   opened.status().path());
    return false;
  }
  log_ = std::move(*opened);
  log_->Attach(this, this);
  Note("opened, slot " + std::to_string(log_->slot()));
  return true;
}

void SharedMember::Run() {
  if (!log_ && !Open()) return;
  for (uint32_t i = 0; i < steps_ && going(); ++i) {
    Step();
    if (going() && random_.OneIn(2)) Turn();
  }
  if (going() && random_.Percent(60)) Leave();
}

void SharedMember::Execute(std::shared_ptr<Job> job) {
  session_->workers().Execute(std::move(job), process_);
}

void SharedMember::OnFailure(const Status& status, uint64_t, uint64_t, bool) {
  Note("latched: " + status.message());
  session_->NoteLatched();
  if (!going() || session_->disk().fault_has_struck()) return;
  session_->Fail("a writer is latched: " + status.message() + " " + status.path());
}

void SharedMember::OnStalled(int64_t pid, uint64_t seq, bool) {
  if (!going()) return;
  session_->Fail("process " + std::to_string(pid) + " holds up seq " + std::to_string(seq));
}

void SharedMember::RaiseReached(uint64_t* synced, uint64_t* in_memory) const {
  *synced = std::max(*synced, log_ ? log_->ReachedEnd(Level::kSync) : synced_);
  *in_memory = std::max(*in_memory, log_ ? log_->ReachedEnd(Level::kMemory) : in_memory_);
}

void SharedMember::Step() {
  const uint64_t kind = random_.Below(100);
  if (kind < 70) {
    Append();
  } else if (kind < 84) {
    AppendBatch();
  } else if (kind < 88) {
    log_->RequestSync(AnyLevel());
  } else if (kind < 94) {
    Trim();
  } else {
    Drain();
  }
}

Level SharedMember::AnyLevel() {
  if (random_.Percent(session_->scenario().percent_in_memory)) return Level::kMemory;
  return static_cast<Level>(random_.Below(kLevelCount));
}

uint64_t SharedMember::AnySize(uint64_t most) {
  const uint64_t kind = random_.Below(100);
  uint64_t size = random_.Between(kIdBytes, 300);
  if (kind >= 60) size = random_.Between(kIdBytes, 4000);
  if (kind >= 85) size = random_.Between(kIdBytes, 16000);
  return std::min(size, most);
}

void SharedMember::Append() {
  const uint64_t size = AnySize(session_->scenario().options.max_record_bytes);
  const uint64_t id = session_->ledger().Intend(process_, {size});
  const std::vector<uint8_t> payload = PayloadOf(id, size);
  const Bytes bytes{payload.data(), payload.size()};
  const Level level = AnyLevel();
  const uint64_t how = random_.Below(8);
  Note("append record " + std::to_string(id) + ", " + std::to_string(size) + " bytes, level " +
       std::to_string(static_cast<int>(level)));
  const Result<uint64_t> result = how == 0   ? log_->AppendSync(bytes, level)
                                  : how == 1 ? log_->Write(bytes)
                                             : log_->Append(bytes, level);
  if (!going()) return;
  const Level reached = how == 0 ? level : Level::kMemory;
  if (how <= 1 && result.ok() && log_->ReachedEnd(reached) <= *result) {
    session_->Fail("a synchronous append returned before its level was reached");
  }
  Settle(result, id, 1);
}

void SharedMember::AppendBatch() {
  std::vector<uint64_t> sizes(static_cast<size_t>(random_.Between(2, 6)));
  for (uint64_t& size : sizes) size = AnySize(6000);
  const uint64_t id = session_->ledger().Intend(process_, sizes);
  std::vector<std::vector<uint8_t>> payloads;
  std::vector<PayloadParts> bytes;
  for (size_t i = 0; i < sizes.size(); ++i) payloads.push_back(PayloadOf(id + i, sizes[i]));
  for (const std::vector<uint8_t>& payload : payloads) {
    bytes.push_back(Bytes{payload.data(), payload.size()});
  }
  Note("append batch of " + std::to_string(sizes.size()) + " from record " + std::to_string(id));
  const Result<uint64_t> result = log_->AppendBatch(bytes.data(), bytes.size(), AnyLevel());
  if (going()) Settle(result, id, sizes.size());
}

void SharedMember::Settle(const Result<uint64_t>& result, uint64_t first_id, uint64_t count) {
  if (result.ok()) {
    const std::string wrong = session_->ledger().Place(first_id, count, *result);
    Note("record " + std::to_string(first_id) + " is at seq " + std::to_string(*result));
    if (!wrong.empty()) session_->Fail(wrong);
    return;
  }
  const Code code = result.status().code();
  Note("refused: " + result.status().message());
  // The records are stored, although the call has failed, or may be: after a failed sync.
  const bool may_remain = result.status().stored() || code == Code::kSyncFailed;
  if (!may_remain) session_->ledger().Withdraw(first_id, count);
  const bool excused = session_->disk().fault_has_struck();
  if (code == Code::kNoSpace) session_->NoteNoSpace();
  if (code != Code::kBackpressure && !excused) {
    session_->Fail("an append fails: " + result.status().message());
  }
  Turn();
}

// One turn of the event loop, after some of the other members have run.
void SharedMember::Turn() {
  session_->GiveWay();
  if (!going()) return;
  log_->Harvest();
  if (trim_ && trim_->done()) trim_.reset();
  log_->Pump();
}

void SharedMember::Drain() {
  for (int i = 0; going() && (!log_->idle() || trim_); ++i) {
    if (i > kMaxTurns) return session_->Fail("the log does not become idle");
    Turn();
  }
}

void SharedMember::Trim() {
  if (trim_) return;
  const uint64_t seq = random_.Between(log_->first_seq(), log_->next_seq());
  SharedLedger& ledger = session_->ledger();
  ledger.first_high = std::max(ledger.first_high, seq);
  trim_ = log_->BeginTrim(seq);
  Note("trim before " + std::to_string(seq));
  Execute(trim_);
}

void SharedMember::Leave() {
  Drain();
  if (!going()) return;
  Note("leaves");
  log_->PrepareClose();
  log_->Pump();
  Drain();
  if (!going()) return;
  const bool excused = session_->disk().fault_has_struck();
  if (!excused && !log_->latched() && log_->ReachedEnd(Level::kSync) < log_->next_seq())
    session_->Fail("a closed log is not synced");
  RaiseReached(&synced_, &in_memory_);
  // The member counts as alive until its log is destroyed.
  log_.reset();
  if (!going()) return;
  left_ = true;
  Note("has left");
}

}  // namespace durlog::crash
