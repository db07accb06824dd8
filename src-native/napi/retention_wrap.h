// Retention between JavaScript values and the core's.
#ifndef DURLOG_NAPI_RETENTION_WRAP_H_
#define DURLOG_NAPI_RETENTION_WRAP_H_

#include <napi.h>

#include "retention/retention_plan.h"

namespace durlog {

// Converts a `NativeRetentionPolicy`, which the caller has checked.
RetentionPolicy ToRetentionPolicy(const Napi::Object& object);
Napi::Object FromRetentionPlan(Napi::Env env, const RetentionPlan& plan);

// See `Native.planRetention` in src/native/native.ts.
Napi::Value PlanRetentionOf(const Napi::CallbackInfo& info);

}  // namespace durlog

#endif  // DURLOG_NAPI_RETENTION_WRAP_H_
