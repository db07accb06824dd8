// Waits for a program that has a file open without sharing it.
#pragma once

#include <windows.h>

namespace durlog {

// Virus scanners, indexers and backup programs open a new file for some milliseconds and may share
// neither writing nor deletion. Ten pauses, each twice as long as the previous one, take 1,023 ms.
inline constexpr DWORD kFirstPauseMs = 1;
inline constexpr int kMaxPauses = 10;

// Whether `error` may mean that another program has the file open. Renaming over an open file, or
// creating a name that is about to be deleted, fails with ERROR_ACCESS_DENIED.
inline bool MayBeInUse(DWORD error) {
  return error == ERROR_SHARING_VIOLATION || error == ERROR_LOCK_VIOLATION ||
         error == ERROR_ACCESS_DENIED || error == ERROR_USER_MAPPED_FILE ||
         error == ERROR_DELETE_PENDING;
}

// Calls `call`, which returns a Windows error or 0, until it succeeds, `is_passing` returns false
// for its error, or the pauses are used up. Returns the last error.
template <typename Call, typename IsPassing, typename Pause>
DWORD RetryWhile(IsPassing is_passing, Call call, Pause pause) {
  DWORD pause_ms = kFirstPauseMs;
  for (int i = 0; i < kMaxPauses; ++i, pause_ms *= 2) {
    const DWORD error = call();
    if (error == 0 || !is_passing(error)) return error;
    pause(pause_ms);
  }
  return call();
}

template <typename Call>
DWORD RetryWhileInUse(Call call) {
  return RetryWhile(MayBeInUse, call, [](DWORD ms) { Sleep(ms); });
}

}  // namespace durlog
