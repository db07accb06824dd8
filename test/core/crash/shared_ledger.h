// The joint knowledge of the writers that have one log open: the records that they appended, and
// the result of each append.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace durlog::crash {

// A seq that holds no record.
constexpr uint64_t kVoidSeq = 0;

// The id identifies a record; no two appends share one. `first` and `count` belong to its batch.
struct SharedRecord {
  uint32_t member = 0;
  uint64_t size = 0;
  uint64_t first = 0;
  uint64_t count = 0;
};

// The payload of a record: at least eight bytes, of which the first eight are its id.
std::vector<uint8_t> PayloadOf(uint64_t id, uint64_t size);

// The contents of a log: the id at each seq from `first` on, or kVoidSeq.
struct Listing {
  uint64_t first = 0;
  std::vector<uint64_t> ids;

  uint64_t next() const { return first + ids.size(); }
};

class SharedLedger {
 public:
  bool created = false;         // an open has returned, so the log exists
  bool closed_cleanly = false;  // the last writer to leave did so in order
  // The log begins at or above first_low, and not above first_high.
  uint64_t first_low = 0;
  uint64_t first_high = 0;
  // Every record below is acknowledged at sync, or at memory.
  uint64_t synced = 0;
  uint64_t in_memory = 0;

  // Notes that `member` is about to append records of these sizes as one batch; returns the id of
  // the first one.
  uint64_t Intend(uint32_t member, const std::vector<uint64_t>& sizes);
  // Notes that the records have the seqs from `seq` on. Returns "" or the violation.
  std::string Place(uint64_t first_id, uint64_t count, uint64_t seq);
  // Notes that the append was refused and has written nothing.
  void Withdraw(uint64_t first_id, uint64_t count);
  // Notes that the writer has died. It may leave the reservation of at most one append.
  void Bury(uint32_t member);
  // Notes that the first writer has opened the log: records that are not in it never come back.
  void Open(const Listing& listing);

  const SharedRecord* Find(uint64_t id) const;
  // Checks whether the log may hold this, given that every record below `floor` was promised.
  // Returns "" or the violation.
  std::string Check(const Listing& listing, uint64_t floor) const;

 private:
  std::string CheckPlaces(const Listing& listing) const;
  std::string CheckOrder(const Listing& listing) const;

  uint64_t next_id_ = 1;
  std::map<uint64_t, SharedRecord> records_;
  std::map<uint64_t, uint64_t> placed_;     // by seq: the id, or kVoidSeq
  std::set<uint64_t> open_;                 // ids that may be at any seq that is not in placed_
  std::map<uint32_t, uint64_t> under_way_;  // by member: the number of records in its append
  uint64_t voids_allowed_ = 0;              // in addition to those in placed_
};

}  // namespace durlog::crash
