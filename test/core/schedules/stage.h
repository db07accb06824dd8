// The members of one run, with the results of their calls. All of it is in the arena.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../inline_executor.h"
#include "log/log.h"
#include "model_files.h"
#include "scenario.h"
#include "shared/shared_log.h"
#include "write/log_listener.h"

namespace durlog::schedules {

// The log's folder in the model.
inline constexpr char kLogPath[] = "log";

// A record that a member has appended or tried to append.
struct Written {
  std::string payload;
  bool acknowledged = false;
  uint64_t seq = 0;
  size_t batch = SIZE_MAX;  // of the records with the same number, all are in the log or none
};

class Stage final : public LogListener {
 public:
  static constexpr uint64_t kSegmentBytes = 3 * kSegmentHeaderBytes;

  Stage(const Scenario& scenario, ModelFiles& files) : scenario_(scenario), files_(files) {}

  // Lets members join before the first turn, and fills the log.
  void SetUp();
  // Does all of a member's work.
  void Work(size_t member);

  const std::vector<Written>& written() const { return written_; }
  // Records below this seq may have been trimmed.
  uint64_t trimmed_below() const { return trimmed_below_; }
  // The first violation that a member has observed; "" for none.
  const std::string& violation() const { return violation_; }

  // LogListener
  void OnFailure(const Status& status, uint64_t, uint64_t, bool) override {
    Fail("a member's log has failed: " + status.message());
  }
  void OnRotated(uint64_t) override {}

  static LogOptions Options();
  static LogOptions OptionsAlone();

 private:
  // False if another process keeps this one out.
  bool Join(size_t member);
  bool OpenAlone(size_t member);
  void Leave(size_t member);
  void CloseAlone(size_t member);
  void Truncate(Log& log);
  void Rotate(Log& log);
  void TrimAlone(Log& log);
  LogWriter& WriterOf(size_t member) {
    if (alone_[member]) return *alone_[member];
    return *logs_[member];
  }
  void EndSessionByDeath();
  void Append(size_t member, char what);
  void Trim(size_t member);
  void FillUpTo(uint64_t room_bytes);
  void TakeSpareAway();
  void Fail(const std::string& violation) {
    if (violation_.empty()) violation_ = violation;
  }

  const Scenario& scenario_;
  ModelFiles& files_;
  InlineExecutor executor_;
  std::array<std::unique_ptr<SharedLog>, ModelFiles::kMostMembers> logs_;
  std::array<std::unique_ptr<Log>, ModelFiles::kMostMembers> alone_;
  std::array<size_t, ModelFiles::kMostMembers> appended_{};
  std::vector<Written> written_;
  uint64_t trimmed_below_ = 0;
  std::string violation_;
};

}  // namespace durlog::schedules
