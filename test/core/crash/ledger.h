// The application's knowledge: the records that it appended, and the result of each append.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "random.h"

namespace durlog::crash {

constexpr uint64_t kAnyTime = UINT64_MAX;

// The nonce identifies a record. No two appends share one, so a record that is read back differs
// from every record that was cut or trimmed.
struct Entry {
  uint64_t nonce = 0;
  uint32_t size = 0;
  bool batch_continues = false;
  uint64_t time_ms = kAnyTime;  // the time passed to the append
  // A seq of a void, which holds no record. Each seq of a void except the last one has
  // batch_continues set.
  bool is_void() const { return size == 0; }
};

// Some payloads are all zeros: recovery must not take them for free space.
inline bool IsZeroPayload(const Entry& entry) { return entry.nonce % 16 == 0; }

inline void FillPayload(const Entry& entry, std::vector<uint8_t>* payload) {
  payload->assign(entry.size, 0);
  if (IsZeroPayload(entry)) return;
  for (size_t at = 0; at < entry.size; at += sizeof(uint64_t)) {
    const uint64_t word = Mix(entry.nonce + at);
    std::memcpy(payload->data() + at, &word, std::min(sizeof word, entry.size - at));
  }
}

// The records that the next open must find, may find, and must not find.
struct Ledger {
  bool created = false;         // an open has returned, so the log exists
  bool closed_cleanly = false;  // the last close has returned
  // The log begins at or above first_low (a trim of everything below it was acknowledged), and not
  // above first_high (a trim in progress may reach it).
  uint64_t first_low = 0;
  uint64_t first_high = 0;
  // Every record below is acknowledged at sync, or at memory, and no call has asked to cut it.
  uint64_t synced = 0;
  uint64_t in_memory = 0;
  // The position of the cursor at its last commit, at sync and in memory. A truncation has cut the
  // log to end before `cursor_cut`, which is below the position.
  uint64_t cursor_synced = 0;
  uint64_t cursor_in_memory = 0;
  uint64_t cursor_cut = UINT64_MAX;
  // All records from `base` on, including the unacknowledged ones. The log holds no other records.
  uint64_t base = 0;
  std::vector<Entry> entries;

  uint64_t next() const { return base + entries.size(); }
  const Entry* Find(uint64_t seq) const {
    return seq < base || seq >= next() ? nullptr : &entries[static_cast<size_t>(seq - base)];
  }
  // Whether the log may end before `seq` without tearing a batch.
  bool MayEndAt(uint64_t seq) const {
    const Entry* const last = seq == 0 ? nullptr : Find(seq - 1);
    return last == nullptr || !last->batch_continues;
  }
  bool MayCutAt(uint64_t seq) const {
    return MayEndAt(seq) || (seq > base && Find(seq - 1)->is_void());
  }
  // A truncation may shorten a void.
  void AllowEndAt(uint64_t seq) {
    if (seq <= base || seq > next()) return;
    Entry& last = entries[static_cast<size_t>(seq - 1 - base)];
    if (last.is_void()) last.batch_continues = false;
  }
  // The first seq of the void that `seq` is in the middle of; `seq` itself if there is none.
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
