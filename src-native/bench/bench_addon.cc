// The bench's addon. Every measurement runs on a libuv worker, so that no figure includes work of
// the event loop.
#include <napi.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/baseline.h"
#include "bench/checksum_speed.h"
#include "bench/random_write.h"
#include "bench/record_pattern.h"
#include "bench/scratch_file.h"

namespace durlog::bench {
namespace {

// Runs `work` on a worker, then `convert` here; the promise takes the outcome of either.
class Job : public Napi::AsyncWorker {
 public:
  using Work = std::function<Status()>;
  using Convert = std::function<Napi::Value(Napi::Env)>;

  static Napi::Value Start(Napi::Env env, Work work, Convert convert) {
    auto* job = new Job(env, std::move(work), std::move(convert));  // deletes itself when done
    const Napi::Promise promise = job->deferred_.Promise();
    job->Queue();
    return promise;
  }

 protected:
  void Execute() override { status_ = work_(); }

  void OnOK() override {
    const Napi::HandleScope scope(Env());
    if (status_.ok()) {
      deferred_.Resolve(convert_(Env()));
      return;
    }
    std::string text = status_.message();
    if (status_.sys_errno() != 0) {
      text = std::string(status_.operation()) + ": " + strerror(status_.sys_errno()) + ", " +
             status_.path();
    }
    Napi::Error error = Napi::Error::New(Env(), text);
    error.Set("errno", Napi::Number::New(Env(), status_.sys_errno()));
    error.Set("unsupported", Napi::Boolean::New(Env(), IsRefusal(status_)));
    deferred_.Reject(error.Value());
  }

 private:
  Job(Napi::Env env, Work work, Convert convert)
      : Napi::AsyncWorker(env),
        deferred_(env),
        work_(std::move(work)),
        convert_(std::move(convert)) {}

  // The file system or the kernel does not support the method: the table shows this, and the bench
  // does not fail.
  static bool IsRefusal(const Status& status) {
    const int error = status.sys_errno();
    return status.code() == Code::kUnsupported || error == EOPNOTSUPP || error == ENOSYS ||
           error == EINVAL || error == ENOTTY || error == EPERM;
  }

  Napi::Promise::Deferred deferred_;
  Work work_;
  Convert convert_;
  Status status_;
};

// Reading a missing field gives 0 or "".
uint64_t NumberOf(const Napi::Object& object, const char* key) {
  const Napi::Value value = object.Get(key);
  return value.IsNumber() ? static_cast<uint64_t>(value.As<Napi::Number>().Int64Value()) : 0;
}

std::string StringOf(const Napi::Object& object, const char* key) {
  const Napi::Value value = object.Get(key);
  return value.IsString() ? value.As<Napi::String>().Utf8Value() : std::string();
}

Napi::Value ToFloat64Array(Napi::Env env, const std::vector<double>& values) {
  Napi::Float64Array array = Napi::Float64Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

Spec SpecOf(const Napi::Object& object) {
  Spec spec;
  spec.path = StringOf(object, "path");
  spec.method = StringOf(object, "method");
  spec.preallocate = StringOf(object, "preallocate");
  spec.record_bytes = NumberOf(object, "recordBytes");
  spec.file_bytes = NumberOf(object, "fileBytes");
  spec.records_per_sample = NumberOf(object, "recordsPerSample");
  spec.sync_every = NumberOf(object, "syncEvery");
  spec.writer = static_cast<uint32_t>(NumberOf(object, "writer"));
  spec.shared = object.Get("shared").ToBoolean();
  return spec;
}

// run(samples) → Float64Array of us for each record; finish(). One call at a time.
class BaselineObject : public Napi::ObjectWrap<BaselineObject> {
 public:
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "Baseline",
                       {InstanceMethod<&BaselineObject::Prepare>("prepare"),
                        InstanceMethod<&BaselineObject::Run>("run"),
                        InstanceMethod<&BaselineObject::Finish>("finish")});
  }

  explicit BaselineObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<BaselineObject>(info) {
    const Spec spec = SpecOf(info[0].ToObject());
    baseline_ = MakeBaseline(spec);
    if (baseline_ == nullptr || spec.record_bytes == 0 || spec.records_per_sample == 0 ||
        spec.writer >= kMaxWriters) {
      Napi::TypeError::New(info.Env(), "not a baseline: " + spec.method)
          .ThrowAsJavaScriptException();
    }
  }

 private:
  Napi::Value Prepare(const Napi::CallbackInfo& info) {
    return Start(info.Env(), [baseline = baseline_] { return baseline->Prepare(); });
  }

  Napi::Value Run(const Napi::CallbackInfo& info) {
    const auto samples = static_cast<size_t>(info[0].ToNumber().Int64Value());
    auto latencies = std::make_shared<std::vector<double>>(samples);
    return Job::Start(
        info.Env(),
        [baseline = baseline_, latencies] {
          return baseline->Run(latencies->size(), latencies->data());
        },
        [latencies](Napi::Env env) { return ToFloat64Array(env, *latencies); });
  }

  Napi::Value Finish(const Napi::CallbackInfo& info) {
    return Start(info.Env(), [baseline = baseline_] { return baseline->Finish(); });
  }

  static Napi::Value Start(Napi::Env env, Job::Work work) {
    return Job::Start(env, std::move(work), [](Napi::Env done) { return done.Undefined(); });
  }

  std::shared_ptr<Baseline> baseline_;  // shared with the job that is using it
};

// prepareFile(path, preallocate, bytes)
Napi::Value PrepareFileCall(const Napi::CallbackInfo& info) {
  return Job::Start(
      info.Env(),
      [path = info[0].ToString().Utf8Value(), how = info[1].ToString().Utf8Value(),
       bytes = static_cast<uint64_t>(info[2].ToNumber().Int64Value())] {
        return PrepareFile(path, how, bytes);
      },
      [](Napi::Env env) { return env.Undefined(); });
}

// verify({ path, start, stride, recordBytes }) → { records, duplicates, damaged }
Napi::Value Verify(const Napi::CallbackInfo& info) {
  const Napi::Object object = info[0].ToObject();
  auto verified = std::make_shared<Verified>();
  return Job::Start(
      info.Env(),
      [verified, path = StringOf(object, "path"), start = NumberOf(object, "start"),
       stride = NumberOf(object, "stride"), bytes = NumberOf(object, "recordBytes")]() -> Status {
        DURLOG_ASSIGN_OR_RETURN(*verified, VerifyRecords(path, start, stride, bytes));
        return Status::Ok();
      },
      [verified](Napi::Env env) {
        Napi::Object result = Napi::Object::New(env);
        result.Set("records", static_cast<double>(verified->records));
        result.Set("duplicates", static_cast<double>(verified->duplicates));
        result.Set("damaged", static_cast<double>(verified->damaged));
        return result;
      });
}

RandomWriteSpec RandomWriteSpecOf(const Napi::Object& object) {
  RandomWriteSpec spec;
  spec.path = StringOf(object, "path");
  spec.preallocate = StringOf(object, "preallocate");
  spec.cluster = StringOf(object, "cluster");
  spec.engine = StringOf(object, "engine");
  spec.file_bytes = NumberOf(object, "fileBytes");
  spec.depth = static_cast<uint32_t>(NumberOf(object, "depth"));
  spec.extent_hint_bytes = static_cast<uint32_t>(NumberOf(object, "extentHintBytes"));
  spec.millis = static_cast<uint32_t>(NumberOf(object, "millis"));
  spec.interval_millis = static_cast<uint32_t>(NumberOf(object, "intervalMillis"));
  spec.seed = NumberOf(object, "seed");
  return spec;
}

// randomWrite(spec) → { writes: Float64Array for each interval, latencies: Float64Array us }
Napi::Value RandomWrite(const Napi::CallbackInfo& info) {
  auto outcome = std::make_shared<RandomWriteResult>();
  const RandomWriteSpec spec = RandomWriteSpecOf(info[0].ToObject());
  if (spec.depth == 0 || spec.interval_millis == 0 || spec.file_bytes % kClusterBytes != 0) {
    Napi::TypeError::New(info.Env(), "randomWrite: depth, interval or file size")
        .ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  return Job::Start(
      info.Env(),
      [outcome, spec]() -> Status {
        DURLOG_ASSIGN_OR_RETURN(*outcome, RunRandomWrite(spec));
        return Status::Ok();
      },
      [outcome](Napi::Env env) {
        Napi::Object result = Napi::Object::New(env);
        result.Set("writes", ToFloat64Array(env, outcome->writes));
        result.Set("latencies", ToFloat64Array(env, outcome->latency_us));
        return result;
      });
}

// checksums(blockBytes, millis) → [{ implementation, gigabytesPerSecond }]
Napi::Value Checksums(const Napi::CallbackInfo& info) {
  auto speeds = std::make_shared<std::vector<ChecksumSpeed>>();
  return Job::Start(
      info.Env(),
      [speeds, bytes = static_cast<uint64_t>(info[0].ToNumber().Int64Value()),
       millis = info[1].ToNumber().Uint32Value()] {
        *speeds = MeasureChecksums(bytes, millis);
        return Status::Ok();
      },
      [speeds](Napi::Env env) {
        Napi::Array list = Napi::Array::New(env, speeds->size());
        for (uint32_t i = 0; i < speeds->size(); ++i) {
          Napi::Object item = Napi::Object::New(env);
          item.Set("implementation", (*speeds)[i].implementation);
          item.Set("gigabytesPerSecond", (*speeds)[i].gigabytes_per_second);
          list.Set(i, item);
        }
        return list;
      });
}

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("supported", Napi::Boolean::New(env, true));
  exports.Set("Baseline", BaselineObject::Define(env));
  exports.Set("prepareFile", Napi::Function::New<PrepareFileCall>(env));
  exports.Set("verify", Napi::Function::New<Verify>(env));
  exports.Set("randomWrite", Napi::Function::New<RandomWrite>(env));
  exports.Set("checksums", Napi::Function::New<Checksums>(env));
  return exports;
}

}  // namespace
}  // namespace durlog::bench

static Napi::Object InitBench(Napi::Env env, Napi::Object exports) {
  return durlog::bench::Init(env, exports);
}

NODE_API_MODULE(durlog_bench, InitBench)
