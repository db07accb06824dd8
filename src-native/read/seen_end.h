// The bytes that a reader found at the end of a log.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "record/record_format.h"

namespace durlog {

// The writer stores a frame's header before its payload is complete, so an unchanged header does
// not show whether the frame is still incomplete. While the header is unchanged, the frame is
// decoded again at increasing intervals.
class SeenEnd {
 public:
  // Keeps the bytes that were decoded, not the bytes that the file has now: a frame that has become
  // whole since must not be mistaken for the incomplete one.
  void Keep(const uint8_t header[kFrameHeaderBytes]) {
    if (Is(header)) return;
    std::memcpy(header_, header, sizeof header_);
    polls_to_decode_ = 1;
    polls_ = 0;
  }
  bool Is(const uint8_t header[kFrameHeaderBytes]) const {
    return std::memcmp(header_, header, sizeof header_) == 0;
  }
  // Whether the frame with this header, read by a poll, should be decoded.
  bool MustDecode(const uint8_t header[kFrameHeaderBytes]) {
    if (!Is(header)) return true;
    if (++polls_ < polls_to_decode_) return false;
    polls_ = 0;
    polls_to_decode_ = std::min(2 * polls_to_decode_, kMaxPollsToDecode);
    return true;
  }

 private:
  static constexpr uint32_t kMaxPollsToDecode = 8;

  uint8_t header_[kFrameHeaderBytes] = {};
  uint32_t polls_to_decode_ = 1;
  uint32_t polls_ = 0;
};

}  // namespace durlog
