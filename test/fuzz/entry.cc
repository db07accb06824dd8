// The entry of libFuzzer. The build defines DURLOG_FUZZER as the function that the fuzzer calls.
#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  durlog::DURLOG_FUZZER(data, size);
  return 0;
}
