// Blocking work behind a promise.
#ifndef DURLOG_NAPI_ASYNC_TASK_H_
#define DURLOG_NAPI_ASYNC_TASK_H_

#include <napi.h>

#include <functional>

#include "base/status.h"

namespace durlog {

// Runs `work` on a libuv worker; then, on the environment's thread, resolves with `settle`'s value
// or rejects with work's error. `settle` is not called after an error, nor once the environment is
// being torn down. `finally` comes before either. All are destroyed on the environment's thread.
// An Error that `settle` returns rejects.
Napi::Value RunAsync(Napi::Env env, std::function<Status()> work,
                     std::function<Napi::Value(Napi::Env)> settle,
                     std::function<void()> finally = nullptr);

// Runs `work` on a libuv worker and then `done` on the environment's thread, also where the work
// was cancelled. False where the environment takes no more work.
bool QueueWork(napi_env env, std::function<void()> work, std::function<void(napi_env)> done);

}  // namespace durlog

#endif  // DURLOG_NAPI_ASYNC_TASK_H_
