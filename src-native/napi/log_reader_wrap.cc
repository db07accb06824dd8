#include <memory>
#include <optional>
#include <utility>

#include "napi/async_task.h"
#include "napi/convert.h"
#include "napi/exports.h"
#include "napi/wrapped_class.h"
#include "read/log_reader.h"

namespace durlog {
namespace {

class LogReaderWrap final : public Wrapped<LogReaderWrap, std::shared_ptr<LogReader>> {
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
  using Wrapped::Wrapped;

 private:
  // The references that a running read needs: the reader outlives a close(), and the buffers that
  // the read fills are not collected.
  struct Read {
    std::shared_ptr<LogReader> reader;
    Napi::ObjectReference buffer;
    Napi::ObjectReference entries;
    Napi::ObjectReference numbers;
  };

  bool Ready(Napi::Env env) {
    if (held_ && !busy_) return true;
    Throw(env, held_ ? Status::Error(Code::kInvalidArgument, "the reader is already reading")
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
    read->reader = held_;
    read->buffer = Napi::Persistent(buffer.As<Napi::Object>());
    read->entries = Napi::Persistent(entries.As<Napi::Object>());
    read->numbers = Napi::Persistent(info[3].As<Napi::Object>());
    double* const numbers = info[3].As<Napi::Float64Array>().Data();
    uint8_t* const bytes = Napi::Uint8Array(buffer).Data();
    auto* const slots = reinterpret_cast<ReadEntry*>(Napi::Uint32Array(entries).Data());
    const size_t capacity = buffer.ByteLength();
    const size_t max_entries = entries.ByteLength() / sizeof(ReadEntry);
    const uint64_t end = limit < 0 ? LogReader::kNoLimit : static_cast<uint64_t>(limit);
    busy_ = true;
    Ref();
    return RunFor(
        env,
        [read, bytes, slots, capacity, max_entries, end] {
          return read->reader->Next(bytes, capacity, slots, max_entries, end);
        },
        [numbers](Napi::Env done_env, const ReadBatch& batch) {
          StoreNumbers(batch, numbers);
          return done_env.Undefined();
        },
        [this] { Done(); });
  }

  Napi::Value NextCached(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!Ready(env)) return Napi::Value();
    auto buffer = info[0].As<Napi::Uint8Array>();
    auto entries = info[1].As<Napi::Uint32Array>();
    const double limit = info[2].As<Napi::Number>().DoubleValue();
    const std::optional<ReadBatch> batch = held_->NextCached(
        buffer.Data(), buffer.ByteLength(), reinterpret_cast<ReadEntry*>(entries.Data()),
        entries.ByteLength() / sizeof(ReadEntry), static_cast<uint64_t>(limit));
    if (batch) StoreNumbers(*batch, info[3].As<Napi::Float64Array>().Data());
    return Napi::Boolean::New(env, batch.has_value());
  }

  // Stores the numbers that src/native/reading.ts names in BatchNumber. To make an object with five
  // members takes 20 us in a thread that has been idle.
  static void StoreNumbers(const ReadBatch& batch, double* numbers) {
    numbers[0] = static_cast<double>(batch.count);
    numbers[1] = static_cast<double>(batch.first_seq);
    numbers[2] = static_cast<double>(batch.next_seq);
    numbers[3] = static_cast<double>(batch.base_time_ms);
    numbers[4] = static_cast<double>(batch.need_bytes);
  }

  void Done() {
    busy_ = false;
    Unref();
  }

  Napi::Value Poll(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!Ready(env)) return Napi::Value();
    const Result<bool> more = held_->Poll();
    return more.ok() ? Napi::Boolean::New(env, *more) : Throw(env, more.status());
  }

  Napi::Value SkipDamage(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!Ready(env)) return Napi::Value();
    busy_ = true;
    Ref();
    return RunFor(
        env, [reader = held_] { return reader->SkipDamage(); },
        [](Napi::Env done_env, const std::optional<uint64_t>& seq) {
          return FromSeq(done_env, seq);
        },
        [this] { Done(); });
  }

  Napi::Value Seq(const Napi::CallbackInfo& info) {
    return held_ ? FromSeq(info.Env(), held_->seq()) : Napi::Number::New(info.Env(), -1);
  }

  void Close(const Napi::CallbackInfo&) { held_.reset(); }

  bool busy_ = false;
};

}  // namespace

Napi::Value OpenLogReader(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  const double from = info[1].As<Napi::Number>().DoubleValue();
  const uint64_t from_seq = from < 0 ? 0 : static_cast<uint64_t>(from);
  const LogUuid uuid = ToUuid(info[2]);
  return RunFor(
      info.Env(),
      [path, from_seq, uuid] { return LogReader::Open(DefaultFileSystem(), path, from_seq, uuid); },
      [](Napi::Env env, auto& reader) { return LogReaderWrap::Make(env, std::move(reader)); });
}

}  // namespace durlog
