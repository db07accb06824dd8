#include "napi/log_handle.h"

#include <utility>

#include "napi/convert.h"

namespace durlog {

namespace {

// Closes the log's files and leaves the members of a shared log. This may block.
class LeaveJob final : public Job {
 public:
  explicit LeaveJob(std::unique_ptr<LogWriter> log)
      : waits_(log->options().shared), log_(std::move(log)) {}
  bool waits() const override { return waits_; }

 protected:
  void Run() override { log_.reset(); }

 private:
  const bool waits_;
  std::unique_ptr<LogWriter> log_;
};

// A terminated worker_thread never collects its objects, so the hook closes its open logs.
void DropAtTeardown(void* data) { static_cast<LogHandle*>(data)->Drop(); }

}  // namespace

LogHandle::LogHandle(napi_env env, std::unique_ptr<LogWriter> log)
    : env_(env), log_(std::move(log)) {
  log_->Attach(this, this);
  napi_add_env_cleanup_hook(env_, DropAtTeardown, this);
}

LogHandle::~LogHandle() { napi_remove_env_cleanup_hook(env_, DropAtTeardown, this); }

void LogHandle::Connect(const Napi::Function& on_progress, const Napi::Float64Array& counters) {
  on_progress_ = Napi::Weak(on_progress);
  counters_reference_ = Napi::Persistent(counters);
  counters_ = Napi::Float64Array(counters).Data();
  StoreCounters();
}

// Called after each call: a call that had to wait has made a commit itself, which no job reports.
void LogHandle::StoreCounters() {
  // Seqs are below 2^53, and a signed conversion is one instruction.
  const auto number = [](uint64_t value) {
    return static_cast<double>(static_cast<int64_t>(value));
  };
  const LogEnds ends = log_->Ends();
  counters_[kFirstSeq] = number(ends.first_seq);
  counters_[kNextSeq] = number(ends.next_seq);
  counters_[kMemoryEnd] = number(ends.memory);
  counters_[kAsyncEnd] = number(ends.async);
  counters_[kSyncedEnd] = number(ends.synced);
  counters_[kFullEnd] = number(ends.full);
  counters_[kPendingBytes] = number(ends.pending_bytes);
  counters_[kLatched] = ends.latched ? 1 : 0;
}

void LogHandle::Execute(std::shared_ptr<Job> job) {
  if (!on_progress_.IsEmpty()) on_progress_.Ref();
  const bool queued = QueueJob(env_, std::move(job), [self = shared_from_this()](napi_env) {
    self->OnJobDone();
    if (!self->on_progress_.IsEmpty()) self->on_progress_.Unref();
  });
  // Without a worker the job runs on the first thread that awaits it: see Job::Await().
  if (!queued && !on_progress_.IsEmpty()) on_progress_.Unref();
}

void LogHandle::OnJobDone() {
  if (!log_) return;
  const Napi::HandleScope scope(env_);
  log_->Harvest();
  StoreCounters();
  CallOnProgress();
  if (log_ && closing_) {
    log_->Pump();
    FinishCloseIfIdle();
  }
}

// May be called while a terminated worker is being torn down. Then no function can be called, and
// no caller waits for the call.
void LogHandle::CallOnProgress() {
  if (on_progress_.IsEmpty()) return;
  const Napi::Function on_progress = on_progress_.Value();
  if (on_progress.IsEmpty()) return;
  napi_value receiver;
  napi_value ignored;
  if (napi_get_undefined(env_, &receiver) != napi_ok) return;
  static_cast<void>(napi_call_function(env_, receiver, on_progress, 0, nullptr, &ignored));
}

void LogHandle::Queue(Event event) {
  events_.push_back(std::move(event));
  if (counters_ != nullptr) counters_[kEvents] = static_cast<double>(events_.size());
}

void LogHandle::OnFailure(const Status& status, uint64_t first_seq, uint64_t unknown_before,
                          bool latched) {
  if (closing_ && latched) close_failure_ = status;
  Event event;
  event.status = status;
  event.first_seq = first_seq;
  event.unknown_before = unknown_before;
  event.latched = latched;
  Queue(std::move(event));
}

void LogHandle::OnRotated(uint64_t first_seq) {
  Event event;
  event.first_seq = first_seq;
  Queue(std::move(event));
}

void LogHandle::OnStalled(int64_t pid, uint64_t seq, bool lasts) {
  Event event;
  event.first_seq = seq;
  event.stalled_pid = pid;
  event.lasts = lasts;
  Queue(std::move(event));
}

void LogHandle::OnClosedUnsynced(const Status& stalled) { close_failure_ = stalled; }

Napi::Value LogHandle::TakeEvents(Napi::Env env) {
  const std::vector<Event> events = std::exchange(events_, {});
  if (counters_ != nullptr) counters_[kEvents] = 0;
  Napi::Array array = Napi::Array::New(env, events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    Napi::Object object = Napi::Object::New(env);
    object.Set("firstSeq", FromSeq(env, event.first_seq));
    if (event.stalled_pid) {
      object.Set("stalledPid", Napi::Number::New(env, static_cast<double>(*event.stalled_pid)));
      object.Set("lasts", Napi::Boolean::New(env, event.lasts));
    }
    if (!event.status.ok()) {
      const Napi::Value error = ToError(env, event.status);
      if (error.IsEmpty()) return error;
      object.Set("error", error);
      object.Set("unknownBefore", FromSeq(env, event.unknown_before));
      object.Set("latched", Napi::Boolean::New(env, event.latched));
      object.Set("stored", Napi::Boolean::New(env, event.status.stored()));
    }
    array.Set(static_cast<uint32_t>(i), object);
  }
  return array;
}

napi_value LogHandle::Close(napi_env env) {
  if (closed_ || closing_) {
    Throw(env, Status::Error(Code::kClosed, "the log is closed"));
    return nullptr;
  }
  closing_ = std::make_unique<Deferred>();
  napi_value const promise = closing_->MakePromise(env);
  log_->PrepareClose();
  log_->Pump();
  FinishCloseIfIdle();
  return promise;
}

// The files are closed on a worker: the last close of a file may write.
void LogHandle::FinishCloseIfIdle() {
  if (!closing_ || !log_->idle()) return;
  closed_ = true;
  StoreCounters();
  const auto leave = std::make_shared<LeaveJob>(std::move(log_));
  const bool queued = QueueJob(env_, leave, [self = shared_from_this()](napi_env raw) {
    const Napi::HandleScope scope(raw);
    if (self->closing_) {
      const Napi::Env env(raw);
      if (self->close_failure_.ok()) {
        self->closing_->Resolve(raw, env.Undefined());
      } else if (const Napi::Value error = ToError(env, self->close_failure_); !error.IsEmpty()) {
        self->closing_->Reject(raw, error);
      }
    }
    self->closing_.reset();
    self->on_progress_.Reset();
  });
  if (!queued) leave->RunOnce();
}

void LogHandle::Drop() {
  closed_ = true;
  log_.reset();
  closing_.reset();
  on_progress_.Reset();
  counters_ = nullptr;
  counters_reference_.Reset();
}

}  // namespace durlog
