#include "recovery/drop_cache.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/bytes.h"

namespace durlog {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kMaxStepBytes = 256u << 10;
constexpr uint64_t kStepsOfFile = 256;

// True if the page cache holds zeros for the range; if these end early, the rest must be a hole.
Result<bool> IsCachedZero(File& file, uint64_t begin, uint64_t end, AlignedBuffer* buffer) {
  const size_t length = static_cast<size_t>(end - begin);
  const std::optional<size_t> read = file.ReadCachedAt(begin, buffer->data(), length);
  if (!read || !IsAllZero(buffer->data(), *read)) return false;
  if (*read == length) return true;
  DURLOG_ASSIGN_OR_RETURN(const uint64_t data, file.NextData(begin + *read));
  return data >= end;
}

// True if the page cache holds no page of the file and the system is known to report this
// correctly. An overlay file system reports on its own cache, which is always empty, and not on the
// cache of the file below. Therefore the function also reads a page and checks that it is then
// reported.
Result<bool> IsCacheEmpty(File& file) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t file_bytes, file.Size());
  const std::optional<CacheUse> before = file.CacheUseOf(0, file_bytes);
  if (!before || before->cached_bytes > 0) return false;
  uint8_t byte = 0;
  DURLOG_ASSIGN_OR_RETURN(const size_t read, file.ReadAt(0, &byte, sizeof byte));
  const std::optional<CacheUse> after = file.CacheUseOf(0, kPageBytes);
  return read > 0 && after && after->cached_bytes > 0;
}

}  // namespace

Status DiscardDirtyZeros(File& file) {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t file_bytes, file.Size());
  const uint64_t step =
      std::clamp(AlignDown(file_bytes / kStepsOfFile, kPageBytes), kPageBytes, kMaxStepBytes);
  const auto many_dirty = [&file, step](uint64_t begin, uint64_t end) {
    const std::optional<CacheUse> use = file.CacheUseOf(begin, end - begin);
    return use && use->dirty_bytes >= step;
  };
  AlignedBuffer buffer;
  if (!many_dirty(0, file_bytes) || !buffer.Reserve(step, 0)) return Status::Ok();
  uint64_t begin = file_bytes;
  uint64_t end = begin;  // of the last step that has any block written, or to be written
  while (begin > 0) {
    const uint64_t at = begin - std::min(begin, step);
    DURLOG_ASSIGN_OR_RETURN(const uint64_t data, file.NextData(at));
    const bool hole = data >= begin;
    if (!hole) {
      DURLOG_ASSIGN_OR_RETURN(const bool zero, IsCachedZero(file, at, begin, &buffer));
      if (!zero) break;
    } else if (end == begin) {
      end = at;
    }
    begin = at;
  }
  if (begin == end || !many_dirty(begin, end)) return Status::Ok();
  static_cast<void>(file.ZeroRange(begin, end - begin));  // then they are written
  return Status::Ok();
}

Result<bool> DropCache(File& file) {
  // No acknowledgement relies on this sync, so its failure has no consequence: it may be an old
  // failure that was never reported. But the call that reports it may have skipped other pages, so
  // the file is synced a second time.
  const bool synced = file.SyncData().ok();
  if (!synced) {
    static_cast<void>(
        file.SyncData());  // data that could not be written is missing when the file is read
  }
  DURLOG_RETURN_IF_ERROR(file.DropCache());
  DURLOG_ASSIGN_OR_RETURN(const bool empty, IsCacheEmpty(file));
  return synced && empty;
}

}  // namespace durlog
