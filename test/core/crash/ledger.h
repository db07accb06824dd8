// What the application knows: which records it appended, and what it was told of them.
#ifndef DURLOG_TEST_CORE_CRASH_LEDGER_H_
#define DURLOG_TEST_CORE_CRASH_LEDGER_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "random.h"

namespace durlog::crash {

constexpr uint64_t kAnyTime = UINT64_MAX;

// A record is its nonce: no two appends share one, so that what comes back is told from what was
// meant to be gone.
struct Entry {
  uint64_t nonce = 0;
  uint32_t size = 0;
  bool batch_continues = false;
  uint64_t time_ms = kAnyTime;  // that it was given
  // No record: one of the seqs of a void. All of its seqs but the last one continue, as in a batch.
  bool is_void() const { return size == 0; }
};

// Some payloads are all zeros, which must be told from free space.
inline bool IsZeroPayload(const Entry& entry) { return entry.nonce % 16 == 0; }

inline void FillPayload(const Entry& entry, std::vector<uint8_t>* payload) {
  payload->assign(entry.size, 0);
  if (IsZeroPayload(entry)) return;
  for (size_t at = 0; at < entry.size; at += sizeof(uint64_t)) {
    const uint64_t word = Mix(entry.nonce + at);
    std::memcpy(payload->data() + at, &word, std::min(sizeof word, entry.size - at));
  }
}

// What must, may and must not be found by whoever opens the log next.
struct Ledger {
  bool created = false;         // an open has returned: the log is there
  bool closed_cleanly = false;  // and the last close has
  // The log begins at or above first_low (all below was trimmed, and told so), and not above
  // first_high (a trim that is out may get that far).
  uint64_t first_low = 0;
  uint64_t first_high = 0;
  // Every record below is acknowledged at sync, or at memory, and nobody asked to cut it.
  uint64_t synced = 0;
  uint64_t in_memory = 0;
  // A cursor's position, as of its last commit at sync and in memory; a truncation has cut the log
  // to end before `cursor_cut`, below the position.
  uint64_t cursor_synced = 0;
  uint64_t cursor_in_memory = 0;
  uint64_t cursor_cut = UINT64_MAX;
  // Records from `base` on, those included of which nothing was promised. There are no others.
  uint64_t base = 0;
  std::vector<Entry> entries;

  uint64_t next() const { return base + entries.size(); }
  const Entry* Find(uint64_t seq) const {
    return seq < base || seq >= next() ? nullptr : &entries[static_cast<size_t>(seq - base)];
  }
  // Whether the log may end in front of `seq` without tearing a batch.
  bool MayEndAt(uint64_t seq) const {
    const Entry* const last = seq == 0 ? nullptr : Find(seq - 1);
    return last == nullptr || !last->batch_continues;
  }
  bool MayCutAt(uint64_t seq) const {
    return MayEndAt(seq) || (seq > base && Find(seq - 1)->is_void());
  }
  // A truncation shortens a void.
  void AllowEndAt(uint64_t seq) {
    if (seq <= base || seq > next()) return;
    Entry& last = entries[static_cast<size_t>(seq - 1 - base)];
    if (last.is_void()) last.batch_continues = false;
  }
  // Where the void begins that `seq` falls into; `seq` itself if it falls into none.
  uint64_t BeginOfVoidAt(uint64_t seq) const {
    while (seq > base && Find(seq - 1) != nullptr && Find(seq - 1)->is_void() &&
           Find(seq - 1)->batch_continues) {
      --seq;
    }
    return seq;
  }
  void CutAt(uint64_t seq) {
    if (seq < next()) entries.resize(static_cast<size_t>(seq > base ? seq - base : 0));
    synced = std::min(synced, seq);
    in_memory = std::min(in_memory, seq);
  }
};

}  // namespace durlog::crash

#endif  // DURLOG_TEST_CORE_CRASH_LEDGER_H_
