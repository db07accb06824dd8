#include "streams/entry_payloads.h"

#include <cstring>

namespace durlog {
namespace {

constexpr size_t kFlagsOffset = 1;
constexpr uint8_t kContinuesFlag = 2;
constexpr size_t kSeqOffset = 4;
constexpr size_t kSeqBytes = 6;
constexpr size_t kMinHeadBytes = 16;

uint64_t SeqIn(Bytes head) {
  uint64_t seq = 0;
  std::memcpy(&seq, head.data + kSeqOffset, kSeqBytes);
  return seq;
}

}  // namespace

bool EntryPayloads::Make(const EntryGroup& group) {
  const size_t values = group.place_count / 2;
  if (values == 0 || group.place_count % 2 != 0) return false;
  if (group.first.size < kMinHeadBytes || group.following.size < kMinHeadBytes) return false;
  if (group.end.size > 0 && group.end.size < kMinHeadBytes) return false;
  const uint64_t second_seq = SeqIn(group.following);
  const size_t count = values + (group.end.size > 0 ? 1 : 0);
  heads_.resize(group.first.size + (values - 1) * group.following.size + group.end.size);
  payloads_.clear();
  payloads_.reserve(count);
  uint8_t* next = heads_.data();
  for (size_t i = 0; i < count; ++i) {
    const Bytes& head = i == 0 ? group.first : i < values ? group.following : group.end;
    std::memcpy(next, head.data, head.size);
    if (i > 0 && i < values) {
      const uint64_t seq = second_seq + i - 1;
      std::memcpy(next + kSeqOffset, &seq, kSeqBytes);
    }
    if (i + 1 < count) next[kFlagsOffset] |= kContinuesFlag;
    Bytes value;
    if (i < values) {
      const uint32_t begin = group.places[2 * i];
      const uint32_t end = group.places[2 * i + 1];
      if (begin > end || end > group.values.size) return false;
      value = Bytes{group.values.data + begin, end - begin};
    }
    payloads_.emplace_back(Bytes{next, head.size}, value);
    next += head.size;
  }
  return true;
}

}  // namespace durlog
