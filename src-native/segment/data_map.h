// Maps a file's ranges that hold data and its holes.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "platform/file_system.h"

namespace durlog {

// Must be made before the file is read: readahead fills the cache with the zeros of blocks that
// were never written, and the file system reports cached pages as data.
class DataMap {
 public:
  // Of [0, end).
  static Result<DataMap> Of(File& file, uint64_t end);

  // As File::NextData(), but may point to zeros within a step that holds data.
  uint64_t NextData(uint64_t offset) const;

 private:
  explicit DataMap(std::vector<uint64_t> first_data) : first_data_(std::move(first_data)) {}

  // Bounds the size of the map if a file has a hole in every other block.
  static constexpr uint64_t kStepBytes = 1u << 20;

  std::vector<uint64_t> first_data_;  // of each step that holds any; ascending
};

}  // namespace durlog
