// The payloads of entries that append several values to one stream, in one batch of the main log.
// See docs/FORMAT.md, "Records of the main log".
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace durlog {

// A group of entries. An entry is a head and a value. The heads say nothing of the batch yet.
struct EntryGroup {
  Bytes first;      // the head of the first entry
  Bytes following;  // the head of the second one; each later one has the next seq
  Bytes end;        // an entry without a value that ends the group; may be empty
  Bytes values;
  // For each value, the offsets in `values` at which it begins and ends.
  const uint32_t* places = nullptr;
  size_t place_count = 0;
};

class EntryPayloads {
 public:
  // False if a head is too short or a place is outside `values`. The payloads refer to the values,
  // which must stay as they are.
  bool Make(const EntryGroup& group);
  const PayloadParts* data() const { return payloads_.data(); }
  size_t size() const { return payloads_.size(); }

 private:
  std::vector<uint8_t> heads_;
  std::vector<PayloadParts> payloads_;
};

}  // namespace durlog
