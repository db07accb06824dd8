// The line at the beginning of a lock file that names the process of its owner. It is used only in
// messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace durlog {

// A process, and the PID namespace in which its id is valid: see FileSystem::PidNamespace().
struct OwnerProcess {
  int64_t id = 0;  // 0: not known
  uint32_t name_space = 0;

  // 0 if a process in the namespace `here` would find another process, or none, under the id.
  int64_t IdIn(uint32_t here) const { return name_space == here ? id : 0; }
};

// All lines have one length, so that a new line covers the old one. With a truncation in between, a
// reader could find no line.
inline constexpr size_t kOwnerLineBytes = 21;

// With id 0, the line names no owner.
std::string OwnerLine(const OwnerProcess& owner);
// `bytes` are the first ones of the file, at most kOwnerLineBytes. The id is 0 if they name no
// process.
OwnerProcess OwnerInLine(const char* bytes, size_t count);

}  // namespace durlog
