#include "napi/cursor_wrap.h"

#include <memory>
#include <optional>
#include <utility>

#include "napi/async_task.h"
#include "napi/convert.h"
#include "napi/wrapped_class.h"
#include "read/cursor.h"

namespace durlog {
namespace {

class CursorWrap final : public Napi::ObjectWrap<CursorWrap> {
 public:
  static constexpr const char* kName = "NativeCursor";
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(
        env, kName,
        {InstanceMethod<&CursorWrap::Next>("next"),
         InstanceMethod<&CursorWrap::NextCached>("nextCached"),
         InstanceMethod<&CursorWrap::Poll>("poll"),
         InstanceMethod<&CursorWrap::SkipDamage>("skipDamage"),
         InstanceMethod<&CursorWrap::Seq>("seq"), InstanceMethod<&CursorWrap::Close>("close")});
  }
  static Napi::Value Make(Napi::Env env, std::unique_ptr<Cursor> cursor) {
    CursorWrap* const wrap = NewWrapped<CursorWrap>(env);
    if (wrap == nullptr) return Napi::Value();
    wrap->cursor_ = std::move(cursor);
    return wrap->Value();
  }

  explicit CursorWrap(const Napi::CallbackInfo& info) : Napi::ObjectWrap<CursorWrap>(info) {}

 private:
  // The references that a read in flight needs: the cursor outlives a close(), and the buffers that
  // the read fills are not collected.
  struct Read {
    std::shared_ptr<Cursor> cursor;
    Napi::ObjectReference buffer;
    Napi::ObjectReference entries;
    CursorBatch batch;
  };

  bool Ready(Napi::Env env) {
    if (cursor_ && !busy_) return true;
    Throw(env, cursor_ ? Status::Error(Code::kInvalidArgument, "the cursor is already reading")
                       : Status::Error(Code::kClosed, "the cursor is closed"));
    return false;
  }

  Napi::Value Next(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!Ready(env)) return Napi::Value();
    const auto buffer = info[0].As<Napi::Uint8Array>();
    const auto entries = info[1].As<Napi::Uint32Array>();
    const double limit = info[2].As<Napi::Number>().DoubleValue();
    auto read = std::make_shared<Read>();
    read->cursor = cursor_;
    read->buffer = Napi::Persistent(buffer.As<Napi::Object>());
    read->entries = Napi::Persistent(entries.As<Napi::Object>());
    uint8_t* const bytes = Napi::Uint8Array(buffer).Data();
    auto* const slots = reinterpret_cast<CursorEntry*>(Napi::Uint32Array(entries).Data());
    const size_t capacity = buffer.ByteLength();
    const size_t max_entries = entries.ByteLength() / sizeof(CursorEntry);
    const uint64_t end = limit < 0 ? Cursor::kNoLimit : static_cast<uint64_t>(limit);
    busy_ = true;
    Ref();
    return RunAsync(
        env,
        [read, bytes, slots, capacity, max_entries, end]() -> Status {
          DURLOG_ASSIGN_OR_RETURN(read->batch,
                                  read->cursor->Next(bytes, capacity, slots, max_entries, end));
          return Status::Ok();
        },
        [read](Napi::Env done_env) -> Napi::Value { return FromBatch(done_env, read->batch); },
        [this] { Done(); });
  }

  Napi::Value NextCached(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!Ready(env)) return Napi::Value();
    auto buffer = info[0].As<Napi::Uint8Array>();
    auto entries = info[1].As<Napi::Uint32Array>();
    const double limit = info[2].As<Napi::Number>().DoubleValue();
    const std::optional<CursorBatch> batch = cursor_->NextCached(
        buffer.Data(), buffer.ByteLength(), reinterpret_cast<CursorEntry*>(entries.Data()),
        entries.ByteLength() / sizeof(CursorEntry), static_cast<uint64_t>(limit));
    return batch ? FromBatch(env, *batch) : env.Undefined();
  }

  static Napi::Value FromBatch(Napi::Env env, const CursorBatch& batch) {
    Napi::Object object = Napi::Object::New(env);
    object.Set("count", FromSeq(env, batch.count));
    object.Set("firstSeq", FromSeq(env, batch.first_seq));
    object.Set("nextSeq", FromSeq(env, batch.next_seq));
    object.Set("baseTimeMs", FromSeq(env, batch.base_time_ms));
    object.Set("needBytes", FromSeq(env, batch.need_bytes));
    return object;
  }

  void Done() {
    busy_ = false;
    Unref();
  }

  Napi::Value Poll(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!Ready(env)) return Napi::Value();
    const Result<bool> more = cursor_->Poll();
    if (more.ok()) return Napi::Boolean::New(env, *more);
    Throw(env, more.status());
    return Napi::Value();
  }

  Napi::Value SkipDamage(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!Ready(env)) return Napi::Value();
    const auto found = std::make_shared<std::optional<uint64_t>>();
    busy_ = true;
    Ref();
    return RunAsync(
        env,
        [cursor = cursor_, found]() -> Status {
          DURLOG_ASSIGN_OR_RETURN(*found, cursor->SkipDamage());
          return Status::Ok();
        },
        [found](Napi::Env done_env) -> Napi::Value {
          return *found ? FromSeq(done_env, **found) : Napi::Number::New(done_env, -1);
        },
        [this] { Done(); });
  }

  Napi::Value Seq(const Napi::CallbackInfo& info) {
    return cursor_ ? FromSeq(info.Env(), cursor_->seq()) : Napi::Number::New(info.Env(), -1);
  }

  void Close(const Napi::CallbackInfo&) { cursor_.reset(); }

  std::shared_ptr<Cursor> cursor_;
  bool busy_ = false;
};

}  // namespace

Napi::Value OpenCursor(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  const double from = info[1].As<Napi::Number>().DoubleValue();
  const auto opened = std::make_shared<std::unique_ptr<Cursor>>();
  const uint64_t from_seq = from < 0 ? 0 : static_cast<uint64_t>(from);
  return RunAsync(
      info.Env(),
      [path, from_seq, opened]() -> Status {
        DURLOG_ASSIGN_OR_RETURN(*opened, Cursor::Open(DefaultFileSystem(), path, from_seq));
        return Status::Ok();
      },
      [opened](Napi::Env env) { return CursorWrap::Make(env, std::move(*opened)); });
}

}  // namespace durlog
