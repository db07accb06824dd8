// DURLOG_FLATTEN marks a function that runs for every record: everything that it calls in its file
// is inlined. Calls and returns were a sixth of a small write.
#ifndef DURLOG_BASE_FLATTEN_H_
#define DURLOG_BASE_FLATTEN_H_

#if defined(__GNUC__) || defined(__clang__)
#define DURLOG_FLATTEN __attribute__((flatten))
#else
#define DURLOG_FLATTEN
#endif

#endif  // DURLOG_BASE_FLATTEN_H_
