#include "napi/log_reader_wrap.h"

#include <memory>
#include <optional>
#include <utility>

#include "napi/async_task.h"
#include "napi/convert.h"
#include "napi/wrapped_class.h"
#include "read/log_reader.h"

namespace durlog {
namespace {

class LogReaderWrap final : public Napi::ObjectWrap<LogReaderWrap> {
 public:
  static constexpr const char* kName = "NativeLogReader";
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, kName,
                       {InstanceMethod<&LogReaderWrap::Next>("next"),
                        InstanceMethod<&LogReaderWrap::NextCached>("nextCached"),
                        InstanceMethod<&LogReaderWrap::Poll>("poll"),
                        InstanceMethod<&LogReaderWrap::SkipDamage>("skipDamage"),
                        InstanceMethod<&LogReaderWrap::Seq>("seq"),
                        InstanceMethod<&LogReaderWrap::Close>("close")});
  }
  static Napi::Value Make(Napi::Env env, std::unique_ptr<LogReader> reader) {
    LogReaderWrap* const wrap = NewWrapped<LogReaderWrap>(env);
    if (wrap == nullptr) return Napi::Value();
    wrap->reader_ = std::move(reader);
    return wrap->Value();
  }

  explicit LogReaderWrap(const Napi::CallbackInfo& info) : Napi::ObjectWrap<LogReaderWrap>(info) {}

 private:
  // The references that a read in flight needs: the reader outlives a close(), and the buffers that
  // the read fills are not collected.
  struct Read {
    std::shared_ptr<LogReader> reader;
    Napi::ObjectReference buffer;
    Napi::ObjectReference entries;
    ReadBatch batch;
  };

  bool Ready(Napi::Env env) {
    if (reader_ && !busy_) return true;
    Throw(env, reader_ ? Status::Error(Code::kInvalidArgument, "the reader is already reading")
                       : Status::Error(Code::kClosed, "the reader is closed"));
    return false;
  }

  Napi::Value Next(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!Ready(env)) return Napi::Value();
    const auto buffer = info[0].As<Napi::Uint8Array>();
    const auto entries = info[1].As<Napi::Uint32Array>();
    const double limit = info[2].As<Napi::Number>().DoubleValue();
    auto read = std::make_shared<Read>();
    read->reader = reader_;
    read->buffer = Napi::Persistent(buffer.As<Napi::Object>());
    read->entries = Napi::Persistent(entries.As<Napi::Object>());
    uint8_t* const bytes = Napi::Uint8Array(buffer).Data();
    auto* const slots = reinterpret_cast<ReadEntry*>(Napi::Uint32Array(entries).Data());
    const size_t capacity = buffer.ByteLength();
    const size_t max_entries = entries.ByteLength() / sizeof(ReadEntry);
    const uint64_t end = limit < 0 ? LogReader::kNoLimit : static_cast<uint64_t>(limit);
    busy_ = true;
    Ref();
    return RunAsync(
        env,
        [read, bytes, slots, capacity, max_entries, end]() -> Status {
          DURLOG_ASSIGN_OR_RETURN(read->batch,
                                  read->reader->Next(bytes, capacity, slots, max_entries, end));
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
    const std::optional<ReadBatch> batch = reader_->NextCached(
        buffer.Data(), buffer.ByteLength(), reinterpret_cast<ReadEntry*>(entries.Data()),
        entries.ByteLength() / sizeof(ReadEntry), static_cast<uint64_t>(limit));
    return batch ? FromBatch(env, *batch) : env.Undefined();
  }

  static Napi::Value FromBatch(Napi::Env env, const ReadBatch& batch) {
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
    const Result<bool> more = reader_->Poll();
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
        [reader = reader_, found]() -> Status {
          DURLOG_ASSIGN_OR_RETURN(*found, reader->SkipDamage());
          return Status::Ok();
        },
        [found](Napi::Env done_env) -> Napi::Value {
          return *found ? FromSeq(done_env, **found) : Napi::Number::New(done_env, -1);
        },
        [this] { Done(); });
  }

  Napi::Value Seq(const Napi::CallbackInfo& info) {
    return reader_ ? FromSeq(info.Env(), reader_->seq()) : Napi::Number::New(info.Env(), -1);
  }

  void Close(const Napi::CallbackInfo&) { reader_.reset(); }

  std::shared_ptr<LogReader> reader_;
  bool busy_ = false;
};

}  // namespace

Napi::Value OpenLogReader(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  const double from = info[1].As<Napi::Number>().DoubleValue();
  const auto opened = std::make_shared<std::unique_ptr<LogReader>>();
  const uint64_t from_seq = from < 0 ? 0 : static_cast<uint64_t>(from);
  return RunAsync(
      info.Env(),
      [path, from_seq, opened]() -> Status {
        DURLOG_ASSIGN_OR_RETURN(*opened, LogReader::Open(DefaultFileSystem(), path, from_seq));
        return Status::Ok();
      },
      [opened](Napi::Env env) { return LogReaderWrap::Make(env, std::move(*opened)); });
}

}  // namespace durlog
