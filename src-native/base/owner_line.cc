#include "base/owner_line.h"

#include <cstdlib>

namespace durlog {

std::string OwnerLine(int64_t pid) {
  std::string line = pid > 0 ? std::to_string(pid) : "";
  line.resize(kOwnerLineBytes - 1, ' ');
  line += '\n';
  return line;
}

int64_t OwnerInLine(const char* bytes, size_t count) {
  const int64_t pid = std::strtoll(std::string(bytes, count).c_str(), nullptr, 10);
  return pid > 0 ? pid : 0;
}

}  // namespace durlog
