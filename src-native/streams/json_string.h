// Decodes the JSON strings of streams of text.
#pragma once

#include <cstdint>

namespace durlog {

// Decodes the JSON string from `from` to `end`, with its quotes, and stores its text as UTF-8 at
// `to`. A surrogate without its pair becomes U+FFFD. Returns the end of the text; null if the
// string is malformed. The text is not longer than the string, and `to` may be `from` or lower.
uint8_t* DecodeJsonString(const uint8_t* from, const uint8_t* end, uint8_t* to);

}  // namespace durlog
