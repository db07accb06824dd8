// Blocking work whose end settles a promise.
#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/job.h"
#include "base/status.h"

namespace durlog {

// Settles a promise. In a worker_thread that is being terminated, JavaScript may still make calls,
// but no promise can be created. Napi::Promise::Deferred would then return an uninitialized value.
class Deferred {
 public:
  Deferred() = default;
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;

  // Must be called only once. Null if no promise can be made.
  napi_value MakePromise(napi_env env);
  // Without a promise these do nothing.
  void Resolve(napi_env env, napi_value value);
  void Reject(napi_env env, napi_value error);

 private:
  napi_deferred deferred_ = nullptr;
};

// Runs `work` on a worker: see WorkQueue. Then, on the environment's thread, calls `finally`, and
// settles the promise: rejects it with the error of `work`, or resolves it with the value that
// `settle` returns. If that value is an Error, rejects it; if it is empty, does not settle it.
// `settle` is not called after an error. It may be called while the environment is being torn down,
// when most values cannot be made. All functions are destroyed on the environment's thread. If no
// promise can be made, `work` is not run. `waits` is true for work that waits for other processes.
Napi::Value RunAsync(Napi::Env env, std::function<Status()> work,
                     std::function<Napi::Value(Napi::Env)> settle,
                     std::function<void()> finally = nullptr, bool waits = false);

// The same for work that returns a Result: `convert` converts its value to the promise's value.
template <typename Work, typename Convert>
Napi::Value RunFor(Napi::Env env, Work work, Convert convert,
                   std::function<void()> finally = nullptr, bool waits = false) {
  const auto result = std::make_shared<std::optional<decltype(work())>>();
  return RunAsync(
      env, [result, work = std::move(work)] { return result->emplace(work()).status(); },
      [result, convert = std::move(convert)](Napi::Env done_env) -> Napi::Value {
        return convert(done_env, ***result);
      },
      std::move(finally), waits);
}

// Runs `job` on a worker, and then `done` on the environment's thread: see WorkQueue::Queue().
bool QueueJob(napi_env env, std::shared_ptr<Job> job, std::function<void(napi_env)> done);

}  // namespace durlog
