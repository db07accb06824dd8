#include "platform/posix_cache.h"

namespace durlog {

// msync(MS_INVALIDATE) would also forget what a writer beside us has stored and not yet synced.
Status DropCacheOf(int, const std::string&) { return Status::Ok(); }

std::optional<CacheUse> TellCacheUse(int, uint64_t, uint64_t) { return std::nullopt; }

// Whether SEEK_DATA sees data that is in the cache only is not documented.
Result<uint64_t> NextDataOf(int, const std::string&, uint64_t offset) { return offset; }

// No read of macOS stops where it would have to wait.
std::optional<size_t> ReadCachedOf(int, uint64_t, void*, size_t) { return std::nullopt; }

}  // namespace durlog
