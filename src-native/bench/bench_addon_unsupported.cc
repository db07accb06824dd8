// If the baselines' system calls do not exist, the bench shows only durlog's figures.
#include <napi.h>

static Napi::Object InitBench(Napi::Env env, Napi::Object exports) {
  exports.Set("supported", Napi::Boolean::New(env, false));
  return exports;
}

NODE_API_MODULE(durlog_bench, InitBench)
