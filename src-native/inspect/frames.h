// The frames of one segment, as `durlog dump` lists them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "platform/file_system.h"
#include "record/record_codec.h"

namespace durlog {

struct FrameReport {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  DecodeStatus status = DecodeStatus::kFree;
  FrameFields fields;
  uint64_t time_ms = 0;  // since the Unix epoch
};

// Lists at most `max` frames of one segment, beginning at `offset` (0: at the first frame). A
// damaged range is one entry, which ends at the next whole frame. The last entry is the free space,
// if there is any.
Result<std::vector<FrameReport>> ListFrames(FileSystem& file_system, const std::string& path,
                                            const std::string& segment, uint64_t offset,
                                            size_t max);

}  // namespace durlog
