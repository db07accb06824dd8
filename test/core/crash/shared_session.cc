#include "shared_session.h"

#include <algorithm>
#include <utility>

#include "base/shared_word.h"
#include "inspect/verify.h"
#include "log/log.h"
#include "read/log_reader.h"
#include "shared/frame_step.h"
#include "shared/members_page.h"

namespace durlog::crash {
namespace {

// How many ends of a session are tried, by the number of sessions that it continues.
constexpr uint32_t kSharedPointsAtDepth[] = {16, 2, 1, 0};
constexpr int kSharedMaxDepth = 3;
// A session whose workers need more turns than this hangs.
constexpr int kMaxTurnsOfAll = 200'000;
// The creation of a log is much the same each time, so few ends are tried in it.
constexpr uint64_t kRarityInCreation = 60;
constexpr uint64_t kRarityInRecovery = 25;

// The innermost session, which receives the steps.
SharedSession* g_session = nullptr;

// Calls that change nothing, and calls during which this thread may hold a lock.
bool OnlyReadsShared(Call call) { return ChangesNothing(call) || call == Call::kNow; }

class MemberJob final : public Job {
 public:
  explicit MemberJob(SharedMember* member) : member_(member) {}

 protected:
  void Run() override { member_->Run(); }

 private:
  SharedMember* const member_;
};

std::string Describe(const Status& status) { return status.message() + " " + status.path(); }

// Reads everything from `first` on. "" or what is wrong.
std::string ReadListing(FileSystem& disk, const SharedLedger& ledger, Listing* listing) {
  Result<std::unique_ptr<LogReader>> reader = LogReader::Open(disk, kLogPath, listing->first);
  if (!reader.ok()) return "a reader cannot be opened: " + Describe(reader.status());
  std::vector<uint8_t> buffer(128 << 10);
  std::vector<ReadEntry> entries(256);
  for (;;) {
    const Result<ReadBatch> batch = (*reader)->Next(buffer.data(), buffer.size(), entries.data(),
                                                    entries.size(), LogReader::kNoLimit);
    if (!batch.ok()) return "the reader fails: " + Describe(batch.status());
    if (batch->count > 0) {
      if (batch->first_seq < listing->next()) return "the reader goes back";
      listing->ids.resize(static_cast<size_t>(batch->first_seq - listing->first), kVoidSeq);
    }
    for (size_t i = 0; i < batch->count; ++i) {
      const uint8_t* const payload = buffer.data() + entries[i].offset;
      const uint64_t id = entries[i].length >= sizeof(uint64_t) ? Load64(payload) : kVoidSeq;
      const SharedRecord* const record = ledger.Find(id);
      if (record == nullptr || record->size != entries[i].length ||
          !std::equal(payload, payload + record->size, PayloadOf(id, record->size).data())) {
        return "seq " + std::to_string(listing->next()) + " is no record that was appended";
      }
      listing->ids.push_back(id);
    }
    if (batch->next_seq > listing->next()) {
      listing->ids.resize(static_cast<size_t>(batch->next_seq - listing->first), kVoidSeq);
    }
    if (batch->count == 0) return "";
  }
}

}  // namespace

SharedSession::SharedSession(Explorer* explorer, SimulatedDisk* disk, const Scenario& scenario,
                             const SharedLedger& ledger, uint64_t seed, const SharedSession* parent)
    : explorer_(explorer),
      disk_(disk),
      scenario_(scenario),
      outer_(std::exchange(g_session, this)),
      trail_(parent == nullptr ? nullptr : &parent->trail_),
      random_(seed),
      crashes_(Mix(seed)),
      points_left_(kSharedPointsAtDepth[std::min(trail_.depth(), kSharedMaxDepth)]),
      rarity_(crashes_.Between(8, 100)),
      ledger_(ledger),
      workers_(Mix(seed + 1), scenario.percent_jobs_at_once, scenario.percent_switch,
               SeededWorkers::kManyBegun) {
  step_hook_for_tests = [](durlog::Step step) { g_session->OnStep(step); };
  disk_->on_call = [this](Call call) { OnCall(call); };
  disk_->on_wait = [this] { GiveWay(); };
  disk_->on_misuse = [this](const std::string& what) { Fail("misuse: " + what); };
  if (explorer_->tracing()) disk_->on_trace = [this](const std::string& what) { Note(what); };
}

// The disk is no longer inspected: all members run to their end, including the killed ones.
SharedSession::~SharedSession() {
  ending_ = true;
  disk_->on_call = nullptr;
  disk_->set_quiet(true);
  disk_->set_lock_free(true);
  workers_.FinishAll();
  members_.clear();
  workers_.FinishAll();
  disk_->on_wait = nullptr;
  disk_->on_misuse = nullptr;
  disk_->on_trace = nullptr;
  g_session = outer_;
  if (g_session == nullptr) step_hook_for_tests = nullptr;
}

void SharedSession::Note(const std::string& what) {
  if (explorer_->tracing() && !ending_) trail_.Note(what);
}

void SharedSession::Fail(const std::string& what) {
  if (ending_) return;
  explorer_->Fail(what, trail_.Whole());
}

void SharedSession::NoteLatched() {
  if (!ending_) ++explorer_->tally[Count::kLatched];
}

void SharedSession::GiveWay() {
  if (workers_.running()) workers_.GiveWay();
}

void SharedSession::Run(Survived survived, uint32_t members, uint32_t steps) {
  // The first member recovers the log before any other member joins.
  members_.push_back(std::make_unique<SharedMember>(this, 1, steps, random_.Next()));
  if (!Arrive(survived)) return;
  workers_.Execute(std::make_shared<MemberJob>(members_[0].get()), 1);
  for (uint32_t process = 2; process <= members; ++process) {
    members_.push_back(std::make_unique<SharedMember>(this, process, steps, random_.Next()));
    workers_.Execute(std::make_shared<MemberJob>(members_.back().get()), process);
  }
  if (trail_.depth() == 0) {
    for (const Fault& fault : scenario_.faults) disk_->add_fault(fault);
  }
  const bool may_die = scenario_.members_die;
  for (int turns = 0; going() && !workers_.idle(); ++turns) {
    if (turns > kMaxTurnsOfAll) return Fail("the writers make no progress");
    workers_.RunOne();
    if (may_die && going() && random_.OneIn(300)) KillOne();
  }
  if (!going()) return;
  NoteLeft();
  while (points_left_ > 0 && going() && crashes_.OneIn(2)) {
    Note("-- a crash is tried after all members are done");
    Explore(crashes_.OneIn(2));
  }
}

// The log was closed in order if every member has left it and no call has failed.
void SharedSession::NoteLeft() {
  const auto left = [](const std::unique_ptr<SharedMember>& member) { return member->has_left(); };
  ledger_.closed_cleanly =
      !disk_->fault_has_struck() && std::all_of(members_.begin(), members_.end(), left);
  if (disk_->fault_has_struck()) ++explorer_->tally[Count::kFaults];
}

void SharedSession::KillOne() {
  SharedMember& victim = *members_[static_cast<size_t>(random_.Below(members_.size()))];
  if (victim.dead() || victim.has_left()) return;
  Note("process " + std::to_string(victim.process()) + " is killed");
  ledger_ = LedgerNow();
  ledger_.Bury(victim.process());
  victim.Die();
  workers_.Abandon(victim.process());
  disk_->Kill(victim.process());
}

bool SharedSession::Arrive(Survived survived) {
  // Records that were only in memory are no longer promised, now and after later crashes.
  if (survived == Survived::kPowerCut || disk_->HasLostSectors()) {
    ledger_.in_memory = ledger_.synced;
  }
  bool exists = false;
  Listing found;
  std::string wrong = LookAtCopy(survived, &exists, &found);
  if (!wrong.empty()) {
    Fail("before the open: " + wrong);
    return false;
  }
  SharedMember& first = *members_[0];
  recovering_ = true;
  if (!first.Open()) return false;
  recovering_ = false;
  const RecoveryState state = first.log()->recovery().state;
  if (trail_.depth() > 0) {
    ++explorer_->tally[state == RecoveryState::kClean      ? Count::kClean
                       : state == RecoveryState::kTornTail ? Count::kTornTail
                                                           : Count::kHole];
  }
  if (ledger_.closed_cleanly && state != RecoveryState::kClean) {
    Fail("a log that every member has left is not found clean");
  }
  Listing kept;
  wrong = LookAtCopy(survived, &exists, &kept);
  if (!wrong.empty()) Fail("after the open: " + wrong);
  if (!found.ids.empty() && (kept.first != found.first || kept.next() != found.next())) {
    Fail("verify promised that the log ends at " + std::to_string(found.next()) +
         ", the open ends it at " + std::to_string(kept.next()));
  }
  if (kept.next() != first.log()->next_seq()) Fail("the log and its readers disagree on its end");
  ledger_.Open(kept);
  return going();
}

// Reading a log back writes and drops its cached pages. Works on a copy, so that the open finds the
// disk unchanged.
std::string SharedSession::LookAtCopy(Survived survived, bool* exists, Listing* found) {
  Random unused(0);
  const std::unique_ptr<SimulatedDisk> copy = disk_->AfterKill(&unused, false);
  copy->set_quiet(true);
  const Result<VerifyReport> report = Verify(*copy, kLogPath);
  if (!report.ok()) {
    if (report.status().code() == Code::kNotFound && !ledger_.created) return "";
    return "verify fails: " + Describe(report.status());
  }
  *exists = true;
  if (report->state == RecoveryState::kCorrupt) {
    std::string text = "verify says corrupt after a crash";
    for (const Problem& problem : report->problems) {
      text += "; " + problem.message + " in " + problem.segment + " at " +
              std::to_string(problem.offset);
    }
    return text;
  }
  found->first = report->bounds.first_seq;
  std::string wrong = ReadListing(*copy, ledger_, found);
  if (!wrong.empty()) return wrong;
  if (found->next() != report->bounds.next_seq) {
    return "verify ends the log at " + std::to_string(report->bounds.next_seq) +
           ", the reader at " + std::to_string(found->next());
  }
  return ledger_.Check(*found,
                       survived == Survived::kPowerCut ? ledger_.synced : ledger_.in_memory);
}

void SharedSession::OnCall(Call call) {
  if (OnlyReadsShared(call)) return;
  TryEnd(crash::NameOf(call));
  workers_.AtCall();
}

void SharedSession::OnStep(durlog::Step step) {
  if (ending_) return;
  Break(step);
  TryEnd("step " + std::to_string(static_cast<int>(step)));
  workers_.AtCall();
}

void SharedSession::TryEnd(const std::string& where) {
  const uint64_t rarity =
      recovering_ ? (trail_.depth() == 0 ? kRarityInCreation : kRarityInRecovery) : rarity_;
  if (points_left_ == 0 || !going() || !crashes_.OneIn(rarity)) return;
  Note("-- a crash is tried here: " + where);
  Explore(crashes_.Percent(70));
}

SharedLedger SharedSession::LedgerNow() {
  SharedLedger now = ledger_;
  for (const std::unique_ptr<SharedMember>& member : members_) {
    if (!member->dead()) member->RaiseReached(&now.synced, &now.in_memory);
  }
  return now;
}

void SharedSession::Explore(bool power) {
  --points_left_;
  ++explorer_->tally[power ? Count::kPowerCuts : Count::kProcessDeaths];
  if (recovering_) ++explorer_->tally[Count::kInRecovery];
  const SharedLedger ledger = LedgerNow();
  const std::unique_ptr<SimulatedDisk> disk =
      power ? disk_->AfterPowerCut(&crashes_) : disk_->AfterKill(&crashes_, false);
  SharedSession next(explorer_, disk.get(), scenario_, ledger, crashes_.Next(), this);
  next.Note(power ? "power cut" : "death of all processes");
  const uint32_t steps = crashes_.OneIn(3) ? 0 : static_cast<uint32_t>(crashes_.Between(1, 10));
  next.Run(power ? Survived::kPowerCut : Survived::kProcessDeath,
           static_cast<uint32_t>(crashes_.Between(1, 3)), steps);
}

// Breaks a writer from outside: makes the stores that a broken writer would make.
void SharedSession::Break(durlog::Step step) {
  const uint32_t process = workers_.running_owner();
  if (process == 0 || process > members_.size() || members_[process - 1]->log() == nullptr) return;
  SharedLog& log = *members_[process - 1]->log();
  if (scenario_.broken == BrokenMember::kPublishesFirst && step == durlog::Step::kReserved) {
    PublishFirst(log.slot());
  }
  if (scenario_.broken == BrokenMember::kAcknowledgesReserved &&
      step == durlog::Step::kHeaderStored) {
    auto* const words = reinterpret_cast<SharedWord*>(disk_->CacheOf(kSharedName));
    RaiseWord(words[static_cast<size_t>(PageWord::kSyncedEnd)], log.next_seq());
  }
}

// Publishes a single record that `slot` has reserved and not stored.
void SharedSession::PublishFirst(uint32_t slot) {
  for (const std::string& name : disk_->Names()) {
    if (name.find(".seg") == std::string::npos) continue;
    uint8_t* const cache = disk_->CacheOf(name);
    for (uint64_t at = kSegmentHeaderBytes; at < scenario_.options.segment_bytes;) {
      auto* const word = reinterpret_cast<uint32_t*>(cache + at);
      const auto state = static_cast<FrameState>(word[0] >> kStateShift);
      const uint64_t reserved = Load64(cache + at);
      if (reserved == 0) break;
      if (state == FrameState::kReserved && OwnerOf(reserved) == slot &&
          ReservedSeqsOf(reserved) == 1) {
        word[0] = (word[0] & kLengthMask) |
                  (static_cast<uint32_t>(FrameState::kCommitted) << kStateShift);
        word[1] = 0;
        return;
      }
      at += FrameBytes(word[0] & kLengthMask);
    }
  }
}

}  // namespace durlog::crash
