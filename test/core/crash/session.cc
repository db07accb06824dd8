#include "session.h"

#include <algorithm>

namespace durlog::crash {
namespace {

// How many ends of a session are tried, by the number of sessions that it continues.
constexpr uint32_t kPointsAtDepth[] = {14, 2, 1, 1, 0};
constexpr int kMaxDepth = 4;

// Only one process has the log open, so a lock affects no other process.
bool OnlyReads(Call call) { return ChangesNothing(call) || call == Call::kLock; }

const char* NameOf(RecoveryState state) {
  static constexpr const char* kNames[] = {"clean", "torn-tail", "hole", "corrupt"};
  return kNames[static_cast<size_t>(state)];
}

}  // namespace

Session::Session(Explorer* explorer, SimulatedDisk* disk, const Scenario& scenario,
                 const Ledger& ledger, uint64_t seed, const Session* parent)
    : explorer_(explorer),
      disk_(disk),
      scenario_(scenario),
      trail_(parent == nullptr ? nullptr : &parent->trail_),
      random_(seed),
      crashes_(Mix(seed)),
      points_left_(kPointsAtDepth[std::min(trail_.depth(), kMaxDepth)]),
      next_nonce_(Mix(seed ^ 0x6e6f6e6365)),
      ledger_(ledger),
      workers_(Mix(seed + 1), scenario.percent_jobs_at_once, scenario.percent_switch),
      cursor_random_(Mix(seed + 2)) {
  disk_->on_call = [this](Call call) { OnCall(call); };
  disk_->on_misuse = [this](const std::string& what) { Fail("misuse: " + what); };
  if (explorer_->tracing()) disk_->on_trace = [this](const std::string& what) { Note(what); };
}

Session::~Session() {
  disk_->on_call = nullptr;
  workers_.Finish();
  cursor_.reset();
  log_.reset();
  workers_.Finish();
  disk_->on_misuse = nullptr;
  disk_->on_trace = nullptr;
}

void Session::Note(const std::string& what) {
  if (explorer_->tracing()) trail_.Note(what);
}

void Session::Fail(const std::string& what) { explorer_->Fail(what, trail_.Whole()); }

void Session::Run(Survived survived, uint32_t steps) {
  if (!Arrive(survived)) return;
  // The records that the recovery has cut must be gone immediately.
  ExploreMaybe(log_->recovery().state == RecoveryState::kClean ? 20 : 90);
  for (uint32_t i = 0; i < steps && going(); ++i) {
    if (i == steps / 4 && trail_.depth() == 0) {
      disk_->set_capacity_blocks(scenario_.capacity_blocks);
      for (const Fault& fault : scenario_.faults) disk_->add_fault(fault);
    }
    Step();
  }
  if (going()) MakeRoomAgain();
  if (going()) ExploreMaybe(50);
  if (going() && random_.OneIn(2)) Reopen();
}

bool Session::Arrive(Survived survived) {
  Found found;
  // Records that were only in memory are no longer promised, now and after later crashes.
  if (survived == Survived::kPowerCut || disk_->HasLostSectors()) {
    ledger_.in_memory = ledger_.synced;
    ledger_.cursor_in_memory = ledger_.cursor_synced;
  }
  std::string wrong = LookAtCopy(survived, &found);
  if (!wrong.empty()) {
    Fail("before the open: " + wrong);
    return false;
  }
  strikes_at_arrival_ = disk_->strikes().size();
  if (!OpenLog()) return false;
  // If a fault struck during the open, records that only the cache held may be lost.
  if (strikes_at_open_ > strikes_at_arrival_) {
    ledger_.in_memory = ledger_.synced;
    found.exists = false;
    if (log_->next_seq() < ledger_.synced) Fail("an open on a failing disk loses synced records");
  }
  const RecoveryState state = log_->recovery().state;
  Note("opened: " + std::string(NameOf(state)) + ", [" + std::to_string(log_->first_seq()) + ", " +
       std::to_string(log_->next_seq()) + ")");
  if (trail_.depth() > 0) {
    ++explorer_->tally[state == RecoveryState::kClean      ? Count::kClean
                       : state == RecoveryState::kTornTail ? Count::kTornTail
                                                           : Count::kHole];
  }
  if (found.exists && (log_->next_seq() != found.next || log_->first_seq() != found.first)) {
    Fail("verify promised that the log ends at " + std::to_string(found.next) +
         ", the open ends it at " + std::to_string(log_->next_seq()));
    return false;
  }
  // Records that an open keeps are durable; records that it has cut never come back.
  ledger_.CutAt(log_->next_seq());
  ledger_.created = true;
  ledger_.closed_cleanly = false;
  ledger_.synced = ledger_.in_memory = log_->next_seq();
  ledger_.first_low = ledger_.first_high = log_->first_seq();
  if (ledger_.entries.empty()) ledger_.base = log_->next_seq();
  Found again;
  wrong = LookAtCopy(Survived::kPowerCut, &again);
  if (!wrong.empty()) Fail("after the open: " + wrong);
  if (again.state != RecoveryState::kClean) Fail("the log is not clean after its recovery");
  CheckAcks();
  if (going() && HasCursor()) OpenCursor();
  return going();
}

// Reading a log back writes and drops its cached pages. Works on a copy, so that the open finds the
// disk unchanged.
std::string Session::LookAtCopy(Survived survived, Found* found) {
  Random unused(0);
  const std::unique_ptr<SimulatedDisk> copy = disk_->AfterKill(&unused, false);
  copy->set_quiet(true);
  return ReadBack(*copy, kLogPath, ledger_, survived, &random_, found);
}

bool Session::OpenLog() {
  Result<std::unique_ptr<Log>> opened = Log::Open(*disk_, kLogPath, scenario_.options);
  for (int i = 0; i < 8 && !opened.ok() && scenario_.faulty() && trail_.depth() == 0; ++i) {
    // A fault may make the open fail; an open after the fault must find everything.
    Note("open failed: " + opened.status().message());
    disk_->clear_faults();
    disk_->set_capacity_blocks(UINT64_MAX);
    opened = Log::Open(*disk_, kLogPath, scenario_.options);
  }
  if (!opened.ok()) {
    Fail("the log does not open: " + opened.status().message() + " " + opened.status().path());
    return false;
  }
  log_ = std::move(*opened);
  strikes_at_open_ = disk_->strikes().size();
  log_->Attach(&workers_, this);
  return true;
}

void Session::OnCall(Call call) {
  TryEnd(call);
  workers_.AtCall();
}

void Session::TryEnd(Call call) {
  if (points_left_ == 0 || !going()) return;
  // Ends between two reads leave the same disk, so they are tried less often.
  const uint64_t rarity = (trail_.depth() == 0 ? 10u : 12u) * (OnlyReads(call)      ? 12u
                                                               : call == Call::kNow ? 4u
                                                                                    : 1u);
  if (!crashes_.OneIn(rarity)) return;
  Note(std::string("-- a crash is tried here: ") + crash::NameOf(call));
  Explore(crashes_.Percent(70));
}

void Session::ExploreMaybe(uint32_t percent) {
  if (points_left_ == 0 || !going() || !crashes_.Percent(percent)) return;
  Note("-- a crash is tried between two steps");
  Explore(crashes_.Percent(80));
}

Ledger Session::LedgerNow() const {
  Ledger now = ledger_;
  if (log_) {
    now.synced = log_->ReachedEnd(Level::kSync);
    now.in_memory = log_->ReachedEnd(Level::kMemory);
  }
  // The device may have failed while an open wrote back records that only the cache held.
  if (!log_ && disk_->strikes().size() > strikes_at_arrival_) now.in_memory = now.synced;
  if (CursorMayGoBack()) now.cursor_in_memory = now.cursor_synced;
  if (storing_) now.in_memory = std::min(now.in_memory, memory_before_store_);
  if (cut_) {
    // A void that is being shortened is absent for a moment.
    const uint64_t end = ledger_.BeginOfVoidAt(*cut_);
    now.synced = std::min(now.synced, end);
    now.in_memory = std::min(now.in_memory, end);
    now.AllowEndAt(*cut_);
  }
  return now;
}

void Session::Explore(bool power) {
  --points_left_;
  const Ledger ledger = LedgerNow();
  ++explorer_->tally[power ? Count::kPowerCuts : Count::kProcessDeaths];
  if (!log_) ++explorer_->tally[Count::kInRecovery];
  const std::unique_ptr<SimulatedDisk> disk =
      power ? disk_->AfterPowerCut(&crashes_) : disk_->AfterKill(&crashes_, storing_);
  Session next(explorer_, disk.get(), scenario_, ledger, crashes_.Next(), this);
  next.Note(power ? "power cut" : "process death");
  const uint32_t steps = crashes_.OneIn(3) ? 0 : static_cast<uint32_t>(crashes_.Between(1, 12));
  next.Run(power ? Survived::kPowerCut : Survived::kProcessDeath, steps);
}

}  // namespace durlog::crash
