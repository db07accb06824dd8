// A log in one environment: passes jobs to libuv's workers, and their results and events to
// JavaScript.
#pragma once

#include <napi.h>

#include <memory>
#include <optional>
#include <vector>

#include "base/aligned_buffer.h"
#include "napi/async_task.h"
#include "write/log_writer.h"

namespace durlog {

// Shared by the JavaScript object and by every running job, so that a job that ends after the
// object was collected, or after its worker_thread was terminated, can still use it.
//
// No call into the log calls JavaScript back. An append may find that an earlier commit has failed,
// and a callback could then call the log again before the append is done. Such events are queued.
// The `events` counter is the number of queued events, and JavaScript takes them after the call has
// returned.
class LogHandle final : public Executor,
                        public LogListener,
                        public std::enable_shared_from_this<LogHandle> {
 public:
  // In the order of `Counter` in src/native/log.ts.
  enum Counter : size_t {
    kFirstSeq,
    kNextSeq,
    kMemoryEnd,
    kAsyncEnd,
    kSyncedEnd,
    kFullEnd,
    kPendingBytes,
    kLatched,
    kEvents,
    kAccepted,
    kCounters,  // the number of counters
  };

  LogHandle(napi_env env, std::unique_ptr<LogWriter> log);
  ~LogHandle() override;
  // After StoreCounters().
  void CountAccepted() { ++counters_[kAccepted]; }

  // `on_progress()` is called when a job is done; `counters` is a Float64Array that the handle
  // keeps up to date. The function is referenced only while a job is running, so that a log that is
  // never closed can be collected; at other times the log's JavaScript object references it.
  void Connect(const Napi::Function& on_progress, const Napi::Float64Array& counters);

  // Null once closed.
  LogWriter* log() { return log_.get(); }
  // For the methods of the log's object, which are specific to the type of the log. Null once
  // closed.
  template <typename LogType>
  LogType* As() {
    return static_cast<LogType*>(log_.get());
  }
  // The buffer in which a string is converted to UTF-8, for one call.
  AlignedBuffer* scratch() { return &scratch_; }
  void BoundScratch() {
    if (scratch_.capacity() > kMaxKeptScratchBytes) scratch_ = AlignedBuffer();
  }

  void StoreCounters();
  // The queued events, oldest first, as an array of `NativeEvent`. Works after the log is closed
  // too.
  Napi::Value TakeEvents(Napi::Env env);

  // A promise that settles when the log is drained, marked and unlocked. Rejects if the last sync
  // fails; the log is then closed too.
  napi_value Close(napi_env env);
  // Closes the log without stating its synced end, and without a promise, for teardown.
  void Drop();

  void Execute(std::shared_ptr<Job> job) override;
  void OnFailure(const Status& status, uint64_t first_seq, uint64_t unknown_before,
                 bool latched) override;
  void OnRotated(uint64_t first_seq) override;
  void OnStalled(int64_t pid, uint64_t seq, bool lasts) override;
  void OnClosedUnsynced(const Status& stalled) override;

 private:
  // A longer string is copied into memory that is released after the call.
  static constexpr size_t kMaxKeptScratchBytes = 1 << 20;

  // A failure; if the status is OK, a rotation or a stall.
  struct Event {
    Status status;
    uint64_t first_seq = 0;
    uint64_t unknown_before = 0;
    bool latched = false;
    std::optional<int64_t> stalled_pid;
    bool lasts = false;
  };

  void OnJobDone();
  void CallOnProgress();
  void Queue(Event event);
  void FinishCloseIfIdle();

  const napi_env env_;
  std::unique_ptr<LogWriter> log_;
  Napi::FunctionReference on_progress_;
  Napi::Reference<Napi::Float64Array> counters_reference_;
  double* counters_ = nullptr;
  std::vector<Event> events_;
  AlignedBuffer scratch_;
  std::unique_ptr<Deferred> closing_;
  Status close_failure_;  // the reason why a sync after Close() failed or could not be made
  bool closed_ = false;
};

}  // namespace durlog
