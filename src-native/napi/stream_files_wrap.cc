#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "napi/async_task.h"
#include "napi/convert.h"
#include "napi/exports.h"
#include "napi/stream_folders.h"
#include "napi/wrapped_class.h"
#include "streams/store_streams.h"

namespace durlog {
namespace {

// The numbers of a stream in a job, in the order of NativeStreamJob in src/native/stream-files.ts.
constexpr size_t kStreamFields = 6;
constexpr uint32_t kLines = 1;
constexpr uint32_t kRemoves = 2;
constexpr uint32_t kHasFile = 4;
constexpr size_t kResultFields = 4;

// A NativeRecordSlab. The worker reads its memory while JavaScript may add later records.
struct RecordSlab {
  const uint8_t* bytes = nullptr;
  // Null if the positions are consecutive.
  const double* positions = nullptr;
  const uint32_t* places = nullptr;
  const double* times = nullptr;
  uint64_t first = 0;
  uint64_t count = 0;
};

struct StoreJob {
  std::shared_ptr<StreamFolders> folders;
  std::vector<RecordSlab> slabs;
  const double* positions = nullptr;
  size_t position_count = 0;
  std::vector<StreamChange> changes;
  bool sync = true;
  StepLimit steps{0};
  // Keeps the records' memory, and is released on the environment's thread.
  Napi::Reference<Napi::Array> memory;
};

size_t Whole(double value) { return static_cast<size_t>(value); }

// Collects in `memory` the references that keep the slabs' memory alive.
void ReadSlabs(const Napi::Array& slabs, const Napi::Array& memory, std::vector<RecordSlab>* to) {
  uint32_t kept = memory.Length();
  for (uint32_t i = 0; i < slabs.Length(); ++i) {
    const Napi::Object slab = slabs.Get(i).As<Napi::Object>();
    const auto bytes = slab.Get("bytes").As<Napi::Uint8Array>();
    const auto places = slab.Get("places").As<Napi::Uint32Array>();
    const auto times = slab.Get("times").As<Napi::Float64Array>();
    const double first = slab.Get("first").As<Napi::Number>();
    const double count = slab.Get("count").As<Napi::Number>();
    const Napi::Value positions = slab.Get("positions");
    const double* at =
        positions.IsUndefined() ? nullptr : positions.As<Napi::Float64Array>().Data();
    to->push_back({bytes.Data(), at, places.Data(), times.Data(), Whole(first), Whole(count)});
    memory.Set(kept++, positions);
    memory.Set(kept++, bytes);
    memory.Set(kept++, places);
    memory.Set(kept++, times);
  }
}

size_t IndexIn(const RecordSlab& slab, uint64_t position) {
  if (slab.positions == nullptr) return static_cast<size_t>(position - slab.first);
  const double* end = slab.positions + slab.count;
  return static_cast<size_t>(std::lower_bound(slab.positions, end, static_cast<double>(position)) -
                             slab.positions);
}

// Records with successive positions are usually in the same slab.
std::vector<StreamRecord> FindRecords(const StoreJob& job) {
  std::vector<StreamRecord> records(job.position_count);
  auto slab = job.slabs.begin();
  for (size_t i = 0; i < job.position_count; ++i) {
    const uint64_t position = Whole(job.positions[i]);
    if (slab->positions != nullptr || position < slab->first ||
        position - slab->first >= slab->count) {
      slab = std::upper_bound(
          job.slabs.begin(), job.slabs.end(), position,
          [](uint64_t wanted, const RecordSlab& other) { return wanted < other.first; });
      --slab;
    }
    const size_t at = IndexIn(*slab, position);
    const size_t start = slab->places[2 * at];
    records[i].data = Bytes{slab->bytes + start, slab->places[2 * at + 1] - start};
    records[i].time_ms = Whole(slab->times[at]);
    records[i].position = position;
  }
  return records;
}

void ReadChanges(const Napi::Array& names, const Napi::Float64Array& numbers,
                 const Napi::Uint8Array& indexes, std::vector<StreamChange>* changes) {
  const double* field = numbers.Data();
  const uint8_t* index = indexes.Data();
  size_t first_record = 0;
  changes->resize(numbers.ElementLength() / kStreamFields);
  uint32_t name = 0;
  for (StreamChange& change : *changes) {
    change.name = names.Get(name++).As<Napi::String>();
    const auto flags = static_cast<uint32_t>(field[0]);
    change.lines = (flags & kLines) != 0;
    change.removes = (flags & kRemoves) != 0;
    change.has_file = (flags & kHasFile) != 0;
    change.size = Whole(field[1]);
    change.crc = static_cast<uint32_t>(field[2]);
    change.index_entries = Whole(field[3]);
    change.index.assign(index, index + Whole(field[4]));
    index += Whole(field[4]);
    change.first_record = first_record;
    change.record_count = Whole(field[5]);
    first_record += change.record_count;
    field += kStreamFields;
  }
}

Napi::Value FromJob(Napi::Env env, const StoreJob& job) {
  size_t index_bytes = 0;
  for (const StreamChange& change : job.changes) index_bytes += change.index.size();
  const Napi::Float64Array numbers =
      Napi::Float64Array::New(env, job.changes.size() * kResultFields);
  const Napi::Uint8Array indexes = Napi::Uint8Array::New(env, index_bytes);
  // Only in a worker that is being terminated.
  if (numbers.IsEmpty() || indexes.IsEmpty()) return Napi::Value();
  double* field = Napi::Float64Array(numbers).Data();
  uint8_t* index = Napi::Uint8Array(indexes).Data();
  Napi::Object failures = Napi::Object::New(env);
  uint32_t at = 0;
  for (const StreamChange& change : job.changes) {
    if (!change.failure.ok()) failures.Set(at, ToError(env, change.failure));
    ++at;
    field[0] = change.stored ? 1 : 0;
    field[1] = static_cast<double>(change.size);
    field[2] = change.crc;
    field[3] = static_cast<double>(change.index.size());
    field += kResultFields;
    index = std::copy(change.index.begin(), change.index.end(), index);
  }
  Napi::Object object = Napi::Object::New(env);
  object.Set("streams", numbers);
  object.Set("indexes", indexes);
  object.Set("failures", failures);
  object.Set("steps", FromSeq(env, job.steps.taken()));
  object.Set("stopped", Napi::Boolean::New(env, job.steps.stopped()));
  return object;
}

class StreamFilesWrap final : public Wrapped<StreamFilesWrap, std::shared_ptr<StreamFolders>> {
 public:
  static constexpr const char* kName = "NativeStreamFiles";
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, kName,
                       {InstanceMethod<&StreamFilesWrap::Store>("store"),
                        InstanceMethod<&StreamFilesWrap::Read<RecordForm::kBody>>("readBody"),
                        InstanceMethod<&StreamFilesWrap::Read<RecordForm::kStored>>("readStored"),
                        InstanceMethod<&StreamFilesWrap::SyncAll>("syncAll"),
                        InstanceMethod<&StreamFilesWrap::Close>("close")});
  }
  using Wrapped::Wrapped;

 private:
  Napi::Value Store(const Napi::CallbackInfo& info) {
    if (IsClosed(info.Env())) return Napi::Value();
    const auto job = std::make_shared<StoreJob>();
    const Napi::Object given = info[0].As<Napi::Object>();
    const Napi::Array memory = Napi::Array::New(info.Env());
    const auto positions = given.Get("positions").As<Napi::Float64Array>();
    memory.Set(uint32_t{0}, positions);
    job->positions = positions.Data();
    job->position_count = positions.ElementLength();
    job->folders = held_;
    ReadSlabs(given.Get("slabs").As<Napi::Array>(), memory, &job->slabs);
    job->memory = Napi::Persistent(memory);
    ReadChanges(given.Get("names").As<Napi::Array>(), given.Get("streams").As<Napi::Float64Array>(),
                given.Get("indexes").As<Napi::Uint8Array>(), &job->changes);
    job->sync = given.Get("sync").As<Napi::Boolean>();
    const double limit = given.Get("stepLimit").As<Napi::Number>();
    job->steps = StepLimit(std::isfinite(limit) ? Whole(limit) : UINT64_MAX);
    return RunAsync(
        info.Env(),
        [job]() -> Status {
          StoreStreams(*job->folders->records, *job->folders->index, FindRecords(*job), job->sync,
                       &job->steps, &job->changes);
          return Status::Ok();
        },
        [job](Napi::Env env) { return FromJob(env, *job); }, [job] { job->memory.Reset(); });
  }

  template <RecordForm form>
  Napi::Value Read(const Napi::CallbackInfo& info) {
    if (IsClosed(info.Env())) return Napi::Value();
    return ReadStreamFile(info, held_, form);
  }

  Napi::Value SyncAll(const Napi::CallbackInfo& info) {
    if (IsClosed(info.Env())) return Napi::Value();
    return RunAsync(
        info.Env(), [folders = held_] { return folders->records->SyncFileSystem(); },
        [](Napi::Env env) { return env.Undefined(); });
  }

  Napi::Value Close(const Napi::CallbackInfo& info) {
    held_.reset();
    return info.Env().Undefined();
  }

  // An error is pending.
  bool IsClosed(napi_env env) const {
    if (held_ != nullptr) return false;
    Throw(env, Status::Error(Code::kClosed, "the folder of streams is closed"));
    return true;
  }
};

}  // namespace

Napi::Value OpenStreamFiles(const Napi::CallbackInfo& info) {
  const std::string records = info[0].As<Napi::String>();
  const std::string index = info[1].As<Napi::String>();
  return RunFor(
      info.Env(),
      [records, index]() -> Result<std::shared_ptr<StreamFolders>> {
        auto folders = std::make_shared<StreamFolders>();
        DURLOG_ASSIGN_OR_RETURN(folders->records,
                                DefaultFileSystem().OpenDirectory(records, false));
        DURLOG_ASSIGN_OR_RETURN(folders->index, DefaultFileSystem().OpenDirectory(index, false));
        return folders;
      },
      [](Napi::Env env, auto& folders) { return StreamFilesWrap::Make(env, std::move(folders)); });
}

}  // namespace durlog
