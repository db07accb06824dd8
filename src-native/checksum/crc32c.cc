#include "checksum/crc32c.h"

#include <atomic>

#include "checksum/crc32c_implementations.h"

namespace durlog {
namespace {

uint32_t ChooseAndRun(uint32_t crc, const void* data, size_t length);

// Initially points to the function that makes the choice, so that it works before static
// initializers have run, and a later call costs one load and one jump. Threads that run it at the
// same time make the same choice.
std::atomic<Crc32cFunction> g_chosen{&ChooseAndRun};

uint32_t ChooseAndRun(uint32_t crc, const void* data, size_t length) {
  const Crc32cImplementationList list = Crc32cImplementations();
  const Crc32cImplementation* best = list.items;
  while (!best->supported) ++best;
  g_chosen.store(best->function, std::memory_order_relaxed);
  return best->function(crc, data, length);
}

}  // namespace

uint32_t Crc32c(uint32_t crc, const void* data, size_t length) {
  return g_chosen.load(std::memory_order_relaxed)(crc, data, length);
}

}  // namespace durlog
