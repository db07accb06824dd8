#include "platform/posix_system.h"

#include <sys/resource.h>

#include <cctype>
#include <cstdlib>

namespace durlog {

BootId ParseBoot(const std::string& text) {
  std::string digits;
  for (const char c : text) {
    if (std::isxdigit(static_cast<unsigned char>(c)) != 0) digits.push_back(c);
  }
  BootId boot{};
  if (digits.size() != 2 * boot.size()) return boot;
  for (size_t i = 0; i < boot.size(); ++i) {
    boot[i] = static_cast<uint8_t>(std::strtoul(digits.substr(2 * i, 2).c_str(), nullptr, 16));
  }
  return boot;
}

bool PassesFileSizeLimit(uint64_t end) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
  return limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur;
}

}  // namespace durlog
