#include "napi/async_task.h"

#include <memory>
#include <utility>

#include "napi/convert.h"

namespace durlog {
namespace {

struct Task {
  std::function<void()> work;
  std::function<void(napi_env)> done;
  napi_async_work handle = nullptr;
};

void Execute(napi_env, void* data) { static_cast<Task*>(data)->work(); }

void Complete(napi_env env, napi_status, void* data) {
  const std::unique_ptr<Task> task(static_cast<Task*>(data));
  napi_delete_async_work(env, task->handle);
  task->done(env);
}

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

bool QueueWork(napi_env env, std::function<void()> work, std::function<void(napi_env)> done) {
  auto task = std::make_unique<Task>();
  task->work = std::move(work);
  task->done = std::move(done);
  napi_value name;
  if (napi_create_string_latin1(env, "durlog", NAPI_AUTO_LENGTH, &name) != napi_ok) return false;
  if (napi_create_async_work(env, nullptr, name, Execute, Complete, task.get(), &task->handle) !=
      napi_ok) {
    return false;
  }
  if (napi_queue_async_work(env, task->handle) != napi_ok) {
    napi_delete_async_work(env, task->handle);
    return false;
  }
  static_cast<void>(task.release());  // Complete() owns it now
  return true;
}

Napi::Value RunAsync(Napi::Env env, std::function<Status()> work,
                     std::function<Napi::Value(Napi::Env)> settle, std::function<void()> finally) {
  const auto deferred = std::make_shared<Deferred>();
  const Napi::Value promise(env, deferred->MakePromise(env));
  if (promise.IsEmpty()) {
    if (finally) finally();
    return promise;
  }
  const auto status = std::make_shared<Status>();
  const bool queued = QueueWork(
      env, [work = std::move(work), status] { *status = work(); },
      [deferred, status, settle = std::move(settle), finally = std::move(finally)](napi_env raw) {
        const Napi::Env done_env(raw);
        const Napi::HandleScope scope(done_env);
        if (finally) finally();
        if (!status->ok()) {
          const Napi::Value error = ToError(done_env, *status);
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
    deferred->Reject(env, ToError(env, Status::Error(Code::kClosed, "the environment is closing")));
  }
  return promise;
}

}  // namespace durlog
