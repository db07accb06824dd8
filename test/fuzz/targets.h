// What each fuzzer does with an input. It ends the process if the core breaks a promise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace durlog {

void TryDecode(const uint8_t* data, size_t size);
void TryJson(const uint8_t* data, size_t size);
void TryOpen(const uint8_t* data, size_t size);

}  // namespace durlog
