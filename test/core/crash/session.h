// One process that opens the log on a disk, checks its contents against the ledger, and appends
// more. It may end at any system call; then another session continues with the remaining disk.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cursor/durable_cursor.h"
#include "explorer.h"
#include "ledger.h"
#include "log/log.h"
#include "read_back.h"
#include "scenario.h"
#include "seeded_workers.h"
#include "simulated_disk.h"
#include "trail.h"

namespace durlog::crash {

class Session final : public LogListener {
 public:
  // `parent` is the session whose end led to this one; null for the first.
  Session(Explorer* explorer, SimulatedDisk* disk, const Scenario& scenario, const Ledger& ledger,
          uint64_t seed, const Session* parent);
  ~Session() override;

  // Checks the disk, opens the log, checks again, and takes `steps` steps. `survived` is the kind
  // of crash that the disk has been through.
  void Run(Survived survived, uint32_t steps);

  void OnFailure(const Status& status, uint64_t first_seq, uint64_t unknown_before,
                 bool latched) override;
  void OnRotated(uint64_t) override {}

 private:
  // session.cc
  bool Arrive(Survived survived);
  std::string LookAtCopy(Survived survived, Found* found);
  bool OpenLog();
  void OnCall(Call call);
  void TryEnd(Call call);
  void Explore(bool power);
  void ExploreMaybe(uint32_t percent);
  Ledger LedgerNow() const;
  void Fail(const std::string& what);
  void Note(const std::string& what);
  bool going() const { return !explorer_->failed(); }

  // workload.cc
  void Step();
  void AppendOne();
  void AppendBatch();
  void AppendVoid();
  void Settle(const Result<uint64_t>& result, uint64_t expected);
  void BeginStore();
  void EndStore();
  Entry NewEntry(uint64_t max_bytes);
  uint64_t AnyTime();
  Level AnyLevel();
  void Turn();
  void Drain();
  void BeginTrim();
  void FinishTrim();
  uint64_t PlanRetention();
  void Truncate();
  void Rotate();
  void JumpClock();

  // cursor_steps.cc
  bool HasCursor() const { return !scenario_.faulty() || scenario_.any_fault; }
  void CursorFails(const std::string& what);
  void OpenCursor();
  void MoveCursor();

  void Reopen();
  void CloseLog();
  void DropLog();
  void CheckAcks();
  void CheckLatch();
  void CheckFault();
  bool CursorMayGoBack() const;
  void MakeRoomAgain();

  Explorer* const explorer_;
  SimulatedDisk* const disk_;
  const Scenario& scenario_;
  Trail trail_;
  Random random_;   // chooses the steps
  Random crashes_;  // chooses the crashes
  uint32_t points_left_;
  uint64_t next_nonce_;
  Ledger ledger_;
  SeededWorkers workers_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<DurableCursor> cursor_;
  Random cursor_random_;

  // Whether stores are in progress, and the in-memory end before them.
  bool storing_ = false;
  uint64_t memory_before_store_ = 0;
  uint64_t appending_from_ = UINT64_MAX;  // the first seq of the append that is being made
  std::shared_ptr<TrimJob> trim_;
  std::optional<uint64_t> cut_;  // set while a truncation is in progress
  // The number of strikes when the session began to look at the disk, and when it had opened the
  // log.
  size_t strikes_at_arrival_ = 0;
  size_t strikes_at_open_ = 0;
  bool failed_softly_ = false;  // a call was refused without latching the log
};

}  // namespace durlog::crash
