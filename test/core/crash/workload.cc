// The steps that a session takes with its open log.
#include <algorithm>
#include <cerrno>

#include "session.h"

namespace durlog::crash {
namespace {

// A log that is not idle after this many turns never becomes idle.
constexpr int kMaxIdleSteps = 2000;
constexpr size_t kMaxBatch = 6;
constexpr uint64_t kMaxVoid = 8;

// Whether `strike` failed a sync of records by a commit. A spare, which holds no record yet, is
// synced with fsync, and so is each undo; a trim syncs the folder.
bool FailsCommit(const Strike& strike) {
  return (strike.call == Call::kSyncData || strike.call == Call::kSyncMap) && strike.IsOfSegment();
}

// Whether the log works again once there is room, a descriptor or memory.
bool IsLack(const Strike& strike) {
  return !IsSync(strike.call) && strike.error != EIO && strike.error != EROFS;
}

// Whether `strike` can fail the undo of a refused append, commit or rotation: cutting a segment,
// removing a new one, or opening the one again that a rotation could not replace.
bool FailsUndo(const Strike& strike) {
  return strike.call == Call::kTruncate || strike.call == Call::kRemove ||
         strike.call == Call::kOpen;
}

}  // namespace

void Session::Step() {
  if (log_->latched() && random_.OneIn(8)) {
    Note("reopen what is latched");
    CheckLatch();
    Reopen();
    if (!going()) return;
  }
  const uint64_t kind = random_.Below(100);
  if (kind < 64) {
    AppendOne();
  } else if (kind < 74) {
    AppendBatch();
  } else if (kind < 77) {
    log_->RequestSync(AnyLevel());
    Note("request sync");
  } else if (kind < 80) {
    Drain();
  } else if (kind < 85) {
    BeginTrim();
  } else if (kind < 88) {
    Truncate();
  } else if (kind < 90) {
    JumpClock();
  } else if (kind < 92) {
    Reopen();
  } else if (kind < 97 && scenario_.rotates) {
    Rotate();
  } else if (kind >= 97 && scenario_.voids) {
    AppendVoid();
  }
  if (cursor_ && going() && cursor_random_.OneIn(4)) MoveCursor();
  if (log_ && going() && random_.OneIn(2)) Turn();
  if (log_) CheckAcks();
}

Level Session::AnyLevel() {
  if (random_.Percent(scenario_.percent_in_memory)) return Level::kMemory;
  return static_cast<Level>(random_.Below(kLevelCount));
}

Entry Session::NewEntry(uint64_t max_bytes) {
  const uint64_t kind = random_.Below(100);
  uint64_t size = random_.Between(1, 300);
  if (kind >= 65) size = random_.Between(1, 3000);
  if (kind >= 88) size = random_.Between(1, 12000);
  if (kind >= 96) size = random_.Between(1, scenario_.options.max_record_bytes);
  return Entry{next_nonce_++, static_cast<uint32_t>(std::min(size, max_bytes)), false};
}

// Usually the clock's time. Some of the other times fit into the current segment, and some require
// a new one.
uint64_t Session::AnyTime() {
  static_assert(kAnyTime == Log::kClockTime, "a record without a time has the clock's");
  static constexpr int64_t kFromNowMs[] = {
      0, 1, 1000, -5000, 86400000, int64_t{1} << 32, -(int64_t{1} << 32)};
  if (!scenario_.gives_times || !random_.OneIn(12)) return kAnyTime;
  const int64_t from_now = kFromNowMs[random_.Below(sizeof kFromNowMs / sizeof kFromNowMs[0])];
  return static_cast<uint64_t>(static_cast<int64_t>(disk_->now_ms()) + from_now);
}

void Session::BeginStore() {
  disk_->AbsorbStores();
  appending_from_ = log_->next_seq();
  storing_ = true;
  memory_before_store_ = log_->ReachedEnd(Level::kMemory);
}

// Ends the process in the middle of the stores since BeginStore().
void Session::EndStore() {
  appending_from_ = UINT64_MAX;
  if (points_left_ > 0 && going() && crashes_.OneIn(60)) {
    Note("-- a crash is tried in a store");
    Explore(false);
  }
  storing_ = false;
}

void Session::AppendOne() {
  Entry entry = NewEntry(scenario_.options.max_record_bytes);
  std::vector<uint8_t> payload;
  FillPayload(entry, &payload);
  const Bytes bytes{payload.data(), payload.size()};
  const uint64_t expected = log_->next_seq();
  const Level level = AnyLevel();
  const uint64_t how = random_.Below(10);
  if (how != 1) entry.time_ms = AnyTime();
  ledger_.entries.push_back(entry);
  BeginStore();
  Note((how == 0   ? "append sync"
        : how == 1 ? "write"
                   : "append") +
       std::string(" seq ") + std::to_string(expected) + ", " + std::to_string(entry.size) +
       " bytes, level " + std::to_string(static_cast<int>(level)) +
       (entry.time_ms == kAnyTime ? "" : ", time " + std::to_string(entry.time_ms)));
  const Result<uint64_t> result = how == 0   ? log_->AppendSync(bytes, level, entry.time_ms)
                                  : how == 1 ? log_->Write(bytes)
                                             : log_->Append(bytes, level, entry.time_ms);
  EndStore();
  if (how == 0 && result.ok() && log_->ReachedEnd(level) <= *result) {
    Fail("a synchronous append returned before its level was reached");
  }
  Settle(result, expected);
}

void Session::AppendBatch() {
  const size_t count = static_cast<size_t>(random_.Between(1, kMaxBatch));
  std::vector<std::vector<uint8_t>> payloads(count);
  std::vector<PayloadParts> bytes;
  const uint64_t expected = log_->next_seq();
  const uint64_t time_ms = AnyTime();
  for (size_t i = 0; i < count; ++i) {
    Entry entry = NewEntry(scenario_.options.max_record_bytes / count);
    entry.batch_continues = i + 1 < count;
    entry.time_ms = time_ms;
    FillPayload(entry, &payloads[i]);
    bytes.push_back(Bytes{payloads[i].data(), payloads[i].size()});
    ledger_.entries.push_back(entry);
  }
  const Level level = AnyLevel();
  Note("append batch of " + std::to_string(count) + " at seq " + std::to_string(expected) +
       ", level " + std::to_string(static_cast<int>(level)) +
       (time_ms == kAnyTime ? "" : ", time " + std::to_string(time_ms)));
  BeginStore();
  const Result<uint64_t> result = log_->AppendBatch(bytes.data(), count, level, time_ms);
  EndStore();
  Settle(result, expected);
}

void Session::AppendVoid() {
  const uint64_t seqs = random_.Between(1, kMaxVoid);
  const uint64_t expected = log_->next_seq();
  for (uint64_t i = 0; i < seqs; ++i) ledger_.entries.push_back(Entry{0, 0, i + 1 < seqs});
  Note("void of " + std::to_string(seqs) + " at seq " + std::to_string(expected));
  BeginStore();
  const Result<uint64_t> result = log_->WriteVoid(seqs, disk_->now_ms());
  EndStore();
  Settle(result, expected);
}

// Updates the ledger with the result of the append.
void Session::Settle(const Result<uint64_t>& result, uint64_t expected) {
  if (result.ok()) {
    if (*result != expected) Fail("an append got seq " + std::to_string(*result));
  } else {
    const Code code = result.status().code();
    Note("refused: " + result.status().message());
    const bool nothing_done = code == Code::kBackpressure || code == Code::kLatched ||
                              code == Code::kClosed || code == Code::kBatchTooLarge;
    if (code == Code::kNoSpace) ++explorer_->tally[Count::kNoSpace];
    if (!nothing_done) failed_softly_ = true;
    // If the log is latched, the records of the failed append may or may not be in it.
    if (nothing_done || !log_->latched()) ledger_.CutAt(expected);
    if (code == Code::kBackpressure) Turn();
    const bool excused = scenario_.faulty() && trail_.depth() == 0;
    if (!nothing_done && !excused) Fail("an append fails: " + result.status().message());
  }
  if (log_ && !log_->latched() && log_->next_seq() != ledger_.next()) {
    Fail("the log ends at " + std::to_string(log_->next_seq()) + ", the ledger at " +
         std::to_string(ledger_.next()));
  }
}

void Session::OnFailure(const Status& status, uint64_t first_seq, uint64_t unknown_before,
                        bool latched) {
  Note((latched ? "latched: " : "rolled back: ") + status.message());
  if (latched) {
    ++explorer_->tally[Count::kLatched];
    // The records from there on are not in the log. Exception: that of an append which fails now.
    if (unknown_before != appending_from_) ledger_.CutAt(unknown_before);
    return;
  }
  failed_softly_ = true;
  ++explorer_->tally[Count::kNoSpace];
  ledger_.CutAt(first_seq);
}

void Session::CheckAcks() {
  uint64_t above = log_->next_seq();
  for (int i = 0; i < kLevelCount; ++i) {
    const uint64_t acked = log_->ReachedEnd(static_cast<Level>(i));
    if (acked > above) {
      Fail("level " + std::to_string(i) + " is acknowledged to " + std::to_string(acked) +
           ", the level below it to " + std::to_string(above));
    }
    above = acked;
  }
}

// One turn of the event loop: some jobs run, the log processes their results and starts a commit.
void Session::Turn() {
  for (uint64_t i = random_.Below(3); i > 0; --i) workers_.RunOne();
  log_->Harvest();
  if (trim_ && trim_->done()) FinishTrim();
  log_->Pump();
}

void Session::Drain() {
  Note("drain");
  for (int i = 0; going(); ++i) {
    if ((log_->idle() && !trim_) || (log_->latched() && workers_.idle())) return CheckFault();
    if (i > kMaxIdleSteps) return Fail("the log does not become idle");
    workers_.RunOne();
    log_->Harvest();
    if (trim_ && trim_->done()) FinishTrim();
    log_->Pump();
  }
}

void Session::BeginTrim() {
  if (trim_) return;
  const uint64_t seq =
      scenario_.retains ? PlanRetention() : random_.Between(log_->first_seq(), log_->next_seq());
  if (!going()) return;
  trim_ = log_->BeginTrim(seq);
  Note("trim before " + std::to_string(seq) + (trim_ ? "" : ": nothing to do"));
  if (!trim_) return;
  ledger_.first_high = std::max(ledger_.first_high, seq);
  workers_.Execute(trim_);
}

// A byte limit may trim records that the cursor has not read and must report it; an age limit may
// not trim them.
uint64_t Session::PlanRetention() {
  RetentionPolicy policy;
  const bool by_age = random_.OneIn(2);
  if (by_age) policy.max_age_ms = random_.Between(1, 2000);
  if (!by_age) policy.max_bytes = random_.Between(3, 6) * scenario_.options.segment_bytes;
  const std::shared_ptr<RetentionJob> job = log_->BeginRetention(policy);
  workers_.Execute(job);
  while (!job->done()) workers_.RunOne();
  if (!job->plan().ok()) {
    if (!scenario_.faulty()) Fail("retention fails: " + job->plan().status().message());
    return log_->first_seq();
  }
  const RetentionPlan& plan = job->plan().value();
  const std::optional<uint64_t> position = cursor_ ? cursor_->position() : std::nullopt;
  // Ignores a cursor whose records were trimmed by an earlier plan.
  if (position && std::max(*position, log_->first_seq()) < plan.before) {
    if (by_age) Fail("an age limit trims past the cursor");
    const bool told = plan.overruns.size() == 1 && plan.overruns[0].last + 1 == plan.before;
    if (!by_age && !told) Fail("a byte limit trims past the cursor and does not report it");
  }
  return plan.before;
}

void Session::FinishTrim() {
  log_->FinishTrim(*trim_);
  if (trim_->status().ok()) {
    ledger_.first_low = ledger_.first_high = log_->first_seq();
    Note("trimmed to " + std::to_string(log_->first_seq()));
    ExploreMaybe(20);
  }
  trim_.reset();
}

// Truncates as the binding does: drains and syncs first, and appends nothing until it is done.
void Session::Truncate() {
  if (cut_) return;  // an earlier one has failed half-way
  log_->RequestSync(Level::kSync);
  Drain();
  if (!going()) return;
  const uint64_t seq =
      random_.OneIn(3)
          ? random_.Between(log_->first_seq(), log_->next_seq())
          : log_->next_seq() -
                random_.Below(std::min<uint64_t>(log_->next_seq() - log_->first_seq(), 8) + 1);
  Note("truncate to " + std::to_string(seq));
  cut_ = seq;
  Result<std::shared_ptr<TruncateJob>> begun = log_->BeginTruncate(seq);
  if (begun.ok()) {
    workers_.Execute(*begun);
    while (!(*begun)->done()) {
      workers_.RunOne();
      log_->Harvest();
    }
    const Status status = log_->FinishTruncate(**begun);
    Note(status.ok() ? "truncated" : "truncation refused: " + status.message());
    if (status.ok()) {
      ledger_.AllowEndAt(seq);
      ledger_.CutAt(seq);
      if (ledger_.cursor_in_memory > seq) ledger_.cursor_cut = std::min(ledger_.cursor_cut, seq);
      cut_.reset();
      if (log_->next_seq() != seq) Fail("a truncation ends at another seq");
      ExploreMaybe(40);
    } else if (log_->latched()) {
      // Only the next open finds out how much was cut.
      ledger_.CutAt(ledger_.next());
      return;
    } else if (ledger_.MayCutAt(seq) && !scenario_.faulty()) {
      Fail("a truncation is refused: " + status.message());
    }
  } else {
    Note("truncation refused: " + begun.status().message());
  }
  cut_.reset();
}

// Rotates as the binding does: drains and syncs first, as for a truncation.
void Session::Rotate() {
  if (cut_) return;
  log_->RequestSync(Level::kSync);
  Drain();
  if (!going()) return;
  Result<std::shared_ptr<RotateJob>> begun = log_->BeginRotate();
  Note("rotate" + std::string(begun.ok() ? "" : ": " + begun.status().message()));
  if (!begun.ok() || !*begun) return;
  workers_.Execute(*begun);
  while (!(*begun)->done()) {
    workers_.RunOne();
    log_->Harvest();
  }
  const Status status = log_->FinishRotate(**begun);
  Note(status.ok() ? "rotated" : "rotation refused: " + status.message());
  if (!status.ok()) {
    failed_softly_ = true;
    if (!scenario_.faulty()) Fail("a rotation is refused: " + status.message());
    return;
  }
  ExploreMaybe(40);
}

void Session::JumpClock() {
  static constexpr int64_t kJumpsMs[] = {
      1, 1000, -5000, 86400000, int64_t{1} << 32, -(int64_t{1} << 32)};
  const int64_t jump = kJumpsMs[random_.Below(sizeof kJumpsMs / sizeof kJumpsMs[0])];
  disk_->set_now_ms(static_cast<uint64_t>(static_cast<int64_t>(disk_->now_ms()) + jump));
  Note("the clock jumps");
}

void Session::Reopen() {
  if (random_.OneIn(2)) {
    CloseLog();
  } else {
    DropLog();
  }
  if (going()) Arrive(Survived::kProcessDeath);
}

void Session::CloseLog() {
  Drain();
  if (!going()) return;
  Note("close");
  failed_softly_ = false;
  log_->PrepareClose();
  log_->Pump();
  Drain();
  if (!going()) return;
  const bool clean = !log_->latched() && !failed_softly_ && !scenario_.faulty();
  if (clean && log_->ReachedEnd(Level::kSync) != ledger_.next()) {
    Fail("a closed log is not synced");
  }
  DropLog();
  ledger_.closed_cleanly = clean;
}

// The owner disappears without a close; its bytes stay in the cache.
void Session::DropLog() {
  Note("drop");
  ledger_ = LedgerNow();
  std::unique_ptr<Log> log = std::move(log_);
  trim_.reset();
  cursor_.reset();
  log.reset();
  cut_.reset();
}

void Session::CheckLatch() {
  const uint8_t byte = 1;
  const Result<uint64_t> result = log_->Append(Bytes{&byte, 1}, Level::kMemory);
  if (result.ok() || result.status().code() != Code::kLatched) {
    Fail("a latched log takes an append");
  }
}

// Called when the log is idle. A failed sync of records latches the log. A lack does not, with two
// exceptions: in the middle of a truncation, which cannot be rolled back; and if the undo of what
// was refused for a first lack fails because of a second one, since what is left after the append
// point must not follow a later frame.
void Session::CheckFault() {
  const auto begin = disk_->strikes().begin() + static_cast<ptrdiff_t>(strikes_at_open_);
  const auto end = disk_->strikes().end();
  if (!log_->latched()) {
    if (std::any_of(begin, end, FailsCommit)) Fail("a failed sync has not latched the log");
    return;
  }
  if (cut_ || !std::all_of(begin, end, IsLack)) return;
  if (begin == end || std::none_of(begin + 1, end, FailsUndo))
    Fail("a lack of room, descriptors or memory has latched the log");
}

// After any fault is cleared, either the log takes appends again, or it is latched and the next
// open takes appends.
void Session::MakeRoomAgain() {
  if (trail_.depth() > 0 || !scenario_.faulty()) return;
  Note("room again");
  if (disk_->fault_has_struck()) ++explorer_->tally[Count::kFaults];
  disk_->clear_faults();
  disk_->set_capacity_blocks(UINT64_MAX);
  Drain();
  if (!going()) return;
  if (log_->latched()) {
    CheckLatch();
    Reopen();
    if (!going()) return;
  }
  bool told = false;
  for (int i = 0; i < 4 && going(); ++i) {
    const Entry entry{next_nonce_++, 100, false};
    std::vector<uint8_t> payload;
    FillPayload(entry, &payload);
    const uint64_t expected = log_->next_seq();
    ledger_.entries.push_back(entry);
    const Result<uint64_t> result =
        log_->AppendSync(Bytes{payload.data(), payload.size()}, Level::kSync);
    // One append may still report why the segment that an earlier append waited for was not
    // created.
    const bool late_news = !told && !result.ok() && result.status().code() == Code::kNoSpace;
    told = told || late_news;
    if (!result.ok() && result.status().code() != Code::kBackpressure && !late_news) {
      return Fail("after the fault is cleared, an append fails: " + result.status().message());
    }
    Settle(result, expected);
    Drain();
  }
}

}  // namespace durlog::crash
