// Converts retention policies and results between JavaScript and the core.
#pragma once

#include <napi.h>

#include "retention/retention_plan.h"

namespace durlog {

// Converts a `NativeRetentionPolicy`, which the caller has checked.
RetentionPolicy ToRetentionPolicy(const Napi::Object& object);
Napi::Object FromRetentionPlan(Napi::Env env, const RetentionPlan& plan);

}  // namespace durlog
