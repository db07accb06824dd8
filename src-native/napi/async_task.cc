#include "napi/async_task.h"

#include <memory>
#include <utility>

#include "napi/convert.h"
#include "napi/work_queue.h"

namespace durlog {
namespace {

class StatusJob final : public Job {
 public:
  StatusJob(std::function<Status()> work, bool waits) : work_(std::move(work)), waits_(waits) {}
  bool waits() const override { return waits_; }
  // After done().
  const Status& status() const { return status_; }

 protected:
  void Run() override { status_ = work_(); }

 private:
  const std::function<Status()> work_;
  const bool waits_;
  Status status_;
};

bool IsError(const Napi::Value& value) {
  bool is_error = false;
  return napi_is_error(value.Env(), value, &is_error) == napi_ok && is_error;
}

}  // namespace

napi_value Deferred::MakePromise(napi_env env) {
  napi_deferred deferred = nullptr;
  napi_value promise = nullptr;
  if (napi_create_promise(env, &deferred, &promise) != napi_ok) return nullptr;
  deferred_ = deferred;
  return promise;
}

void Deferred::Resolve(napi_env env, napi_value value) {
  if (deferred_ != nullptr) napi_resolve_deferred(env, std::exchange(deferred_, nullptr), value);
}

void Deferred::Reject(napi_env env, napi_value error) {
  if (deferred_ != nullptr) napi_reject_deferred(env, std::exchange(deferred_, nullptr), error);
}

bool QueueJob(napi_env env, std::shared_ptr<Job> job, std::function<void(napi_env)> done) {
  WorkQueue& queue = *Napi::Env(env).GetInstanceData<EnvironmentData>()->work;
  return queue.Queue(std::move(job), std::move(done));
}

Napi::Value RunAsync(Napi::Env env, std::function<Status()> work,
                     std::function<Napi::Value(Napi::Env)> settle, std::function<void()> finally,
                     bool waits) {
  const auto deferred = std::make_shared<Deferred>();
  const Napi::Value promise(env, deferred->MakePromise(env));
  if (promise.IsEmpty()) {
    if (finally) finally();
    return promise;
  }
  const auto job = std::make_shared<StatusJob>(std::move(work), waits);
  const bool queued =
      QueueJob(env, job, [deferred, job, settle = std::move(settle), finally](napi_env raw) {
        const Napi::Env done_env(raw);
        const Napi::HandleScope scope(done_env);
        if (finally) finally();
        if (!job->done()) return;
        if (!job->status().ok()) {
          const Napi::Value error = ToError(done_env, job->status());
          if (!error.IsEmpty()) deferred->Reject(done_env, error);
          return;
        }
        const Napi::Value value = settle(done_env);
        if (value.IsEmpty()) return;
        if (IsError(value)) {
          deferred->Reject(done_env, value);
        } else {
          deferred->Resolve(done_env, value);
        }
      });
  if (!queued) {
    if (finally) finally();
    deferred->Reject(env, ToError(env, Status::Error(Code::kClosed, "the environment is closing")));
  }
  return promise;
}

}  // namespace durlog
