// RLIMIT_FSIZE: a write beyond it must return an error, not end the process.
#pragma once

#include <cstdint>

namespace durlog {

// After this, a write, truncation or allocation by the calling thread that passes the limit fails
// with EFBIG instead of raising SIGXFSZ. Cheap enough to call before each of them.
void ExpectFileSizeLimit();

// Whether the limit lies below `end`, the first byte after a write.
bool PassesFileSizeLimit(uint64_t end);

}  // namespace durlog
