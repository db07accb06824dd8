#include "bench/append_writers.h"
#include "bench/baseline.h"
#include "bench/handed_writer.h"
#include "bench/looped.h"
#include "bench/mapped_writer.h"
#include "bench/positioned_writers.h"

namespace durlog::bench {

namespace {

using Maker = std::unique_ptr<Baseline> (*)(const Spec&);

template <class Writer>
std::unique_ptr<Baseline> Make(const Spec& spec) {
  return std::make_unique<Looped<Writer>>(spec);
}

struct Method {
  const char* name;
  Maker make;
};

constexpr Method kMethods[] = {
    {"direct-dsync", Make<DirectWriter<true>>},
    {"direct-dsync-handed", Make<Handed<DirectWriter<true>>>},
    {"direct", Make<DirectWriter<false>>},
    {"pwrite", Make<PwriteWriter<SyncCall::kNone>>},
    {"pwrite-range", Make<PwriteWriter<SyncCall::kStart>>},
    {"pwrite-fdatasync", Make<PwriteWriter<SyncCall::kDataOnly>>},
    {"pwrite-fsync", Make<PwriteWriter<SyncCall::kAll>>},
    {"mmap", Make<MappedWriter<MapSync::kNone, false>>},
    {"mmap-populated", Make<MappedWriter<MapSync::kNone, true>>},
    {"mmap-msync", Make<MappedWriter<MapSync::kSync, false>>},
    {"mmap-msync-async", Make<MappedWriter<MapSync::kAsync, false>>},
    {"write-append", Make<WriteAppend>},
    {"writev-append", Make<WritevAppend>},
    {"stdio-flush", Make<StdioAppend<true>>},
    {"stdio", Make<StdioAppend<false>>},
    {"aio-append", Make<AioAppend>},
    {"direct-append", Make<DirectAppend>},
};

}  // namespace

std::unique_ptr<Baseline> MakeBaseline(const Spec& spec) {
  for (const Method& method : kMethods) {
    if (spec.method == method.name) return method.make(spec);
  }
  return nullptr;
}

}  // namespace durlog::bench
