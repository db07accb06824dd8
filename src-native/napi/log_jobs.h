// The methods of the log's object that wait for a job and return a promise.
#pragma once

#include <node_api.h>

namespace durlog {

// The calls of an exclusive log.
napi_value TrimBefore(napi_env env, napi_callback_info info);
napi_value PlanRetention(napi_env env, napi_callback_info info);
napi_value TruncateAfter(napi_env env, napi_callback_info info);
napi_value Rotate(napi_env env, napi_callback_info info);
// The calls of a shared log.
napi_value TrimShared(napi_env env, napi_callback_info info);

}  // namespace durlog
