#include "base/owner_line.h"

#include <cstdlib>

namespace durlog {

std::string OwnerLine(const OwnerProcess& owner) {
  std::string line;
  if (owner.id > 0) line = std::to_string(owner.id);
  if (owner.id > 0 && owner.name_space > 0) line += ' ' + std::to_string(owner.name_space);
  line.resize(kOwnerLineBytes - 1, ' ');
  line += '\n';
  return line;
}

OwnerProcess OwnerInLine(const char* bytes, size_t count) {
  const std::string line(bytes, count);
  char* end = nullptr;
  const int64_t id = std::strtoll(line.c_str(), &end, 10);
  if (id <= 0) return {};
  return {id, static_cast<uint32_t>(std::strtoul(end, nullptr, 10))};
}

}  // namespace durlog
