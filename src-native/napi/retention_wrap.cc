#include "napi/retention_wrap.h"

#include <memory>
#include <string>
#include <utility>

#include "cursor/trim_lock.h"
#include "napi/async_task.h"
#include "napi/convert.h"
#include "napi/exports.h"
#include "napi/wrapped_class.h"
#include "record/segment_name.h"
#include "retention/plan_folder.h"

namespace durlog {
namespace {

std::optional<uint64_t> LimitIn(const Napi::Object& object, const char* name) {
  const int64_t limit = object.Get(name).As<Napi::Number>().Int64Value();
  return limit < 0 ? std::nullopt : std::optional<uint64_t>(static_cast<uint64_t>(limit));
}

Napi::Object FromOverrun(Napi::Env env, const CursorOverrun& overrun) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("cursor", overrun.cursor);
  object.Set("lostFirst", FromSeq(env, overrun.first));
  object.Set("lostLast", FromSeq(env, overrun.last));
  return object;
}

// Empty after release(), and if the disk was too full for a lock.
class FileLockWrap final : public Wrapped<FileLockWrap, std::unique_ptr<FileLock>> {
 public:
  static constexpr const char* kName = "NativeFileLock";
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, kName, {InstanceMethod<&FileLockWrap::Release>("release")});
  }
  using Wrapped::Wrapped;

 private:
  void Release(const Napi::CallbackInfo&) { held_.reset(); }
};

Result<std::unique_ptr<FileLock>> LockTrimsIn(const std::string& path) {
  DURLOG_ASSIGN_OR_RETURN(const auto directory, DefaultFileSystem().OpenDirectory(path, false));
  return LockTrims(*directory);
}

Result<std::unique_ptr<FileLock>> LockLogIn(const std::string& path) {
  DURLOG_ASSIGN_OR_RETURN(const auto directory, DefaultFileSystem().OpenDirectory(path, false));
  DURLOG_ASSIGN_OR_RETURN(auto lock, directory->Lock(kLockName));
  // The folder may have been removed between the opening of the file and its lock.
  DURLOG_RETURN_IF_ERROR(directory->Open(kLockName, OpenMode::kRead).status());
  return lock;
}

Status CheckTrimsIn(const std::string& path) {
  DURLOG_ASSIGN_OR_RETURN(const auto directory, DefaultFileSystem().OpenDirectory(path, false));
  return CheckTrims(DefaultFileSystem(), *directory);
}

}  // namespace

RetentionPolicy ToRetentionPolicy(const Napi::Object& object) {
  RetentionPolicy policy;
  policy.max_bytes = LimitIn(object, "maxBytes");
  policy.max_age_ms = LimitIn(object, "maxAgeMs");
  policy.before = LimitIn(object, "before");
  policy.passed_before = LimitIn(object, "passedBefore");
  policy.keep_for_cursors = object.Get("keepForCursors").As<Napi::Boolean>();
  return policy;
}

Napi::Object FromRetentionPlan(Napi::Env env, const RetentionPlan& plan) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("before", FromSeq(env, plan.before));
  object.Set("seal", plan.seal);
  object.Set("over", plan.over);
  object.Set("regardless", FromSeq(env, plan.regardless));
  object.Set("overruns", FromList(env, plan.overruns, FromOverrun));
  return object;
}

Napi::Value PlanRetentionOf(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  const RetentionPolicy policy = ToRetentionPolicy(info[1].As<Napi::Object>());
  return RunFor(
      info.Env(), [path, policy] { return PlanFolder(DefaultFileSystem(), path, policy); },
      [](Napi::Env env, const FolderPlan& folder) {
        Napi::Object object = FromRetentionPlan(env, folder.plan);
        object.Set("segmentBytes", FromSeq(env, folder.segment_bytes));
        return object;
      });
}

Napi::Value LockTrimsOf(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  return RunFor(
      info.Env(), [path] { return LockTrimsIn(path); },
      [](Napi::Env env, auto& lock) { return FileLockWrap::Make(env, std::move(lock)); });
}

Napi::Value LockLogOf(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  return RunFor(
      info.Env(), [path] { return LockLogIn(path); },
      [](Napi::Env env, auto& lock) { return FileLockWrap::Make(env, std::move(lock)); });
}

Napi::Value CheckTrimsOf(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  return RunAsync(
      info.Env(), [path] { return CheckTrimsIn(path); },
      [](Napi::Env env) { return env.Undefined(); });
}

}  // namespace durlog
