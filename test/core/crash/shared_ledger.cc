#include "shared_ledger.h"

#include <cstring>

#include "random.h"

namespace durlog::crash {
namespace {

std::string Text(uint64_t number) { return std::to_string(number); }

}  // namespace

std::vector<uint8_t> PayloadOf(uint64_t id, uint64_t size) {
  std::vector<uint8_t> payload(static_cast<size_t>(size));
  // Some payloads are zeros after the id: recovery must not take them for free space.
  for (size_t at = 0; id % 16 != 0 && at < payload.size(); ++at) {
    payload[at] = static_cast<uint8_t>(Mix(id + at / 8) >> (at % 8 * 8));
  }
  std::memcpy(payload.data(), &id, sizeof id);
  return payload;
}

uint64_t SharedLedger::Intend(uint32_t member, const std::vector<uint64_t>& sizes) {
  const uint64_t first = next_id_;
  for (const uint64_t size : sizes) {
    records_[next_id_] = SharedRecord{member, size, first, sizes.size()};
    open_.insert(next_id_++);
  }
  under_way_[member] = sizes.size();
  return first;
}

std::string SharedLedger::Place(uint64_t first_id, uint64_t count, uint64_t seq) {
  under_way_.erase(records_[first_id].member);
  for (uint64_t i = 0; i < count; ++i) {
    const auto [at, is_new] = placed_.emplace(seq + i, first_id + i);
    if (!is_new && at->second != first_id + i) {
      return "seq " + Text(seq + i) + " is given to record " + Text(first_id + i) + ", and is of " +
             Text(at->second);
    }
    open_.erase(first_id + i);
  }
  return "";
}

void SharedLedger::Withdraw(uint64_t first_id, uint64_t count) {
  under_way_.erase(records_[first_id].member);
  for (uint64_t i = 0; i < count; ++i) open_.erase(first_id + i);
}

void SharedLedger::Bury(uint32_t member) {
  const auto found = under_way_.find(member);
  if (found == under_way_.end()) return;
  voids_allowed_ += found->second;
  under_way_.erase(found);
}

void SharedLedger::Open(const Listing& listing) {
  placed_.erase(placed_.lower_bound(listing.first), placed_.end());
  for (size_t i = 0; i < listing.ids.size(); ++i) placed_[listing.first + i] = listing.ids[i];
  open_.clear();
  under_way_.clear();
  voids_allowed_ = 0;
  created = true;
  closed_cleanly = false;
  synced = in_memory = listing.next();
  first_low = first_high = listing.first;
}

const SharedRecord* SharedLedger::Find(uint64_t id) const {
  const auto found = records_.find(id);
  return found == records_.end() ? nullptr : &found->second;
}

std::string SharedLedger::Check(const Listing& listing, uint64_t floor) const {
  if (listing.next() < floor) {
    return "acknowledged records are lost: the log ends at " + Text(listing.next()) +
           ", promised was " + Text(floor);
  }
  if (listing.first < first_low || listing.first > first_high) {
    return "the log begins at " + Text(listing.first) + ", it was trimmed to between " +
           Text(first_low) + " and " + Text(first_high);
  }
  const std::string wrong = CheckPlaces(listing);
  return wrong.empty() ? CheckOrder(listing) : wrong;
}

std::string SharedLedger::CheckPlaces(const Listing& listing) const {
  uint64_t new_voids = 0;
  for (size_t i = 0; i < listing.ids.size(); ++i) {
    const uint64_t id = listing.ids[i];
    const auto known = placed_.find(listing.first + i);
    const std::string where = "seq " + Text(listing.first + i) + " is of record " + Text(id);
    if (known != placed_.end()) {
      if (known->second != id) return where + ", and was of " + Text(known->second);
    } else if (id == kVoidSeq) {
      ++new_voids;
    } else if (open_.count(id) == 0) {
      return where + ", which was refused, or is gone, or was never appended";
    }
  }
  if (new_voids <= voids_allowed_) return "";
  return Text(new_voids) + " seqs are void, and writers that died can have left " +
         Text(voids_allowed_);
}

// Checks that each writer's records are in its order, and that batches are complete.
std::string SharedLedger::CheckOrder(const Listing& listing) const {
  std::map<uint32_t, uint64_t> last;
  for (size_t i = 0; i < listing.ids.size(); ++i) {
    const uint64_t id = listing.ids[i];
    if (id == kVoidSeq) continue;
    const SharedRecord& record = records_.at(id);
    if (id <= last[record.member]) {
      return "record " + Text(id) + " comes after " + Text(last[record.member]) +
             " of the same writer";
    }
    last[record.member] = id;
    for (uint64_t k = 0; k < record.count; ++k) {
      const uint64_t at = i + k - (id - record.first);
      if (at >= listing.ids.size() || listing.ids[at] != record.first + k) {
        return "a batch of " + Text(record.count) + " from record " + Text(record.first) +
               " on is torn";
      }
    }
  }
  return "";
}

}  // namespace durlog::crash
