#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "napi/async_task.h"
#include "napi/convert.h"
#include "napi/stream_folders.h"
#include "streams/stream_file_reader.h"

namespace durlog {
namespace {

struct ReadJob {
  std::shared_ptr<StreamFolders> folders;
  StreamFile file;
  RecordForm form = RecordForm::kBody;
  uint64_t from = 0;
  uint64_t to = 0;
  uint8_t* into = nullptr;
  size_t room = 0;
  // Keeps the memory of `into` and of the index, and is released on the environment's thread.
  Napi::Reference<Napi::Array> memory;
};

Napi::Value FromChunk(Napi::Env env, const StreamChunk& chunk) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("next", FromSeq(env, chunk.next));
  object.Set("size", FromSeq(env, chunk.size));
  object.Set("timeMs", FromSeq(env, chunk.time_ms));
  object.Set("needed", FromSeq(env, chunk.needed));
  object.Set("problem", Napi::String::New(env, chunk.problem));
  if (!chunk.entries.empty()) {
    const Napi::Uint8Array entries = Napi::Uint8Array::New(env, chunk.entries.size());
    // Only in a worker that is being terminated.
    if (entries.IsEmpty()) return Napi::Value();
    std::copy(chunk.entries.begin(), chunk.entries.end(), Napi::Uint8Array(entries).Data());
    object.Set("entries", entries);
  }
  return object;
}

}  // namespace

Napi::Value ReadStreamFile(const Napi::CallbackInfo& info, std::shared_ptr<StreamFolders> folders,
                           RecordForm form) {
  const Napi::Env env = info.Env();
  const auto job = std::make_shared<ReadJob>();
  job->folders = std::move(folders);
  job->form = form;
  StreamFile& file = job->file;
  file.name = info[0].As<Napi::String>();
  file.encoding = static_cast<StreamEncoding>(info[1].As<Napi::Number>().Uint32Value());
  const Napi::Object disk = info[2].As<Napi::Object>();
  file.first = ToWhole(disk.Get("first"));
  file.next = ToWhole(disk.Get("next"));
  file.bytes = ToWhole(disk.Get("bytes"));
  file.crc = disk.Get("crc").As<Napi::Number>().Uint32Value();
  Napi::Uint8Array index = disk.Get("index").As<Napi::Uint8Array>();
  file.index = Bytes{index.Data(), index.ByteLength()};
  job->from = ToWhole(info[3]);
  job->to = ToWhole(info[4]);
  Napi::Uint8Array into = info[5].As<Napi::Uint8Array>();
  job->into = into.Data();
  job->room = into.ByteLength();
  const std::optional<StreamChunk> cached =
      ReadCached(*job->folders->records, *job->folders->index, file, form, job->from, job->to,
                 job->into, job->room);
  if (cached) return FromChunk(env, *cached);
  const Napi::Array memory = Napi::Array::New(env);
  memory.Set(uint32_t{0}, index);
  memory.Set(uint32_t{1}, into);
  job->memory = Napi::Persistent(memory);
  return RunFor(
      env,
      [job] {
        StreamFileReader reader(*job->folders->records, *job->folders->index, job->file, job->form,
                                job->into, job->room);
        return reader.Read(job->from, job->to);
      },
      FromChunk, [job] { job->memory.Reset(); });
}

}  // namespace durlog
