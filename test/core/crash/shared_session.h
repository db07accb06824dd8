// Several processes that have one log open at the same time; each is a fiber. They append
// concurrently, one may die while the others continue, and all may end at any step of any of them.
// Then another session continues with the remaining disk.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "explorer.h"
#include "read_back.h"
#include "scenario.h"
#include "seeded_workers.h"
#include "shared/steps.h"
#include "shared_ledger.h"
#include "shared_member.h"
#include "simulated_disk.h"
#include "trail.h"

namespace durlog::crash {

class SharedSession {
 public:
  // `parent` is the session whose end led to this one; null for the first.
  SharedSession(Explorer* explorer, SimulatedDisk* disk, const Scenario& scenario,
                const SharedLedger& ledger, uint64_t seed, const SharedSession* parent);
  ~SharedSession();
  SharedSession(const SharedSession&) = delete;
  SharedSession& operator=(const SharedSession&) = delete;

  // Checks the disk, opens the log, checks again, and lets up to `members` take `steps` steps each.
  void Run(Survived survived, uint32_t members, uint32_t steps);

  // For the members.
  SharedLedger& ledger() { return ledger_; }
  SeededWorkers& workers() { return workers_; }
  SimulatedDisk& disk() { return *disk_; }
  const Scenario& scenario() const { return scenario_; }
  bool going() const { return !ending_ && !explorer_->failed(); }
  void Fail(const std::string& what);
  void Note(const std::string& what);
  void NoteLatched();
  void NoteNoSpace() { ++explorer_->tally[Count::kNoSpace]; }
  // Called when one member waits for another.
  void GiveWay();

 private:
  bool Arrive(Survived survived);
  std::string LookAtCopy(Survived survived, bool* exists, Listing* found);
  void StartMember();
  void KillOne();
  void NoteLeft();

  void OnCall(Call call);
  void OnStep(Step step);
  void Break(Step step);
  void PublishFirst(uint32_t slot);
  void TryEnd(const std::string& where);
  void Explore(bool power);
  SharedLedger LedgerNow();

  Explorer* const explorer_;
  SimulatedDisk* const disk_;
  const Scenario& scenario_;
  SharedSession* const outer_;  // receives the steps again when this one has ended
  Trail trail_;
  Random random_;   // chooses the steps
  Random crashes_;  // chooses the crashes
  uint32_t points_left_;
  const uint64_t rarity_;  // a crash is tried at one in this many points
  SharedLedger ledger_;
  SeededWorkers workers_;
  std::vector<std::unique_ptr<SharedMember>> members_;
  bool recovering_ = false;
  bool ending_ = false;
};

}  // namespace durlog::crash
