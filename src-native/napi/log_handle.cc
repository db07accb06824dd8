#include "napi/log_handle.h"

#include <utility>

#include "napi/convert.h"

namespace durlog {

namespace {

// A terminated worker_thread never collects its objects: the hook closes what it had open.
void DropAtTeardown(void* data) { static_cast<LogHandle*>(data)->Drop(); }

}  // namespace

LogHandle::LogHandle(napi_env env, std::unique_ptr<Log> log) : env_(env), log_(std::move(log)) {
  log_->Attach(this, this);
  napi_add_env_cleanup_hook(env_, DropAtTeardown, this);
}

LogHandle::~LogHandle() { napi_remove_env_cleanup_hook(env_, DropAtTeardown, this); }

void LogHandle::Connect(const Napi::Function& on_event, const Napi::Float64Array& counters) {
  on_event_ = Napi::Weak(on_event);
  counters_reference_ = Napi::Persistent(counters);
  counters_ = Napi::Float64Array(counters).Data();
  StoreCounters();
}

// A call that had to wait has done a commit by itself, of which no job will bring the news.
void LogHandle::StoreCounters() {
  // Seqs are below 2^53, and a signed conversion is one instruction.
  const auto number = [](uint64_t value) {
    return static_cast<double>(static_cast<int64_t>(value));
  };
  counters_[kFirst] = number(log_->first_seq());
  counters_[kNext] = number(log_->next_seq());
  counters_[kMemory] = number(log_->AckedEnd(Level::kMemory));
  counters_[kAsync] = number(log_->AckedEnd(Level::kAsync));
  counters_[kSynced] = number(log_->AckedEnd(Level::kSync));
  counters_[kFull] = number(log_->AckedEnd(Level::kFull));
  counters_[kPending] = number(log_->pending_bytes());
  counters_[kLatched] = log_->latched() ? 1 : 0;
}

void LogHandle::Execute(std::shared_ptr<Job> job) {
  if (!on_event_.IsEmpty()) on_event_.Ref();
  const bool queued = QueueWork(
      env_, [job] { job->RunOnce(); },
      [self = shared_from_this(), job](napi_env) {
        self->OnJobDone();
        if (!self->on_event_.IsEmpty()) self->on_event_.Unref();
      });
  // Where no worker can be had any more, whoever needs the job runs it itself: see Job::Await().
  if (!queued && !on_event_.IsEmpty()) on_event_.Unref();
}

void LogHandle::OnJobDone() {
  if (!log_) return;
  const Napi::HandleScope scope(env_);
  log_->Harvest();
  StoreCounters();
  Emit(kProgress, Napi::Env(env_).Undefined());
  if (log_ && closing_) {
    log_->Pump();
    FinishCloseIfIdle();
  }
}

// May be called while a terminated worker is being torn down: then nothing can be called any more,
// and the failure to do so is of no interest to anybody.
void LogHandle::Emit(Event event, napi_value argument) {
  if (on_event_.IsEmpty()) return;
  const Napi::Function on_event = on_event_.Value();
  if (on_event.IsEmpty()) return;
  napi_value arguments[2];
  napi_value receiver;
  napi_value ignored;
  if (napi_create_double(env_, event, &arguments[0]) != napi_ok) return;
  arguments[1] = argument;
  if (napi_get_undefined(env_, &receiver) != napi_ok) return;
  static_cast<void>(napi_call_function(env_, receiver, on_event, 2, arguments, &ignored));
}

void LogHandle::OnFailure(const Status& status, uint64_t first_seq, uint64_t unknown_before,
                          bool latched) {
  if (on_event_.IsEmpty()) return;
  StoreCounters();
  const Napi::Env env(env_);
  const Napi::HandleScope scope(env);
  const Napi::Value error = ToError(env, status);
  if (error.IsEmpty()) return;
  Napi::Object failure = Napi::Object::New(env);
  failure.Set("error", error);
  failure.Set("firstSeq", FromSeq(env, first_seq));
  failure.Set("unknownBefore", FromSeq(env, unknown_before));
  failure.Set("latched", Napi::Boolean::New(env, latched));
  Emit(kFailed, failure);
}

void LogHandle::OnRotated(uint64_t first_seq) {
  if (on_event_.IsEmpty()) return;
  const Napi::Env env(env_);
  const Napi::HandleScope scope(env);
  Emit(kRotated, FromSeq(env, first_seq));
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
  auto log = std::make_shared<std::unique_ptr<Log>>(std::move(log_));
  const bool queued = QueueWork(
      env_, [log] { log->reset(); },
      [self = shared_from_this()](napi_env raw) {
        const Napi::HandleScope scope(raw);
        if (self->closing_) self->closing_->Resolve(raw, Napi::Env(raw).Undefined());
        self->closing_.reset();
        self->on_event_.Reset();
      });
  if (!queued) log->reset();
}

void LogHandle::Drop() {
  closed_ = true;
  log_.reset();
  closing_.reset();
  on_event_.Reset();
  counters_reference_.Reset();
}

}  // namespace durlog
