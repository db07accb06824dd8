// DURLOG_FLATTEN: before a function that runs for every record, as all that it calls in its file is
// then compiled into it. A sixth of a small write was calls and returns.
#ifndef DURLOG_BASE_FLATTEN_H_
#define DURLOG_BASE_FLATTEN_H_

#if defined(__GNUC__) || defined(__clang__)
#define DURLOG_FLATTEN __attribute__((flatten))
#else
#define DURLOG_FLATTEN
#endif

#endif  // DURLOG_BASE_FLATTEN_H_
