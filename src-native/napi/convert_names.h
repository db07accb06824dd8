// The names that options and reports have in JavaScript.
#pragma once

#include <array>
#include <string>
#include <utility>

#include "write/options.h"

namespace durlog {

template <typename T, size_t N>
using Names = std::array<std::pair<const char*, T>, N>;

template <typename T, size_t N>
bool Lookup(const Names<T, N>& table, const std::string& name, T* value) {
  for (const auto& [key, candidate] : table) {
    if (name != key) continue;
    *value = candidate;
    return true;
  }
  return false;
}

template <typename T, size_t N>
const char* NameOf(const Names<T, N>& table, T value) {
  for (const auto& [key, candidate] : table) {
    if (candidate == value) return key;
  }
  return "unknown";
}

constexpr Names<Strategy, 4> kStrategies{{{"auto", Strategy::kAuto},
                                          {"mmap", Strategy::kMmap},
                                          {"pwrite", Strategy::kPwrite},
                                          {"direct", Strategy::kDirect}}};

constexpr Names<Preallocation, 4> kPreallocations{{{"none", Preallocation::kNone},
                                                   {"fallocate", Preallocation::kFallocate},
                                                   {"zero", Preallocation::kZero},
                                                   {"recycle", Preallocation::kRecycle}}};

}  // namespace durlog
