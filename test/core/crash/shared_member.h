// One writer of a SharedSession: opens the log, appends in every possible way, and leaves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "random.h"
#include "shared/shared_log.h"
#include "simulated_process.h"
#include "write/log_listener.h"

namespace durlog::crash {

class SharedSession;

class SharedMember final : public LogListener, public Executor {
 public:
  // `process` is different for each member of a session.
  SharedMember(SharedSession* session, uint32_t process, uint32_t steps, uint64_t seed);
  ~SharedMember() override;

  // Called on the session's thread, or at the beginning of Run().
  bool Open();
  // Takes the steps, and then leaves the log or stays in it.
  void Run();
  // The results of its calls no longer count.
  void Die() { dead_ = true; }
  bool dead() const { return dead_; }
  bool has_left() const { return left_; }
  uint32_t process() const { return process_; }
  // Null before the open, and after the member has left.
  SharedLog* log() { return log_.get(); }
  // Raises both to the ends that were acknowledged to this member, also after it has left.
  void RaiseReached(uint64_t* synced, uint64_t* in_memory) const;

  void OnFailure(const Status& status, uint64_t, uint64_t, bool) override;
  void OnRotated(uint64_t) override {}
  void OnStalled(int64_t, uint64_t, bool) override;
  void Execute(std::shared_ptr<Job> job) override;

 private:
  void Step();
  void Append();
  void AppendBatch();
  void Settle(const Result<uint64_t>& result, uint64_t first_id, uint64_t count);
  uint64_t AnySize(uint64_t most);
  Level AnyLevel();
  void Turn();
  void Drain();
  void Trim();
  void Leave();
  void Note(const std::string& what);
  bool going() const;

  SharedSession* const session_;
  const uint32_t process_;
  const uint32_t steps_;
  SimulatedProcess file_system_;
  Random random_;
  std::unique_ptr<SharedLog> log_;
  std::shared_ptr<SharedTrimJob> trim_;
  uint64_t synced_ = 0;
  uint64_t in_memory_ = 0;
  bool dead_ = false;
  bool left_ = false;
};

}  // namespace durlog::crash
