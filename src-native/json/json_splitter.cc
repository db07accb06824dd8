#include "json/json_splitter.h"

#include <bitset>
#include <cstddef>
#include <cstring>

#include "base/bytes.h"

namespace durlog {
namespace {

constexpr std::ptrdiff_t kWordBytes = sizeof(uint64_t);
constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kHighBits = 0x8080808080808080;

// For each byte of `word` that is zero, sets its highest bit. It may also set that of a byte above
// a zero byte, so only the lowest bit that is set is exact.
constexpr uint64_t ZeroBytes(uint64_t word) { return (word - kOnes) & ~word & kHighBits; }

// The bytes at which a string needs a closer look: quotes, backslashes, control characters, and
// bytes of characters outside ASCII. As for ZeroBytes, only the lowest bit that is set is exact.
constexpr uint64_t SpecialBytes(uint64_t word) {
  const uint64_t controls = (word - kOnes * 0x20) & ~word & kHighBits;
  return controls | ZeroBytes(word ^ (kOnes * '"')) | ZeroBytes(word ^ (kOnes * '\\')) |
         (word & kHighBits);
}

constexpr bool IsSpecial(uint8_t byte) {
  return byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\';
}

bool IsDigit(uint8_t byte) { return byte >= '0' && byte <= '9'; }
bool IsContinuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

bool IsHexDigit(uint8_t byte) {
  return IsDigit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

// Each function moves `at_` beyond what it has accepted, and returns false at the first error.
class Parser {
 public:
  Parser(uint8_t* text, size_t size) : begin_(text), at_(text), end_(text + size) {}

  JsonVerdict Split(bool elements, size_t max_messages, std::vector<uint32_t>* places) {
    SkipSpace();
    if (elements && Take('[')) {
      if (!Elements(max_messages, places)) return verdict_;
    } else if (!Message(places)) {
      return verdict_;
    }
    SkipSpace();
    return at_ == end_ ? JsonVerdict::kValid : JsonVerdict::kInvalid;
  }

 private:
  bool Elements(size_t max_messages, std::vector<uint32_t>* places) {
    SkipSpace();
    if (Take(']')) return true;
    for (size_t count = 0;; ++count) {
      if (count == max_messages) return Fail(JsonVerdict::kTooManyMessages);
      SkipSpace();
      if (!Message(places)) return false;
      SkipSpace();
      if (Take(']')) return true;
      if (!Take(',')) return false;
    }
  }

  bool Message(std::vector<uint32_t>* places) {
    const auto start = static_cast<uint32_t>(at_ - begin_);
    if (!Value()) return false;
    places->push_back(start);
    places->push_back(static_cast<uint32_t>(at_ - begin_));
    return true;
  }

  // A value with everything in it, without recursion.
  bool Value() {
    size_t depth = 0;
    for (;;) {
      if (Take('{')) {
        if (depth == kMaxJsonDepth) return Fail(JsonVerdict::kTooDeep);
        is_object_[depth++] = true;
        SkipSpace();
        if (!Take('}')) {
          if (!Name()) return false;
          continue;
        }
        --depth;
      } else if (Take('[')) {
        if (depth == kMaxJsonDepth) return Fail(JsonVerdict::kTooDeep);
        is_object_[depth++] = false;
        SkipSpace();
        if (!Take(']')) continue;
        --depth;
      } else if (!Scalar()) {
        return false;
      }
      if (!AfterValue(&depth)) return false;
      if (depth == 0) return true;
    }
  }

  // The ends of objects and arrays, up to the beginning of the next value. `depth` becomes 0 at the
  // end of the message.
  bool AfterValue(size_t* depth) {
    while (*depth > 0) {
      SkipSpace();
      const bool in_object = is_object_[*depth - 1];
      if (Take(',')) {
        SkipSpace();
        return !in_object || Name();
      }
      if (!Take(in_object ? '}' : ']')) return false;
      --*depth;
    }
    return true;
  }

  // The name of a member and its colon, up to the beginning of its value.
  bool Name() {
    if (!Take('"') || !StringRest()) return false;
    SkipSpace();
    if (!Take(':')) return false;
    SkipSpace();
    return true;
  }

  bool Scalar() {
    if (at_ == end_) return false;
    switch (*at_) {
      case '"': ++at_; return StringRest();
      case 't': return Word("true");
      case 'f': return Word("false");
      case 'n': return Word("null");
      default: return Number();
    }
  }

  bool Word(const char* word) {
    const size_t length = std::strlen(word);
    if (Left() < length || std::memcmp(at_, word, length) != 0) return false;
    at_ += length;
    return true;
  }

  bool Number() {
    Take('-');
    if (!Take('0') && !Digits()) return false;
    if (Take('.') && !Digits()) return false;
    if (!Take('e') && !Take('E')) return true;
    if (!Take('+')) Take('-');
    return Digits();
  }

  bool Digits() {
    if (at_ == end_ || !IsDigit(*at_)) return false;
    while (at_ < end_ && IsDigit(*at_)) ++at_;
    return true;
  }

  // A string after its first quote.
  bool StringRest() {
    for (;;) {
      SkipPlain();
      if (at_ == end_) return false;
      const uint8_t byte = *at_;
      if (byte == '"') {
        ++at_;
        return true;
      }
      if (byte == '\\' ? !Escape() : byte < 0x80 || !Character()) return false;
    }
  }

  // Skips characters of ASCII up to a quote, a backslash or a control character.
  void SkipPlain() {
    // A local variable, which can stay in a register.
    uint8_t* at = at_;
    uint64_t special = 0;
    while (end_ - at >= kWordBytes && (special = SpecialBytes(Load64(at))) == 0) at += kWordBytes;
    if (special != 0) at += __builtin_ctzll(special) / 8;
    while (at < end_ && !IsSpecial(*at)) ++at;
    at_ = at;
  }

  bool Escape() {
    if (Left() < 2) return false;
    const uint8_t letter = at_[1];
    at_ += 2;
    if (letter != 'u') return letter != 0 && std::strchr("\"\\/bfnrt", letter) != nullptr;
    if (Left() < 4) return false;
    for (int digit = 0; digit < 4; ++digit) {
      if (!IsHexDigit(*at_++)) return false;
    }
    return true;
  }

  // A character of two to four bytes in UTF-8: RFC 3629, section 4.
  bool Character() {
    const uint8_t lead = *at_;
    const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (lead < 0xC2 || lead > 0xF4 || Left() < length) return false;
    const uint8_t second = at_[1];
    // Overlong forms, surrogates, and codes above U+10FFFF.
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second >= 0xA0) ||
        (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second >= 0x90)) {
      return false;
    }
    for (size_t i = 1; i < length; ++i) {
      if (!IsContinuation(at_[i])) return false;
    }
    at_ += length;
    return true;
  }

  void SkipSpace() {
    while (at_ < end_ && *at_ <= ' ') {
      if (*at_ == '\n' || *at_ == '\r') {
        *at_ = ' ';
      } else if (*at_ != ' ' && *at_ != '\t') {
        return;
      }
      ++at_;
    }
  }

  bool Take(char wanted) {
    if (at_ == end_ || *at_ != static_cast<uint8_t>(wanted)) return false;
    ++at_;
    return true;
  }

  bool Fail(JsonVerdict verdict) {
    verdict_ = verdict;
    return false;
  }

  size_t Left() const { return static_cast<size_t>(end_ - at_); }

  uint8_t* const begin_;
  uint8_t* at_;
  uint8_t* const end_;
  // Whether each open level of the message is an object, or else an array.
  std::bitset<kMaxJsonDepth> is_object_;
  JsonVerdict verdict_ = JsonVerdict::kInvalid;
};

}  // namespace

JsonVerdict SplitJson(uint8_t* text, size_t size, bool elements, size_t max_messages,
                      std::vector<uint32_t>* places) {
  places->clear();
  return Parser(text, size).Split(elements, max_messages, places);
}

}  // namespace durlog
