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
#include "napi/exports.h"
#include "napi/wrapped_class.h"

namespace durlog {
namespace {

Napi::Value FromProof(Napi::Env env, const CursorProof& proof) {
  if (proof.position == 0) return env.Undefined();
  Napi::Object object = Napi::Object::New(env);
  object.Set("position", FromSeq(env, proof.position));
  object.Set("checksum", proof.checksum);
  return object;
}

// A running call owns a share of the cursor, so that it may end after the object is collected.
class DurableCursorWrap final : public Wrapped<DurableCursorWrap, std::shared_ptr<DurableCursor>> {
 public:
  static constexpr const char* kName = "NativeDurableCursor";
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, kName,
                       {InstanceMethod<&DurableCursorWrap::Position>("position"),
                        InstanceMethod<&DurableCursorWrap::FindCut>("findCut"),
                        InstanceMethod<&DurableCursorWrap::NewestGeneration>("newestGeneration"),
                        InstanceMethod<&DurableCursorWrap::CurrentGeneration>("currentGeneration"),
                        InstanceMethod<&DurableCursorWrap::Commit>("commit"),
                        InstanceMethod<&DurableCursorWrap::Sync>("sync"),
                        InstanceMethod<&DurableCursorWrap::Place>("place"),
                        InstanceMethod<&DurableCursorWrap::Proof>("proof"),
                        InstanceMethod<&DurableCursorWrap::Prove>("prove"),
                        InstanceMethod<&DurableCursorWrap::Confirm>("confirm"),
                        InstanceMethod<&DurableCursorWrap::Discard>("discard"),
                        InstanceMethod<&DurableCursorWrap::Close>("close")});
  }
  using Wrapped::Wrapped;

 private:
  bool IsOpen(Napi::Env env) {
    if (held_) return true;
    Throw(env, Status::Error(Code::kClosed, "the cursor is closed"));
    return false;
  }

  Napi::Value Position(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!IsOpen(env)) return Napi::Value();
    if (!held_->broken().ok()) return Throw(env, held_->broken());
    return FromSeq(env, held_->position());
  }

  Napi::Value FindCut(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!IsOpen(env)) return Napi::Value();
    const Result<std::optional<uint64_t>> cut = held_->FindCut(ToWhole(info[0]));
    if (!cut.ok()) return Throw(env, cut.status());
    return FromSeq(env, *cut, std::numeric_limits<double>::infinity());
  }

  Napi::Value NewestGeneration(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!IsOpen(env)) return Napi::Value();
    return FromGeneration(env, held_->NewestGeneration());
  }

  Napi::Value CurrentGeneration(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!IsOpen(env)) return Napi::Value();
    return FromGeneration(env, held_->CurrentGeneration());
  }

  static Napi::Value FromGeneration(Napi::Env env, const Result<uint64_t>& generation) {
    return generation.ok() ? FromSeq(env, *generation) : Throw(env, generation.status());
  }

  void Commit(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!IsOpen(env)) return;
    const Status committed = held_->Commit(ToWhole(info[0]), ToWhole(info[1]));
    if (!committed.ok()) Throw(env, committed);
  }

  Napi::Value Sync(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!IsOpen(env)) return Napi::Value();
    const uint64_t synced_end = ToWhole(info[0]);
    const bool full = info[1].As<Napi::Boolean>();
    return RunFor(
        env, [cursor = held_, synced_end, full] { return cursor->Sync(synced_end, full); },
        [](Napi::Env done_env, uint64_t durable) { return FromSeq(done_env, durable); });
  }

  Napi::Value Place(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!IsOpen(env)) return Napi::Value();
    const uint64_t position = ToWhole(info[0]);
    const uint64_t synced_end = ToWhole(info[1]);
    const uint64_t generation = ToWhole(info[2]);
    std::optional<uint32_t> checksum;
    if (info[3].IsNumber()) checksum = info[3].As<Napi::Number>();
    return RunAsync(
        env,
        [cursor = held_, position, synced_end, generation, checksum] {
          return cursor->Place(position, synced_end, generation, checksum);
        },
        [](Napi::Env done_env) { return done_env.Undefined(); });
  }

  Napi::Value Proof(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!IsOpen(env)) return Napi::Value();
    return FromProof(env, held_->proof());
  }

  void Prove(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!IsOpen(env)) return;
    const Status proved = held_->Prove({ToWhole(info[0]), info[1].As<Napi::Number>()});
    if (!proved.ok()) Throw(env, proved);
  }

  void Confirm(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!IsOpen(env)) return;
    const Status confirmed = held_->Confirm();
    if (!confirmed.ok()) Throw(env, confirmed);
  }

  void Discard(const Napi::CallbackInfo&) {
    if (held_) held_->Discard();
  }

  void Close(const Napi::CallbackInfo&) { held_.reset(); }
};

Napi::Object FromSummary(Napi::Env env, const CursorSummary& summary) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("name", summary.name);
  if (summary.position) object.Set("position", FromSeq(env, *summary.position));
  if (summary.cut) object.Set("cut", FromSeq(env, *summary.cut));
  object.Set("proof", FromProof(env, summary.proof));
  object.Set("confirmed", summary.confirmed);
  object.Set("owned", summary.owned);
  object.Set("ownerPid", static_cast<double>(summary.owner_pid));
  return object;
}

}  // namespace

Napi::Value OpenDurableCursor(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  const std::string name = info[1].As<Napi::String>();
  const LogUuid uuid = ToUuid(info[2]);
  return RunFor(
      info.Env(),
      [path, name, uuid] { return DurableCursor::Open(DefaultFileSystem(), path, name, uuid); },
      [](Napi::Env env, auto& cursor) { return DurableCursorWrap::Make(env, std::move(cursor)); });
}

Napi::Value ListCursorsOf(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  return RunFor(
      info.Env(), [path] { return ListCursors(DefaultFileSystem(), path); },
      [](Napi::Env env, const std::vector<CursorSummary>& cursors) {
        return FromList(env, cursors, FromSummary);
      });
}

Napi::Value RemoveCursorOf(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  const std::string name = info[1].As<Napi::String>();
  return RunAsync(
      info.Env(), [path, name] { return RemoveCursor(DefaultFileSystem(), path, name); },
      [](Napi::Env env) { return env.Undefined(); });
}

}  // namespace durlog
