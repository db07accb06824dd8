// The accesses of the members in all runs of a scenario.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace durlog::schedules {

// Objects of the file system: blocks and sizes of files, and names. Each has a number.
struct Objects {
  uint64_t first = 0;
  uint64_t count = 0;
};

// An access to an object: of a word of a map, or by a call.
enum class Touch : uint8_t { kLoad, kStore, kRead, kChange };

// A member that accesses an object in one run may do so in every run, until its work is done. A
// read of what no other member can still change gives the same result now and later, so a member
// need not be stopped before it.
class Touches {
 public:
  // Returns true if the access is the first of its kind and conflicts with one of another member:
  // runs that were made before may have omitted a turn.
  bool Note(uint64_t object, size_t member, Touch touch) {
    Members& members = members_[object];
    uint8_t& own = members[static_cast<size_t>(touch)];
    const auto bit = static_cast<uint8_t>(1u << member);
    if ((own & bit) != 0) return false;
    own = static_cast<uint8_t>(own | bit);
    const auto others = static_cast<uint8_t>(~bit);
    // Accesses to words are compared with each other word by word: see ContestedWords.
    switch (touch) {
      case Touch::kLoad: return false;
      case Touch::kStore: return (members[kReads] & others) != 0;
      case Touch::kRead: return (members[kStores] & others) != 0;
      case Touch::kChange: break;
    }
    return ((members[kLoads] | members[kStores] | members[kReads]) & others) != 0;
  }
  // The members that have made such an access in some run, by bits.
  uint8_t MembersOf(uint64_t object, Touch touch) const {
    const auto at = members_.find(object);
    return at == members_.end() ? uint8_t{0} : at->second[static_cast<size_t>(touch)];
  }

 private:
  static constexpr size_t kLoads = static_cast<size_t>(Touch::kLoad);
  static constexpr size_t kStores = static_cast<size_t>(Touch::kStore);
  static constexpr size_t kReads = static_cast<size_t>(Touch::kRead);
  using Members = std::array<uint8_t, 4>;  // by Touch

  std::unordered_map<uint64_t, Members> members_;
};

}  // namespace durlog::schedules
