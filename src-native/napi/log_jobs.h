// The methods of the log's object that wait for a job and answer with a promise.
#ifndef DURLOG_NAPI_LOG_JOBS_H_
#define DURLOG_NAPI_LOG_JOBS_H_

#include <node_api.h>

namespace durlog {

// Of a log opened alone.
napi_value TrimBefore(napi_env env, napi_callback_info info);
napi_value PlanRetention(napi_env env, napi_callback_info info);
napi_value TruncateAfter(napi_env env, napi_callback_info info);
napi_value Rotate(napi_env env, napi_callback_info info);
// Of a shared one.
napi_value TrimShared(napi_env env, napi_callback_info info);

}  // namespace durlog

#endif  // DURLOG_NAPI_LOG_JOBS_H_
