// Splits a text of JSON into its messages, and checks it by RFC 8259, in one pass over the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace durlog {

// Arrays and objects within one message, nested in each other. Other readers of JSON, such as
// Python's, have such a limit too.
constexpr size_t kMaxJsonDepth = 512;

enum class JsonVerdict { kValid, kInvalid, kTooDeep, kTooManyMessages };

// Stores the offsets of the begin and the end of each message in `places`: the elements of an
// array, or, if `elements` is false or the text is not an array, its single value. White space
// around messages is not part of them. Line breaks in messages become spaces in `text`; they are
// between tokens, because strings have none. Stops at the first error, or at more messages than
// `max_messages`. `text` has fewer than 2^32 bytes.
//
// Accepts what JSON.parse accepts, except invalid UTF-8 and deeper nesting: also an escape such as
// \ud800 for half of a surrogate pair, which stays as it is.
JsonVerdict SplitJson(uint8_t* text, size_t size, bool elements, size_t max_messages,
                      std::vector<uint32_t>* places);

}  // namespace durlog
