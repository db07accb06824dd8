// The inputs of the fuzzers, and each of them with single bits inverted.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "../../fuzz/targets.h"

namespace durlog {
namespace {

constexpr size_t kMostInverted = 16;

std::vector<uint8_t> BytesOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void TryCorpus(const char* name, void (*target)(const uint8_t* data, size_t size)) {
  size_t inputs = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string("test/fuzz/corpus/") + name)) {
    SCOPED_TRACE(entry.path().string());
    std::vector<uint8_t> bytes = BytesOf(entry.path());
    ASSERT_FALSE(bytes.empty());
    target(bytes.data(), bytes.size());
    const size_t step = bytes.size() / kMostInverted + 1;
    for (size_t at = 0; at < bytes.size(); at += step) {
      const auto bit = static_cast<uint8_t>(1u << (at / step % 8));
      bytes[at] ^= bit;
      target(bytes.data(), bytes.size());
      bytes[at] ^= bit;
    }
    ++inputs;
  }
  EXPECT_GT(inputs, 0u);
}

TEST(CorpusTest, NoInputOfDecodeBreaksAPromise) { TryCorpus("decode", TryDecode); }
TEST(CorpusTest, NoInputOfJsonBreaksAPromise) { TryCorpus("json", TryJson); }
TEST(CorpusTest, NoInputOfOpenBreaksAPromise) { TryCorpus("open", TryOpen); }

}  // namespace
}  // namespace durlog
