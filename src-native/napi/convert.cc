#include "napi/convert.h"

#include <array>
#include <utility>

#include "record/record_format.h"

namespace durlog {
namespace {

Status WrongType(const std::string& what) { return Status::Error(Code::kInvalidArgument, what); }

template <typename T, size_t N>
bool Lookup(const std::array<std::pair<const char*, T>, N>& table, const std::string& name,
            T* value) {
  for (const auto& [key, candidate] : table) {
    if (name != key) continue;
    *value = candidate;
    return true;
  }
  return false;
}

template <typename T, size_t N>
const char* NameOf(const std::array<std::pair<const char*, T>, N>& table, T value) {
  for (const auto& [key, candidate] : table) {
    if (candidate == value) return key;
  }
  return "unknown";
}

constexpr std::array<std::pair<const char*, Strategy>, 4> kStrategies{
    {{"auto", Strategy::kAuto},
     {"mmap", Strategy::kMmap},
     {"pwrite", Strategy::kPwrite},
     {"direct", Strategy::kDirect}}};

constexpr std::array<std::pair<const char*, Preallocation>, 7> kPreallocations{
    {{"none", Preallocation::kNone},
     {"sparse", Preallocation::kSparse},
     {"fallocate", Preallocation::kFallocate},
     {"keep-size", Preallocation::kKeepSize},
     {"zero-range", Preallocation::kZeroRange},
     {"zero", Preallocation::kZero},
     {"recycle", Preallocation::kRecycle}}};

constexpr std::array<std::pair<const char*, WriteMode>, 3> kModes{
    {{"mmap", WriteMode::kMmap}, {"pwrite", WriteMode::kPwrite}, {"direct", WriteMode::kDirect}}};

constexpr std::array<std::pair<const char*, RecoveryState>, 4> kRecoveryStates{
    {{"clean", RecoveryState::kClean},
     {"torn-tail", RecoveryState::kTornTail},
     {"hole", RecoveryState::kHole},
     {"corrupt", RecoveryState::kCorrupt}}};

const char* KindOf(const FrameReport& frame) {
  if (frame.status == DecodeStatus::kFree) return "free";
  if (frame.status != DecodeStatus::kWhole) return "damaged";
  switch (frame.fields.state) {
    case FrameState::kPadding:
      return "padding";
    case FrameState::kMarker:
      return "marker";
    case FrameState::kVoid:
      return "void";
    default:
      return "record";
  }
}

constexpr char kNotAPayload[] = "a record is a string or a Uint8Array";
constexpr size_t kMaxUtf8BytesOfUnit = 3;
// A string that may take more is measured before there is room made for it.
constexpr size_t kMaxUnmeasuredBytes = 64 << 10;

bool NoMemory(napi_env env) {
  Throw(env, Status::Error(Code::kOutOfMemory, "no memory to copy the record's text"));
  return false;
}

// False, and nothing pending, for what is no Uint8Array.
bool BorrowBytes(napi_env env, napi_value value, Bytes* payload) {
  napi_typedarray_type type = napi_int8_array;
  void* data = nullptr;
  if (napi_get_typedarray_info(env, value, &type, &payload->size, &data, nullptr, nullptr) !=
          napi_ok ||
      type != napi_uint8_array) {
    *payload = Bytes{};
    return false;
  }
  payload->data = static_cast<const uint8_t*>(data);
  return true;
}

// Its length, which is below `room`: the terminating zero is written too.
size_t CopyString(napi_env env, napi_value value, uint8_t* to, size_t room) {
  size_t length = 0;
  napi_get_value_string_utf8(env, value, reinterpret_cast<char*>(to), room, &length);
  return length;
}

// The TypeScript side checks the options and words the errors; this keeps the core safe from a
// caller that went around it. Each answers false with an error pending. In a worker that is being
// terminated a property cannot be had, and Napi::Value would end the process if it were asked of
// the nothing that came instead.
bool Refuse(napi_env env, const std::string& what) {
  Throw(env, WrongType(what));
  return false;
}

bool NumberIn(napi_env env, napi_value object, const char* name, double min, double max,
              uint64_t* value) {
  napi_value property = nullptr;
  double number = -1;
  if (napi_get_named_property(env, object, name, &property) != napi_ok ||
      napi_get_value_double(env, property, &number) != napi_ok ||
      !(number >= min && number <= max)) {
    return Refuse(env, std::string(name) + " is out of range");
  }
  *value = static_cast<uint64_t>(number);
  return true;
}

bool FlagIn(napi_env env, napi_value object, const char* name, bool* value) {
  napi_value property = nullptr;
  if (napi_get_named_property(env, object, name, &property) != napi_ok ||
      napi_get_value_bool(env, property, value) != napi_ok) {
    return Refuse(env, std::string(name) + " is not a boolean");
  }
  return true;
}

bool NameIn(napi_env env, napi_value object, const char* name, std::string* value) {
  napi_value property = nullptr;
  char text[40];  // longer than every name there is, a UUID included
  size_t length = 0;
  if (napi_get_named_property(env, object, name, &property) != napi_ok ||
      napi_get_value_string_utf8(env, property, text, sizeof text, &length) != napi_ok) {
    return Refuse(env, std::string(name) + " is not a name");
  }
  value->assign(text, length);
  return true;
}

// Of a log that is restored; '' for a new one.
bool RestoredIn(napi_env env, napi_value object, RestoredIdentity* restored) {
  std::string uuid;
  if (!NameIn(env, object, "uuid", &uuid)) return false;
  if (uuid.empty()) return true;
  const std::optional<LogUuid> parsed = ParseUuid(uuid);
  if (!parsed || *parsed == LogUuid{}) return Refuse(env, "uuid: not a UUID: " + uuid);
  restored->uuid = *parsed;
  const double max_seq = static_cast<double>(kMaxSeq);
  return NumberIn(env, object, "firstSeq", 0, max_seq, &restored->first_seq) &&
         NumberIn(env, object, "generation", 0, max_seq, &restored->generation);
}

bool NamedOptions(napi_env env, napi_value object, LogOptions* options) {
  std::string strategy;
  std::string preallocate;
  if (!NameIn(env, object, "strategy", &strategy) ||
      !NameIn(env, object, "preallocate", &preallocate)) {
    return false;
  }
  if (!Lookup(kStrategies, strategy, &options->strategy)) {
    return Refuse(env, "strategy: unknown name " + strategy);
  }
  options->preallocation_auto = preallocate == "auto";
  if (!options->preallocation_auto &&
      !Lookup(kPreallocations, preallocate, &options->preallocation)) {
    return Refuse(env, "preallocate: unknown name " + preallocate);
  }
  return true;
}

}  // namespace

bool ToPayload(napi_env env, napi_value value, size_t max_bytes, AlignedBuffer* scratch,
               Bytes* payload) {
  if (BorrowBytes(env, value, payload)) return true;
  size_t units = 0;
  if (napi_get_value_string_utf16(env, value, nullptr, 0, &units) != napi_ok) {
    Throw(env, WrongType(kNotAPayload));
    return false;
  }
  // The terminating zero is written too.
  size_t room = units * kMaxUtf8BytesOfUnit + 1;
  if (room > kMaxUnmeasuredBytes) {
    size_t length = 0;
    napi_get_value_string_utf8(env, value, nullptr, 0, &length);
    *payload = Bytes{scratch->data(), length};
    if (length > max_bytes) return true;
    room = length + 1;
  }
  if (!scratch->Reserve(room, 0)) return NoMemory(env);
  *payload = Bytes{scratch->data(), CopyString(env, value, scratch->data(), room)};
  return true;
}

bool CollectElements(napi_env env, napi_value array, size_t max_count,
                     std::vector<napi_value>* elements) {
  uint32_t count = 0;
  if (napi_get_array_length(env, array, &count) != napi_ok) {
    Throw(env, WrongType("a batch is an array of records"));
    return false;
  }
  if (count > max_count) {
    Throw(env, Status::Error(Code::kBatchTooLarge,
                             "a batch of " + std::to_string(count) + " records is too large"));
    return false;
  }
  elements->resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    if (napi_get_element(env, array, i, &(*elements)[i]) != napi_ok) return false;
  }
  return true;
}

bool ToPayloads(napi_env env, const std::vector<napi_value>& elements, uint64_t max_frame_bytes,
                AlignedBuffer* scratch, std::vector<Bytes>* payloads) {
  payloads->resize(elements.size());
  uint64_t frame_bytes = 0;
  size_t text_bytes = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    Bytes& payload = (*payloads)[i];
    if (!BorrowBytes(env, elements[i], &payload)) {
      if (napi_get_value_string_utf8(env, elements[i], nullptr, 0, &payload.size) != napi_ok) {
        Throw(env, WrongType(kNotAPayload));
        return false;
      }
      text_bytes += payload.size;
    }
    frame_bytes += FrameBytes(payload.size);
  }
  if (text_bytes == 0 || frame_bytes > max_frame_bytes) return true;
  if (!scratch->Reserve(text_bytes + 1, 0)) return NoMemory(env);
  uint8_t* next = scratch->data();
  for (size_t i = 0; i < elements.size(); ++i) {
    Bytes& payload = (*payloads)[i];
    if (payload.size == 0 || payload.data != nullptr) continue;
    // The next string takes the place of the terminating zero.
    payload = Bytes{next, CopyString(env, elements[i], next, payload.size + 1)};
    next += payload.size;
  }
  return true;
}

bool ToOptions(Napi::Env env, const Napi::Object& object, LogOptions* options) {
  if (!NamedOptions(env, object, options)) return false;
  uint64_t max_record_bytes = 0;
  uint64_t extent_size_hint = 0;
  uint64_t max_recyclable = 0;
  uint64_t expected_level = 0;
  const bool in_range =
      NumberIn(env, object, "segmentBytes", kMinSegmentBytes, kMaxSegmentBytes,
               &options->segment_bytes) &&
      NumberIn(env, object, "maxPendingBytes", 1, 1ull << 40, &options->max_pending_bytes) &&
      NumberIn(
          env, object, "maxRecordBytes", 1,
          static_cast<double>(std::min<uint64_t>(
              kMaxPayloadBytes, options->segment_bytes - kSegmentHeaderBytes - kFrameHeaderBytes)),
          &max_record_bytes) &&
      NumberIn(env, object, "chunkBytes", 64 << 10, 64 << 20, &options->chunk_bytes) &&
      NumberIn(env, object, "extentSizeHint", 0, UINT32_MAX, &extent_size_hint) &&
      NumberIn(env, object, "maxRecyclable", 0, 2, &max_recyclable) &&
      NumberIn(env, object, "expectedLevel", 0, kLevelCount - 1, &expected_level);
  if (!in_range) return false;
  if (options->segment_bytes % 4096 != 0 ||
      (options->chunk_bytes & (options->chunk_bytes - 1)) != 0) {
    return Refuse(env, "segmentBytes is a multiple of 4096, chunkBytes a power of two");
  }
  options->max_record_bytes = static_cast<uint32_t>(max_record_bytes);
  options->max_recyclable = static_cast<uint32_t>(max_recyclable);
  options->extent_size_hint = static_cast<uint32_t>(extent_size_hint);
  options->expected_level = static_cast<Level>(expected_level);
  return RestoredIn(env, object, &options->restored) &&
         FlagIn(env, object, "shared", &options->shared) &&
         FlagIn(env, object, "create", &options->create) &&
         FlagIn(env, object, "salvage", &options->salvage);
}

Napi::Object FromRecovery(Napi::Env env, const RecoveryReport& report) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("state", NameOf(kRecoveryStates, report.state));
  object.Set("scannedBytes", FromSeq(env, report.scanned_bytes));
  object.Set("discardedBytes", FromSeq(env, report.discarded_bytes));
  object.Set("discardedRecords", FromSeq(env, report.discarded_records));
  object.Set("segment", report.segment);
  object.Set("offset",
             report.segment.empty() ? Napi::Number::New(env, -1) : FromSeq(env, report.offset));
  object.Set("lostFirst", FromSeq(env, report.lost_first));
  object.Set("lostLast", FromSeq(env, report.lost_last));
  return object;
}

static Napi::Object FromHistogram(Napi::Env env, const Histogram& histogram) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("count", FromSeq(env, histogram.count()));
  object.Set("p50", FromSeq(env, histogram.Percentile(500)));
  object.Set("p90", FromSeq(env, histogram.Percentile(900)));
  object.Set("p99", FromSeq(env, histogram.Percentile(990)));
  object.Set("max", FromSeq(env, histogram.max()));
  return object;
}

static Napi::Object FromDistribution(Napi::Env env, const Distribution& distribution) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("all", FromHistogram(env, distribution.all));
  object.Set("lastMinute", FromHistogram(env, distribution.last_minute));
  return object;
}

Napi::Object FromStats(Napi::Env env, const LogStats& stats) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("strategy", NameOf(kStrategies, stats.strategy));
  object.Set("mode", NameOf(kModes, stats.mode));
  object.Set("preallocate", NameOf(kPreallocations, stats.preallocated));
  object.Set("fileSystem", stats.file_system);
  object.Set("reason", stats.reason);
  object.Set("segments", FromSeq(env, stats.segments));
  object.Set("segmentBytes", FromSeq(env, stats.segment_bytes));
  object.Set("rotations", FromSeq(env, stats.rotations));
  object.Set("commits", FromSeq(env, stats.commits));
  object.Set("committedRecords", FromSeq(env, stats.committed_records));
  object.Set("committedBytes", FromSeq(env, stats.committed_bytes));
  object.Set("modeSwitches", FromSeq(env, stats.mode_switches));
  object.Set("recycled", FromSeq(env, stats.recycled));
  object.Set("appendedRecords", FromSeq(env, stats.appended_records));
  object.Set("appendedBytes", FromSeq(env, stats.appended_bytes));
  object.Set("trimmedRecords", FromSeq(env, stats.trimmed_records));
  object.Set("trimmedBytes", FromSeq(env, stats.trimmed_bytes));
  object.Set("lastCommitMs", FromSeq(env, stats.last_commit_ms));
  object.Set("commitMicros", FromDistribution(env, stats.commit_micros));
  object.Set("commitRecords", FromDistribution(env, stats.commit_records));
  return object;
}

Napi::Object FromBounds(Napi::Env env, const LogBounds& bounds) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("firstSeq", FromSeq(env, bounds.first_seq));
  object.Set("nextSeq", FromSeq(env, bounds.next_seq));
  object.Set("syncedEnd", FromSeq(env, bounds.synced_end));
  object.Set("uuid", FormatUuid(bounds.uuid));
  return object;
}

Napi::Object FromVerify(Napi::Env env, const VerifyReport& report) {
  Napi::Object object = FromBounds(env, report.bounds);
  object.Set("state", NameOf(kRecoveryStates, report.state));
  object.Set("records", FromSeq(env, report.records));
  object.Set("payloadBytes", FromSeq(env, report.payload_bytes));
  Napi::Array segments = Napi::Array::New(env);
  for (const SegmentReport& segment : report.segments) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("name", segment.name);
    entry.Set("bytes", FromSeq(env, segment.bytes));
    entry.Set("firstSeq", FromSeq(env, segment.first_seq));
    entry.Set("records", FromSeq(env, segment.records));
    entry.Set("endOffset", FromSeq(env, segment.end_offset));
    entry.Set("headerProblem", segment.header_problem);
    segments.Set(segments.Length(), entry);
  }
  object.Set("segments", segments);
  Napi::Array problems = Napi::Array::New(env);
  for (const Problem& problem : report.problems) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("segment", problem.segment);
    entry.Set("offset", FromSeq(env, problem.offset));
    entry.Set("lostFirst", FromSeq(env, problem.lost_first));
    entry.Set("lostLast", FromSeq(env, problem.lost_last));
    entry.Set("message", problem.message);
    problems.Set(problems.Length(), entry);
  }
  object.Set("problems", problems);
  return object;
}

Napi::Array FromFrames(Napi::Env env, const std::vector<FrameReport>& frames) {
  Napi::Array array = Napi::Array::New(env, frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    const FrameReport& frame = frames[i];
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("offset", FromSeq(env, frame.offset));
    entry.Set("bytes", FromSeq(env, frame.bytes));
    entry.Set("kind", KindOf(frame));
    entry.Set("seq", FromSeq(env, frame.fields.seq));
    entry.Set("length", Napi::Number::New(env, frame.fields.length));
    entry.Set("unsynced", Napi::Number::New(env, frame.fields.unsynced));
    entry.Set("timestampMs", FromSeq(env, frame.time_ms));
    entry.Set("batchContinues", Napi::Boolean::New(env, frame.fields.batch_continues));
    const bool damaged =
        frame.status != DecodeStatus::kWhole && frame.status != DecodeStatus::kFree;
    entry.Set("problem", damaged ? DescribeDecodeStatus(frame.status) : "");
    array.Set(static_cast<uint32_t>(i), entry);
  }
  return array;
}

Napi::Object FromRepair(Napi::Env env, const RepairReport& report, const std::string& backup) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("state", NameOf(kRecoveryStates, report.state));
  object.Set("applied", Napi::Boolean::New(env, report.applied));
  Napi::Array cuts = Napi::Array::New(env);
  for (const Cut& cut : report.cuts) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("segment", cut.name);
    entry.Set("offset", FromSeq(env, cut.offset));
    entry.Set("bytes", FromSeq(env, cut.bytes));
    entry.Set("removed", Napi::Boolean::New(env, cut.remove));
    cuts.Set(cuts.Length(), entry);
  }
  object.Set("cuts", cuts);
  object.Set("backup", backup);
  return object;
}

}  // namespace durlog
