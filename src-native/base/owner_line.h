// The line at the beginning of a lock file that names the process of its owner. It is used only in
// messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace durlog {

// All lines have one length, so that a new line covers the old one. With a truncation in between, a
// reader could find no line.
inline constexpr size_t kOwnerLineBytes = 21;

// With pid 0, the line names no owner.
std::string OwnerLine(int64_t pid);
// `bytes` are the first ones of the file, at most kOwnerLineBytes. 0 if they name no process.
int64_t OwnerInLine(const char* bytes, size_t count);

}  // namespace durlog
