// A segment that is opened by the name of its file, to read its frames.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "platform/file_system.h"
#include "segment/open_segment.h"
#include "segment/scanner.h"

namespace durlog {

struct NamedSegment {
  uint64_t first_seq = 0;
  OpenedSegment opened;
  uint64_t file_bytes = 0;

  // Starts at the first frame. The segment must outlive the scanner.
  FrameScanner Scan(ReadHeld read_held = nullptr) const {
    return FrameScanner(*opened.file, ContextOf(opened.header, first_seq), file_bytes, 1,
                        std::move(read_held));
  }
};

// kInvalidArgument if `name` is not a segment's name, kNotFound if there is no such segment.
Result<NamedSegment> OpenNamedSegment(FileSystem& file_system, const std::string& path,
                                      const std::string& name);

}  // namespace durlog
