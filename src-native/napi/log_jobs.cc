#include "napi/log_jobs.h"

#include <memory>
#include <utility>

#include "log/log.h"
#include "napi/async_task.h"
#include "napi/convert.h"
#include "napi/log_call.h"
#include "napi/retention_wrap.h"
#include "shared/shared_log.h"

namespace durlog {
namespace {

// Waits on a worker for `job`, which may be null. Then, on the log's thread, the promise settles
// with the result of `finish(log)`: a seq or an error. The seq is 0 if the log has been closed
// in the meantime.
template <typename LogType, typename JobType, typename Finish>
napi_value FinishLater(const Call& call, std::shared_ptr<JobType> job, Finish finish) {
  const bool waits = job && job->waits();
  const auto work = [job = std::move(job)] {
    if (job) job->Await();
    return Status::Ok();
  };
  const auto settle = [handle = call.handle->shared_from_this(),
                       finish = std::move(finish)](Napi::Env env) -> Napi::Value {
    LogType* const log = handle->As<LogType>();
    if (log == nullptr) return FromSeq(env, 0);
    const Result<uint64_t> seq = finish(log);
    handle->StoreCounters();
    return seq.ok() ? Napi::Value(FromSeq(env, *seq)) : ToError(env, seq.status());
  };
  return RunAsync(call.env, work, settle, nullptr, waits);
}

// If the job could not begin, its error is left pending.
template <typename JobType>
bool HasBegun(const Call& call, const Result<std::shared_ptr<JobType>>& begun) {
  if (begun.ok()) return true;
  call.handle->StoreCounters();
  Throw(call.env, begun.status());
  return false;
}

}  // namespace

napi_value TrimBefore(napi_env env, napi_callback_info info) {
  const Call call(env, info, 1);
  if (call.log == nullptr) return nullptr;
  const std::shared_ptr<TrimJob> job = call.handle->As<Log>()->BeginTrim(call.SeqAt(0, 0));
  call.handle->StoreCounters();
  return FinishLater<Log>(call, job, [job](Log* log) -> Result<uint64_t> {
    if (job) {
      log->FinishTrim(*job);
      if (!job->status().ok()) return job->status();
    }
    return log->first_seq();
  });
}

napi_value TrimShared(napi_env env, napi_callback_info info) {
  const Call call(env, info, 1);
  if (call.log == nullptr) return nullptr;
  const std::shared_ptr<SharedTrimJob> job =
      call.handle->As<SharedLog>()->BeginTrim(call.SeqAt(0, 0));
  return FinishLater<SharedLog>(call, job, [job](SharedLog* log) -> Result<uint64_t> {
    DURLOG_RETURN_IF_ERROR(log->FinishTrim(*job));
    return log->Ends().first_seq;
  });
}

napi_value PlanRetention(napi_env env, napi_callback_info info) {
  const Call call(env, info, 1);
  if (call.log == nullptr) return nullptr;
  const RetentionPolicy policy = ToRetentionPolicy(Napi::Object(env, call.argv[0]));
  const std::shared_ptr<RetentionJob> job = call.handle->As<Log>()->BeginRetention(policy);
  // The log outlives its jobs: see SegmentChain::Watch().
  return RunFor(
      env,
      [job] {
        job->Await();
        return job->plan();
      },
      FromRetentionPlan);
}

napi_value TruncateAfter(napi_env env, napi_callback_info info) {
  const Call call(env, info, 1);
  if (call.log == nullptr) return nullptr;
  const uint64_t next_seq = call.SeqAt(0, -1) + 1;
  const Result<std::shared_ptr<TruncateJob>> begun =
      call.handle->As<Log>()->BeginTruncate(next_seq);
  if (!HasBegun(call, begun)) return nullptr;
  return FinishLater<Log>(call, *begun, [job = *begun](Log* log) -> Result<uint64_t> {
    DURLOG_RETURN_IF_ERROR(log->FinishTruncate(*job));
    return log->next_seq();
  });
}

napi_value Rotate(napi_env env, napi_callback_info info) {
  const Call call(env, info, 0);
  if (call.log == nullptr) return nullptr;
  const Result<std::shared_ptr<RotateJob>> begun = call.handle->As<Log>()->BeginRotate();
  if (!HasBegun(call, begun)) return nullptr;
  return FinishLater<Log>(call, *begun, [job = *begun](Log* log) -> Result<uint64_t> {
    if (job) DURLOG_RETURN_IF_ERROR(log->FinishRotate(*job));
    return log->next_seq();
  });
}

}  // namespace durlog
