// DURLOG_INLINE_CALLS marks a function that runs for every record: all functions of the same file
// that it calls are inlined. Without this, a sixth of the time of a small write was calls and
// returns. A sanitizer's build omits it: its checks make the inlined function so large that gcc
// compiles it for more than five minutes.
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(undefined_behavior_sanitizer)
#define DURLOG_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DURLOG_SANITIZED
#endif

#if (defined(__GNUC__) || defined(__clang__)) && !defined(DURLOG_SANITIZED)
#define DURLOG_INLINE_CALLS __attribute__((flatten))
#else
#define DURLOG_INLINE_CALLS
#endif
