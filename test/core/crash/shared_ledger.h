// What the writers of a log that several have open know together: which records they appended, and
// what they were told of them.
#ifndef DURLOG_TEST_CORE_CRASH_SHARED_LEDGER_H_
#define DURLOG_TEST_CORE_CRASH_SHARED_LEDGER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace durlog::crash {

// A seq that holds no record.
constexpr uint64_t kVoidSeq = 0;

// A record is its id, which no two appends share; `first` and `count` are of its batch.
struct SharedRecord {
  uint32_t member = 0;
  uint64_t size = 0;
  uint64_t first = 0;
  uint64_t count = 0;
};

// The payload of a record, which has at least eight bytes, begins with its id.
std::vector<uint8_t> PayloadOf(uint64_t id, uint64_t size);

// What is found in a log: the id at each seq from `first` on, or kVoidSeq.
struct Listing {
  uint64_t first = 0;
  std::vector<uint64_t> ids;

  uint64_t next() const { return first + ids.size(); }
};

class SharedLedger {
 public:
  bool created = false;         // an open has returned: the log is there
  bool closed_cleanly = false;  // the last writer to leave did so in order
  // The log begins at or above first_low, and not above first_high.
  uint64_t first_low = 0;
  uint64_t first_high = 0;
  // Every record below was acknowledged at sync, or at memory.
  uint64_t synced = 0;
  uint64_t in_memory = 0;

  // About to be appended by `member`, in one piece; returns the first one's id.
  uint64_t Intend(uint32_t member, const std::vector<uint64_t>& sizes);
  // They have got the seqs from `seq` on. "" or what is wrong.
  std::string Place(uint64_t first_id, uint64_t count, uint64_t seq);
  // The append was refused and has left nothing.
  void Withdraw(uint64_t first_id, uint64_t count);
  // The writer has died, maybe with what it has reserved: at most one append.
  void Bury(uint32_t member);
  // The log was opened by the first writer: what is not in it is gone for good.
  void Open(const Listing& listing);

  const SharedRecord* Find(uint64_t id) const;
  // Whether the log may hold that, where every record below `floor` was promised: "" or what is
  // wrong.
  std::string Check(const Listing& listing, uint64_t floor) const;

 private:
  std::string CheckPlaces(const Listing& listing) const;
  std::string CheckOrder(const Listing& listing) const;

  uint64_t next_id_ = 1;
  std::map<uint64_t, SharedRecord> records_;
  std::map<uint64_t, uint64_t> placed_;     // by seq: the id, or kVoidSeq
  std::set<uint64_t> open_;                 // ids that may be at any seq that is not known
  std::map<uint32_t, uint64_t> under_way_;  // by member: how many records its append has
  uint64_t voids_allowed_ = 0;              // besides those in placed_
};

}  // namespace durlog::crash

#endif  // DURLOG_TEST_CORE_CRASH_SHARED_LEDGER_H_
