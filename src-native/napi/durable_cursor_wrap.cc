#include "napi/durable_cursor_wrap.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cursor/cursors.h"
#include "cursor/durable_cursor.h"
#include "napi/async_task.h"
#include "napi/convert.h"
#include "napi/wrapped_class.h"

namespace durlog {
namespace {

// A call that is out has a share of the cursor, so that it may end after the object is collected.
class DurableCursorWrap final : public Napi::ObjectWrap<DurableCursorWrap> {
 public:
  static constexpr const char* kName = "NativeDurableCursor";
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, kName,
                       {InstanceMethod<&DurableCursorWrap::Position>("position"),
                        InstanceMethod<&DurableCursorWrap::FindCut>("findCut"),
                        InstanceMethod<&DurableCursorWrap::NewestGeneration>("newestGeneration"),
                        InstanceMethod<&DurableCursorWrap::Commit>("commit"),
                        InstanceMethod<&DurableCursorWrap::Sync>("sync"),
                        InstanceMethod<&DurableCursorWrap::Place>("place"),
                        InstanceMethod<&DurableCursorWrap::Close>("close")});
  }
  static Napi::Value Make(Napi::Env env, std::shared_ptr<DurableCursor> cursor) {
    DurableCursorWrap* const wrap = NewWrapped<DurableCursorWrap>(env);
    if (wrap == nullptr) return Napi::Value();
    wrap->cursor_ = std::move(cursor);
    return wrap->Value();
  }

  explicit DurableCursorWrap(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<DurableCursorWrap>(info) {}

 private:
  static uint64_t SeqOf(const Napi::Value& value) {
    return static_cast<uint64_t>(value.As<Napi::Number>().Int64Value());
  }
  bool IsOpen(Napi::Env env) {
    if (cursor_) return true;
    Throw(env, Status::Error(Code::kClosed, "the cursor is closed"));
    return false;
  }

  Napi::Value Position(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!IsOpen(env)) return Napi::Value();
    if (!cursor_->broken().ok()) {
      Throw(env, cursor_->broken());
      return Napi::Value();
    }
    const std::optional<uint64_t> position = cursor_->position();
    return position ? FromSeq(env, *position) : Napi::Number::New(env, -1);
  }

  Napi::Value FindCut(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!IsOpen(env)) return Napi::Value();
    const Result<std::optional<uint64_t>> cut = cursor_->FindCut(SeqOf(info[0]));
    if (!cut.ok()) {
      Throw(env, cut.status());
      return Napi::Value();
    }
    if (*cut) return FromSeq(env, **cut);
    return Napi::Number::New(env, std::numeric_limits<double>::infinity());
  }

  Napi::Value NewestGeneration(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!IsOpen(env)) return Napi::Value();
    const Result<uint64_t> generation = cursor_->NewestGeneration();
    if (generation.ok()) return FromSeq(env, *generation);
    Throw(env, generation.status());
    return Napi::Value();
  }

  void Commit(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!IsOpen(env)) return;
    const Status committed = cursor_->Commit(SeqOf(info[0]), SeqOf(info[1]));
    if (!committed.ok()) Throw(env, committed);
  }

  Napi::Value Sync(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!IsOpen(env)) return Napi::Value();
    const uint64_t synced_end = SeqOf(info[0]);
    const bool full = info[1].As<Napi::Boolean>();
    const auto durable = std::make_shared<uint64_t>(0);
    return RunAsync(
        env,
        [cursor = cursor_, durable, synced_end, full]() -> Status {
          DURLOG_ASSIGN_OR_RETURN(*durable, cursor->Sync(synced_end, full));
          return Status::Ok();
        },
        [durable](Napi::Env done_env) -> Napi::Value { return FromSeq(done_env, *durable); });
  }

  Napi::Value Place(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!IsOpen(env)) return Napi::Value();
    const uint64_t position = SeqOf(info[0]);
    const uint64_t synced_end = SeqOf(info[1]);
    const uint64_t generation = SeqOf(info[2]);
    return RunAsync(
        env,
        [cursor = cursor_, position, synced_end, generation] {
          return cursor->Place(position, synced_end, generation);
        },
        [](Napi::Env done_env) { return done_env.Undefined(); });
  }

  void Close(const Napi::CallbackInfo&) { cursor_.reset(); }

  std::shared_ptr<DurableCursor> cursor_;
};

Napi::Value FromSummaries(Napi::Env env, const std::vector<CursorSummary>& summaries) {
  Napi::Array array = Napi::Array::New(env, summaries.size());
  for (size_t i = 0; i < summaries.size(); ++i) {
    const CursorSummary& summary = summaries[i];
    Napi::Object object = Napi::Object::New(env);
    object.Set("name", summary.name);
    if (summary.position) object.Set("position", FromSeq(env, *summary.position));
    if (summary.cut) object.Set("cut", FromSeq(env, *summary.cut));
    object.Set("owned", Napi::Boolean::New(env, summary.owned));
    object.Set("ownerPid", Napi::Number::New(env, static_cast<double>(summary.owner_pid)));
    array.Set(static_cast<uint32_t>(i), object);
  }
  return array;
}

}  // namespace

Napi::Value OpenDurableCursor(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  const std::string name = info[1].As<Napi::String>();
  const auto opened = std::make_shared<std::shared_ptr<DurableCursor>>();
  return RunAsync(
      info.Env(),
      [path, name, opened]() -> Status {
        DURLOG_ASSIGN_OR_RETURN(*opened, DurableCursor::Open(DefaultFileSystem(), path, name));
        return Status::Ok();
      },
      [opened](Napi::Env env) { return DurableCursorWrap::Make(env, std::move(*opened)); });
}

Napi::Value ListCursorsOf(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  const auto listed = std::make_shared<std::vector<CursorSummary>>();
  return RunAsync(
      info.Env(),
      [path, listed]() -> Status {
        DURLOG_ASSIGN_OR_RETURN(*listed, ListCursors(DefaultFileSystem(), path));
        return Status::Ok();
      },
      [listed](Napi::Env env) { return FromSummaries(env, *listed); });
}

Napi::Value RemoveCursorOf(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  const std::string name = info[1].As<Napi::String>();
  return RunAsync(
      info.Env(), [path, name] { return RemoveCursor(DefaultFileSystem(), path, name); },
      [](Napi::Env env) { return env.Undefined(); });
}

}  // namespace durlog
