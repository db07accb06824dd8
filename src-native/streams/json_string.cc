#include "streams/json_string.h"

#include <cstddef>

namespace durlog {
namespace {

constexpr uint32_t kReplacement = 0xFFFD;
// The length of an escape such as \u00e9.
constexpr std::ptrdiff_t kUnicodeEscapeBytes = 6;

int HexDigit(uint8_t byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return -1;
}

// The code unit of the escape at `from`; -1 if there is no such escape.
int32_t CodeUnitAt(const uint8_t* from, const uint8_t* end) {
  if (end - from < kUnicodeEscapeBytes || from[0] != '\\' || from[1] != 'u') return -1;
  int32_t unit = 0;
  for (int i = 2; i < kUnicodeEscapeBytes; ++i) {
    const int digit = HexDigit(from[i]);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

bool IsHighSurrogate(int32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool IsLowSurrogate(int32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

uint8_t* StoreUtf8(uint32_t code, uint8_t* to) {
  const auto continuation = [code](int shift) {
    return static_cast<uint8_t>(0x80 | ((code >> shift) & 0x3F));
  };
  if (code < 0x80) {
    *to++ = static_cast<uint8_t>(code);
    return to;
  }
  if (code < 0x800) {
    *to++ = static_cast<uint8_t>(0xC0 | (code >> 6));
  } else if (code < 0x10000) {
    *to++ = static_cast<uint8_t>(0xE0 | (code >> 12));
    *to++ = continuation(6);
  } else {
    *to++ = static_cast<uint8_t>(0xF0 | (code >> 18));
    *to++ = continuation(12);
    *to++ = continuation(6);
  }
  *to++ = continuation(0);
  return to;
}

// The byte that a backslash and `letter` stand for; 0 if there is no such escape.
uint8_t Unescaped(uint8_t letter) {
  switch (letter) {
    case '"':
    case '\\':
    case '/': return letter;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return 0;
  }
}

}  // namespace

uint8_t* DecodeJsonString(const uint8_t* from, const uint8_t* end, uint8_t* to) {
  if (end - from < 2 || from[0] != '"' || end[-1] != '"') return nullptr;
  ++from;
  --end;
  while (from < end) {
    const uint8_t byte = *from;
    if (byte < 0x20 || byte == '"') return nullptr;
    if (byte != '\\') {
      *to++ = byte;
      ++from;
      continue;
    }
    const int32_t unit = CodeUnitAt(from, end);
    if (unit < 0) {
      const uint8_t unescaped = end - from < 2 ? uint8_t{0} : Unescaped(from[1]);
      if (unescaped == 0) return nullptr;
      *to++ = unescaped;
      from += 2;
      continue;
    }
    from += kUnicodeEscapeBytes;
    const int32_t low = IsHighSurrogate(unit) ? CodeUnitAt(from, end) : -1;
    if (IsLowSurrogate(low)) {
      from += kUnicodeEscapeBytes;
      to = StoreUtf8(static_cast<uint32_t>(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)), to);
    } else {
      const bool is_alone = IsHighSurrogate(unit) || IsLowSurrogate(unit);
      to = StoreUtf8(is_alone ? kReplacement : static_cast<uint32_t>(unit), to);
    }
  }
  return to;
}

}  // namespace durlog
