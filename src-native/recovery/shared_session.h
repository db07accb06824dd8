// The session of a log in shared mode: it begins with the recovery by its first member, and ends
// with its last member or when a writer opens the log alone. See docs/DURABILITY.md.
#pragma once

#include <cstdint>

#include "platform/file_system.h"

namespace durlog {

// Words that all members map.
inline constexpr char kSharedName[] = "shared";
// The place in that file of the session's number, in units of eight bytes. Processes can join the
// session while the number is not 0.
inline constexpr size_t kSessionWord = 6;

// The caller holds the log's lock exclusively, so no member is alive. Does nothing if the log was
// never shared, or if the session has been ended already.
Status EndSharedSession(Directory& directory);

}  // namespace durlog
