// A log as one environment sees it: jobs to libuv's workers and back, news to JavaScript.
#ifndef DURLOG_NAPI_LOG_HANDLE_H_
#define DURLOG_NAPI_LOG_HANDLE_H_

#include <napi.h>

#include <memory>
#include <vector>

#include "log/log.h"
#include "napi/async_task.h"

namespace durlog {

// Shared by the JavaScript object and by every job that is out, so that a job that ends after the
// object was collected, or after its worker_thread was terminated, still finds it.
class LogHandle final : public Executor,
                        public LogListener,
                        public std::enable_shared_from_this<LogHandle> {
 public:
  LogHandle(napi_env env, std::unique_ptr<Log> log);
  ~LogHandle() override;

  // `on_event(event, argument)`; `counters` is a Float64Array that the handle keeps up to date. The
  // function is held only while a job is out, so that a log that nobody closes can be collected;
  // who wants the news keeps it.
  void Connect(const Napi::Function& on_event, const Napi::Float64Array& counters);

  // Null once closed.
  Log* log() { return log_.get(); }
  std::vector<uint8_t>* scratch() { return &scratch_; }

  void StoreCounters();

  // A promise for the end of the log: drained, marked, unlocked.
  napi_value Close(napi_env env);
  // Without a marker and without waiting for a promise; for teardown.
  void Drop();

  void Execute(std::shared_ptr<Job> job) override;
  void OnFailure(const Status& status, uint64_t first_seq, uint64_t unknown_before,
                 bool latched) override;
  void OnRotated(uint64_t first_seq) override;

 private:
  // As src/native.ts numbers them.
  enum Event { kProgress = 0, kFailed = 1, kRotated = 2 };
  enum Counter { kFirst, kNext, kMemory, kAsync, kSynced, kFull, kPending, kLatched, kCounters };

  void OnJobDone();
  void Emit(Event event, napi_value argument);
  void FinishCloseIfIdle();

  const napi_env env_;
  std::unique_ptr<Log> log_;
  Napi::FunctionReference on_event_;
  Napi::Reference<Napi::Float64Array> counters_reference_;
  double* counters_ = nullptr;
  std::vector<uint8_t> scratch_;
  std::unique_ptr<Deferred> closing_;
  bool closed_ = false;
};

}  // namespace durlog

#endif  // DURLOG_NAPI_LOG_HANDLE_H_
