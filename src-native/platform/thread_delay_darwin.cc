#include "platform/thread.h"

namespace durlog {

std::optional<std::chrono::nanoseconds> ThreadDelay() { return std::nullopt; }

}  // namespace durlog
