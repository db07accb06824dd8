// The names of a log's files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace durlog {

inline constexpr char kLockName[] = "lock";

// The first seq in 20 digits, so that names sort as the log does: 00000000000000001000.seg
std::string SegmentName(uint64_t first_seq);
// nullopt unless `name` has exactly the form that SegmentName() returns.
std::optional<uint64_t> ParseSegmentName(const std::string& name);

// A prepared file that holds no record yet: spare-0123456789abcdef
std::string SpareName(uint64_t nonce);
bool IsSpareName(const std::string& name);

}  // namespace durlog
