#include "record/segment_name.h"

#include <cstdio>

namespace durlog {
namespace {

constexpr size_t kSeqDigits = 20;
constexpr char kSegmentSuffix[] = ".seg";
constexpr char kSparePrefix[] = "spare-";
constexpr size_t kSpareDigits = 16;

}  // namespace

std::string SegmentName(uint64_t first_seq) {
  char digits[kSeqDigits + 1];
  std::snprintf(digits, sizeof digits, "%020llu", static_cast<unsigned long long>(first_seq));
  return std::string(digits) + kSegmentSuffix;
}

std::optional<uint64_t> ParseSegmentName(const std::string& name) {
  if (name.size() != kSeqDigits + sizeof kSegmentSuffix - 1) return std::nullopt;
  if (name.compare(kSeqDigits, std::string::npos, kSegmentSuffix) != 0) return std::nullopt;
  uint64_t seq = 0;
  for (size_t i = 0; i < kSeqDigits; ++i) {
    const char c = name[i];
    if (c < '0' || c > '9') return std::nullopt;
    const uint64_t digit = static_cast<uint64_t>(c - '0');
    if (seq > (UINT64_MAX - digit) / 10) return std::nullopt;
    seq = seq * 10 + digit;
  }
  return seq;
}

std::string SpareName(uint64_t nonce) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(nonce));
  return std::string(kSparePrefix) + digits;
}

// Accepts exactly the names that SpareName() returns: an open removes spares, and must not remove
// other files.
bool IsSpareName(const std::string& name) {
  constexpr size_t kPrefixChars = sizeof kSparePrefix - 1;
  if (name.size() != kPrefixChars + kSpareDigits) return false;
  if (name.compare(0, kPrefixChars, kSparePrefix) != 0) return false;
  return name.find_first_not_of("0123456789abcdef", kPrefixChars) == std::string::npos;
}

}  // namespace durlog
