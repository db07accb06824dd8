// The file `live` in a log's folder: 64-bit words that a writer stores and readers in other
// processes and threads load. docs/FORMAT.md describes it. Recovery does not read it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/shared_word.h"

namespace durlog {

inline constexpr char kLiveName[] = "live";
inline constexpr size_t kLivePageBytes = 4096;
inline constexpr size_t kLiveWords = kLivePageBytes / sizeof(uint64_t);
inline constexpr uint64_t kLiveMagic = 0x0a0d4556494c5544;  // "DULIVE\r\n"
inline constexpr uint64_t kLiveVersion = 2;

// Indices of words.
enum LiveWord : size_t {
  kLiveMagicWord = 0,
  kLiveVersionWord = 1,
  kLiveUuidWord = 2,     // two words
  kLiveLineageWord = 4,  // random for each page
  kLiveSessionWord = 5,  // random for each open of the log
  kLiveGenerationWord = 6,
  kLiveFirstSeqWord = 7,
  kLiveMemoryEndWord = 8,  // on a separate cache line: every append of an exclusive log stores it
  kLiveSyncedEndWord = 9,
  kLiveBellWord = 12,          // its low half grows each time the waiting readers are woken
  kLiveWaitingWord = 13,       // not 0 while a reader may be waiting; readers store it and the bell
  kLiveOldestCutsWord = 16,    // the lowest next seq of the cuts that the ring no longer holds
  kLiveCommitsWord = 17,       // commits above `memory`; only an exclusive writer counts them
  kLiveCommitMicrosWord = 18,  // their total time
  kLiveMemberEndsWord = 32,    // the memory ends that members know: see MemberEndWord()
  kLiveRingWord = 96,
};
// Members that append at the same time raise words in different cache lines.
inline constexpr size_t kLiveMemberEnds = 8;
inline constexpr size_t kLiveCacheLineWords = 8;
static_assert(kLiveMemberEndsWord + kLiveMemberEnds * kLiveCacheLineWords == kLiveRingWord,
              "each end has a cache line");
constexpr size_t MemberEndWord(uint32_t slot) {
  return kLiveMemberEndsWord + slot % kLiveMemberEnds * kLiveCacheLineWords;
}
// The next seq of cut g is in slot g % kLiveRingCuts.
inline constexpr uint64_t kLiveRingCuts = kLiveWords - kLiveRingWord;
inline constexpr uint64_t kNoCut = UINT64_MAX;

using LiveAtomic = SharedWord;
using LiveBellAtomic = std::atomic<uint32_t>;
static_assert(sizeof(LiveBellAtomic) == sizeof(uint32_t) && LiveBellAtomic::is_always_lock_free,
              "what the system waits on is the word itself");

// Every record below it is at kMemory.
inline uint64_t LiveMemoryEnd(const LiveAtomic* words) {
  uint64_t end = words[kLiveMemoryEndWord].load(std::memory_order_acquire);
  for (uint32_t i = 0; i < kLiveMemberEnds; ++i) {
    end = std::max(end, words[MemberEndWord(i)].load(std::memory_order_acquire));
  }
  return end;
}

}  // namespace durlog
