// Feeds hostile text to the splitter of JSON.
#include <cstdint>
#include <vector>

#include "json/json_splitter.h"
#include "require.h"
#include "targets.h"

namespace durlog {
namespace {

constexpr size_t kMaxMessages = 100;

// Each message is one value in one line, without white space around it.
void CheckMessages(const std::vector<uint8_t>& text, const std::vector<uint32_t>& places) {
  Require(places.size() % 2 == 0 && places.size() <= 2 * kMaxMessages);
  size_t end = 0;
  for (size_t i = 0; i < places.size(); i += 2) {
    Require(end <= places[i] && places[i] < places[i + 1] && places[i + 1] <= text.size());
    end = places[i + 1];
    std::vector<uint8_t> message(text.begin() + places[i], text.begin() + places[i + 1]);
    for (const uint8_t byte : message) Require(byte != '\n' && byte != '\r');
    std::vector<uint32_t> whole;
    const size_t size = message.size();
    Require(SplitJson(message.data(), size, false, 1, &whole) == JsonVerdict::kValid);
    Require(whole[0] == 0 && whole[1] == size);
  }
}

}  // namespace

void TryJson(const uint8_t* data, size_t size) {
  for (const bool elements : {false, true}) {
    std::vector<uint8_t> text(data, data + size);
    std::vector<uint32_t> places;
    const JsonVerdict verdict = SplitJson(text.data(), size, elements, kMaxMessages, &places);
    if (verdict == JsonVerdict::kValid) CheckMessages(text, places);
  }
}

}  // namespace durlog
