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

// At most `max` frames of one segment from `offset` on (0: from the first). Damage is one entry
// that reaches to the next whole frame. The list ends with the free space, if there is any.
Result<std::vector<FrameReport>> ListFrames(FileSystem& file_system, const std::string& path,
                                            const std::string& segment, uint64_t offset,
                                            size_t max);

}  // namespace durlog
