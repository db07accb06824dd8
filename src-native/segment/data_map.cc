#include "segment/data_map.h"

#include <algorithm>

#include "base/bytes.h"

namespace durlog {

Result<DataMap> DataMap::Of(File& file, uint64_t end) {
  std::vector<uint64_t> first_data;
  for (uint64_t at = 0; at < end;) {
    DURLOG_ASSIGN_OR_RETURN(const uint64_t data, file.NextData(at));
    if (data >= end) break;
    first_data.push_back(data);
    at = AlignDown(data, kStepBytes) + kStepBytes;
  }
  return DataMap(std::move(first_data));
}

uint64_t DataMap::NextData(uint64_t offset) const {
  const uint64_t step = AlignDown(offset, kStepBytes);
  const auto found = std::lower_bound(first_data_.begin(), first_data_.end(), step);
  return found == first_data_.end() ? UINT64_MAX : std::max(*found, offset);
}

}  // namespace durlog
