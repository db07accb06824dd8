#include <algorithm>
#include <optional>
#include <string>

#include "napi/convert.h"
#include "napi/convert_names.h"
#include "record/record_format.h"

namespace durlog {
namespace {

// The TypeScript code checks the options and makes the errors. These checks protect the core from a
// caller that bypasses it. Each returns false with an error pending. In a worker that is being
// terminated, properties cannot be read, and a method of Napi::Value would end the process if it
// were called with the empty value.
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
  char text[40];  // longer than every valid name, including UUIDs
  size_t length = 0;
  if (napi_get_named_property(env, object, name, &property) != napi_ok ||
      napi_get_value_string_utf8(env, property, text, sizeof text, &length) != napi_ok) {
    return Refuse(env, std::string(name) + " is not a name");
  }
  value->assign(text, length);
  return true;
}

// The UUID of a restored log; '' for a new one.
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

bool ToOptions(Napi::Env env, const Napi::Object& object, LogOptions* options) {
  if (!NamedOptions(env, object, options)) return false;
  uint64_t max_record_bytes = 0;
  uint64_t max_recyclable = 0;
  uint64_t expected_level = 0;
  const bool in_range =
      NumberIn(env, object, "segmentBytes", kMinSegmentBytes, kMaxSegmentBytes,
               &options->segment_bytes) &&
      NumberIn(env, object, "firstSegmentBytes", 0, static_cast<double>(options->segment_bytes),
               &options->first_segment_bytes) &&
      NumberIn(env, object, "maxPendingBytes", 1, 1ull << 40, &options->max_pending_bytes) &&
      NumberIn(
          env, object, "maxRecordBytes", 1,
          static_cast<double>(std::min<uint64_t>(
              kMaxPayloadBytes, options->segment_bytes - kSegmentHeaderBytes - kFrameHeaderBytes)),
          &max_record_bytes) &&
      NumberIn(env, object, "maxRecyclable", 0, 2, &max_recyclable) &&
      NumberIn(env, object, "expectedLevel", 0, kLevelCount - 1, &expected_level);
  if (!in_range) return false;
  if (options->segment_bytes % 4096 != 0 || options->first_segment_bytes % kMinSegmentBytes != 0) {
    return Refuse(env, "segmentBytes is a multiple of 4096");
  }
  options->max_record_bytes = static_cast<uint32_t>(max_record_bytes);
  options->max_recyclable = static_cast<uint32_t>(max_recyclable);
  options->expected_level = static_cast<Level>(expected_level);
  return RestoredIn(env, object, &options->restored) &&
         FlagIn(env, object, "shared", &options->shared) &&
         FlagIn(env, object, "create", &options->create) &&
         FlagIn(env, object, "salvage", &options->salvage);
}

}  // namespace durlog
