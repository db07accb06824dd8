#include "napi/retention_wrap.h"

#include <memory>
#include <string>

#include "napi/async_task.h"
#include "napi/convert.h"
#include "retention/plan_folder.h"

namespace durlog {
namespace {

std::optional<uint64_t> LimitIn(const Napi::Object& object, const char* name) {
  const int64_t limit = object.Get(name).As<Napi::Number>().Int64Value();
  return limit < 0 ? std::nullopt : std::optional<uint64_t>(static_cast<uint64_t>(limit));
}

}  // namespace

RetentionPolicy ToRetentionPolicy(const Napi::Object& object) {
  RetentionPolicy policy;
  policy.max_bytes = LimitIn(object, "maxBytes");
  policy.max_age_ms = LimitIn(object, "maxAgeMs");
  policy.before = LimitIn(object, "before");
  policy.keep_for_cursors = object.Get("keepForCursors").As<Napi::Boolean>();
  return policy;
}

Napi::Object FromRetentionPlan(Napi::Env env, const RetentionPlan& plan) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("before", FromSeq(env, plan.before));
  object.Set("segments", FromSeq(env, plan.segments));
  object.Set("bytes", FromSeq(env, plan.bytes));
  object.Set("seal", Napi::Boolean::New(env, plan.seal));
  object.Set("over", Napi::Boolean::New(env, plan.over));
  Napi::Array overruns = Napi::Array::New(env);
  for (const CursorOverrun& overrun : plan.overruns) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("cursor", overrun.cursor);
    entry.Set("lostFirst", FromSeq(env, overrun.first));
    entry.Set("lostLast", FromSeq(env, overrun.last));
    overruns.Set(overruns.Length(), entry);
  }
  object.Set("overruns", overruns);
  return object;
}

Napi::Value PlanRetentionOf(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  const RetentionPolicy policy = ToRetentionPolicy(info[1].As<Napi::Object>());
  const auto plan = std::make_shared<FolderPlan>();
  return RunAsync(
      info.Env(),
      [path, policy, plan]() -> Status {
        DURLOG_ASSIGN_OR_RETURN(*plan, PlanFolder(DefaultFileSystem(), path, policy));
        return Status::Ok();
      },
      [plan](Napi::Env env) -> Napi::Value {
        Napi::Object object = FromRetentionPlan(env, plan->plan);
        object.Set("segmentBytes", FromSeq(env, plan->segment_bytes));
        return object;
      });
}

}  // namespace durlog
