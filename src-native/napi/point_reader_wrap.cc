#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "napi/async_task.h"
#include "napi/convert.h"
#include "napi/exports.h"
#include "napi/wrapped_class.h"
#include "read/point_reader.h"

namespace durlog {
namespace {

// The object that src/native/reading.ts declares. Empty in a worker that is being terminated.
Napi::Value FromRecord(Napi::Env env, uint64_t seq, const PointRecord& record) {
  const Bytes payload = record.payload();
  napi_value number = nullptr;
  napi_value data = nullptr;
  napi_value timestamp = nullptr;
  napi_value object = nullptr;
  if (napi_create_int64(env, static_cast<int64_t>(seq), &number) != napi_ok ||
      napi_create_buffer_copy(env, payload.size, payload.data, nullptr, &data) != napi_ok ||
      napi_create_int64(env, static_cast<int64_t>(record.timestamp_ms), &timestamp) != napi_ok ||
      napi_create_object(env, &object) != napi_ok ||
      napi_set_named_property(env, object, "seq", number) != napi_ok ||
      napi_set_named_property(env, object, "data", data) != napi_ok ||
      napi_set_named_property(env, object, "timestamp", timestamp) != napi_ok) {
    return Napi::Value();
  }
  return Napi::Value(env, object);
}

// A running read owns a share of the reader, so that it may end after the object is collected.
class PointReaderWrap final : public Wrapped<PointReaderWrap, std::shared_ptr<PointReader>> {
 public:
  static constexpr const char* kName = "NativePointReader";
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, kName,
                       {InstanceMethod<&PointReaderWrap::Get>("get"),
                        InstanceMethod<&PointReaderWrap::GetSync>("getSync"),
                        InstanceMethod<&PointReaderWrap::GetCached>("getCached"),
                        InstanceMethod<&PointReaderWrap::SeqAt>("seqAt"),
                        InstanceMethod<&PointReaderWrap::Forget>("forget")});
  }
  using Wrapped::Wrapped;

 private:
  static uint64_t LimitOf(const Napi::CallbackInfo& info) {
    const int64_t limit = info[1].As<Napi::Number>().Int64Value();
    return limit < 0 ? PointReader::kNoLimit : static_cast<uint64_t>(limit);
  }

  Napi::Value Get(const Napi::CallbackInfo& info) {
    const uint64_t seq = ToWhole(info[0]);
    const uint64_t limit = LimitOf(info);
    const uint64_t acknowledged_end = ToWhole(info[2]);
    return RunFor(
        info.Env(),
        [reader = held_, seq, limit, acknowledged_end] {
          return reader->Get(seq, limit, acknowledged_end);
        },
        [seq](Napi::Env env, const PointRecord& record) { return FromRecord(env, seq, record); });
  }

  Napi::Value GetSync(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    const uint64_t seq = ToWhole(info[0]);
    const Result<PointRecord> record = held_->Get(seq, LimitOf(info), ToWhole(info[2]));
    return record.ok() ? FromRecord(env, seq, *record) : Throw(env, record.status());
  }

  Napi::Value GetCached(const Napi::CallbackInfo& info) {
    const uint64_t seq = ToWhole(info[0]);
    const std::optional<PointRecord> record = held_->GetCached(seq, ToWhole(info[1]));
    return record ? FromRecord(info.Env(), seq, *record) : info.Env().Undefined();
  }

  Napi::Value SeqAt(const Napi::CallbackInfo& info) {
    const uint64_t time_ms = ToWhole(info[0]);
    const uint64_t first = ToWhole(info[1]);
    const uint64_t end = ToWhole(info[2]);
    return RunFor(
        info.Env(),
        [reader = held_, time_ms, first, end] { return reader->SeqAt(time_ms, first, end); },
        [](Napi::Env env, uint64_t seq) { return FromSeq(env, seq); });
  }

  // Closes on a worker, because the last close of a removed file frees its blocks.
  Napi::Value Forget(const Napi::CallbackInfo& info) {
    return RunAsync(
        info.Env(),
        [reader = held_] {
          reader->Forget();
          return Status::Ok();
        },
        [](Napi::Env env) { return env.Undefined(); });
  }
};

}  // namespace

Napi::Value MakePointReader(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  const bool own = info[1].As<Napi::Boolean>();
  return PointReaderWrap::Make(
      info.Env(),
      std::make_shared<PointReader>(DefaultFileSystem(), path,
                                    own ? PointReader::Writer::kOwn : PointReader::Writer::kForeign,
                                    ToUuid(info[2])));
}

}  // namespace durlog
