#include <cstring>
#include <vector>

#include "napi/convert.h"
#include "record/record_format.h"

namespace durlog {
namespace {

constexpr char kNotAPayload[] =
    "a record must be a Uint8Array or a string; open the log with encoding: 'json' to store values";
constexpr char kLoneSurrogate[] =
    "a record's text has half of a surrogate pair, which UTF-8 cannot express: cut text between "
    "characters, or repair it with toWellFormed()";
constexpr size_t kMaxUtf8BytesOfUnit = 3;
// If a string may need more bytes than this, its size is computed before memory is allocated.
constexpr size_t kMaxUnmeasuredBytes = 64 << 10;

bool NoMemory(napi_env env) {
  Throw(env, Status::Error(Code::kOutOfMemory, "no memory to copy the record's text"));
  return false;
}

bool IsSurrogate(char16_t unit) { return unit >= 0xD800 && unit < 0xE000; }
bool IsHighSurrogate(char16_t unit) { return unit >= 0xD800 && unit < 0xDC00; }

bool HasLoneSurrogate(const std::vector<char16_t>& units) {
  for (size_t i = 0; i < units.size(); ++i) {
    if (!IsSurrogate(units[i])) continue;
    const bool is_pair = IsHighSurrogate(units[i]) && i + 1 < units.size() &&
                         IsSurrogate(units[i + 1]) && !IsHighSurrogate(units[i + 1]);
    if (!is_pair) return true;
    ++i;
  }
  return false;
}

// The engine stores U+FFFD for half of a surrogate pair.
bool HasReplacement(Bytes text) {
  constexpr uint8_t kReplacement[] = {0xEF, 0xBF, 0xBD};
  const uint8_t* const end = text.data + text.size;
  for (const uint8_t* at = text.data;
       (at = static_cast<const uint8_t*>(
            std::memchr(at, kReplacement[0], static_cast<size_t>(end - at)))) != nullptr;
       ++at) {
    if (end - at >= 3 && std::memcmp(at, kReplacement, 3) == 0) return true;
  }
  return false;
}

// Stores the string in UTF-8, with a terminating zero: its length must be below `room`. False with
// a pending error if UTF-8 cannot express it.
bool CopyString(napi_env env, napi_value value, uint8_t* to, size_t room, Bytes* text) {
  *text = Bytes{to, 0};
  napi_get_value_string_utf8(env, value, reinterpret_cast<char*>(to), room, &text->size);
  if (!HasReplacement(*text)) return true;
  std::vector<char16_t> units(room);
  size_t count = 0;
  napi_get_value_string_utf16(env, value, units.data(), units.size(), &count);
  units.resize(count);
  return !HasLoneSurrogate(units) || Refuse(env, kLoneSurrogate);
}

}  // namespace

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

bool ToPayload(napi_env env, napi_value value, size_t max_bytes, AlignedBuffer* scratch,
               Bytes* payload) {
  if (BorrowBytes(env, value, payload)) return true;
  size_t units = 0;
  if (napi_get_value_string_utf16(env, value, nullptr, 0, &units) != napi_ok) {
    return Refuse(env, kNotAPayload);
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
  return CopyString(env, value, scratch->data(), room, payload);
}

bool CollectElements(napi_env env, napi_value array, size_t max_count,
                     std::vector<napi_value>* elements) {
  uint32_t count = 0;
  if (napi_get_array_length(env, array, &count) != napi_ok) {
    return Refuse(env, "a batch is an array of records");
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
                AlignedBuffer* scratch, std::vector<PayloadParts>* payloads) {
  payloads->resize(elements.size());
  uint64_t frame_bytes = 0;
  size_t text_bytes = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    Bytes& payload = (*payloads)[i].rest;
    if (!BorrowBytes(env, elements[i], &payload)) {
      if (napi_get_value_string_utf8(env, elements[i], nullptr, 0, &payload.size) != napi_ok) {
        return Refuse(env, kNotAPayload);
      }
      text_bytes += payload.size;
    }
    frame_bytes += FrameBytes(payload.size);
  }
  if (text_bytes == 0 || frame_bytes > max_frame_bytes) return true;
  if (!scratch->Reserve(text_bytes + 1, 0)) return NoMemory(env);
  uint8_t* next = scratch->data();
  for (size_t i = 0; i < elements.size(); ++i) {
    Bytes& payload = (*payloads)[i].rest;
    if (payload.size == 0 || payload.data != nullptr) continue;
    // The next string overwrites the terminating zero.
    if (!CopyString(env, elements[i], next, payload.size + 1, &payload)) return false;
    next += payload.size;
  }
  return true;
}

}  // namespace durlog
