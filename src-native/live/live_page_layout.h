// The file `live` in a log's folder: 64-bit words that a writer stores and readers in other
// processes and threads load. docs/FORMAT.md describes it. Recovery does not read it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/shared_word.h"

namespace durlog {

inline constexpr char kLiveName[] = "live";
inline constexpr size_t kLivePageBytes = 4096;
inline constexpr size_t kLiveWords = kLivePageBytes / sizeof(uint64_t);
inline constexpr uint64_t kLiveMagic = 0x0a0d4556494c5544;  // "DULIVE\r\n"
inline constexpr uint64_t kLiveVersion = 1;

// Indices of words.
enum LiveWord : size_t {
  kLiveMagicWord = 0,
  kLiveVersionWord = 1,
  kLiveUuidWord = 2,     // two words
  kLiveLineageWord = 4,  // random for each page
  kLiveSessionWord = 5,  // random for each open of the log
  kLiveGenerationWord = 6,
  kLiveFirstSeqWord = 7,
  kLiveMemoryEndWord = 8,  // on a separate cache line: every append stores it
  kLiveSyncedEndWord = 9,
  kLiveBellWord = 12,          // its low half grows each time the waiting readers are woken
  kLiveWaitingWord = 13,       // not 0 while a reader may be waiting; readers store it and the bell
  kLiveOldestCutsWord = 16,    // the lowest next seq of the cuts that the ring no longer holds
  kLiveCommitsWord = 17,       // commits above `memory`; only an exclusive writer counts them
  kLiveCommitMicrosWord = 18,  // their total time
  kLiveRingWord = 32,
};
// The next seq of cut g is in slot g % kLiveRingCuts.
inline constexpr uint64_t kLiveRingCuts = kLiveWords - kLiveRingWord;
inline constexpr uint64_t kNoCut = UINT64_MAX;

using LiveAtomic = SharedWord;
using LiveBellAtomic = std::atomic<uint32_t>;
static_assert(sizeof(LiveBellAtomic) == sizeof(uint32_t) && LiveBellAtomic::is_always_lock_free,
              "what the system waits on is the word itself");

}  // namespace durlog
