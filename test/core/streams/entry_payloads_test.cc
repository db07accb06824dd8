#include "streams/entry_payloads.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace durlog {
namespace {

// A head with a seq at its place, and a name.
std::string Head(uint64_t seq, const std::string& name) {
  std::string head(16, '\0');
  head[0] = 1;
  for (size_t i = 0; i < 6; ++i) head[4 + i] = static_cast<char>(seq >> (8 * i));
  return head + name;
}

std::string Continuing(std::string head) {
  head[1] = static_cast<char>(head[1] | 2);
  return head;
}

Bytes BytesOf(const std::string& text) {
  return Bytes{reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::vector<std::string> Join(const EntryPayloads& payloads) {
  std::vector<std::string> joined;
  for (size_t i = 0; i < payloads.size(); ++i) {
    const auto& [head, rest] = payloads.data()[i];
    joined.emplace_back(head.data, head.data + head.size);
    joined.back().append(rest.data, rest.data + rest.size);
  }
  return joined;
}

struct Texts {
  std::string first;
  std::string following;
  std::string end;
  std::string values;
};

EntryGroup GroupOf(const Texts& texts, const std::vector<uint32_t>& places) {
  return EntryGroup{BytesOf(texts.first), BytesOf(texts.following),
                    BytesOf(texts.end),   BytesOf(texts.values),
                    places.data(),        places.size()};
}

TEST(EntryPayloadsTest, EachValueGetsAHeadWithTheNextSeqAndAllButTheLastContinueTheBatch) {
  const uint64_t seq = 0xFFFFFF;
  const Texts texts{Head(seq, "name, conditions"), Head(seq + 1, "name"), "", "[1,\"b\",]"};
  const std::vector<uint32_t> places{1, 2, 3, 6, 7, 7};
  EntryPayloads payloads;
  ASSERT_TRUE(payloads.Make(GroupOf(texts, places)));
  EXPECT_EQ(Join(payloads), (std::vector<std::string>{Continuing(texts.first) + "1",
                                                      Continuing(Head(seq + 1, "name")) + "\"b\"",
                                                      Head(seq + 2, "name")}));
}

TEST(EntryPayloadsTest, AnEndFollowsTheValues) {
  const Texts texts{Head(5, "s"), Head(6, "s"), Head(7, "s end"), "12"};
  const std::vector<uint32_t> places{0, 1, 1, 2};
  EntryPayloads payloads;
  ASSERT_TRUE(payloads.Make(GroupOf(texts, places)));
  EXPECT_EQ(Join(payloads),
            (std::vector<std::string>{Continuing(Head(5, "s")) + "1",
                                      Continuing(Head(6, "s")) + "2", Head(7, "s end")}));
}

TEST(EntryPayloadsTest, AHeadThatIsTooShortOrAPlaceOutsideTheValuesIsRefused) {
  const Texts good{Head(0, "s"), Head(0, "s"), "", "123"};
  Texts no_first = good;
  no_first.first.resize(15);
  Texts no_following = good;
  no_following.following.resize(15);
  Texts no_end = good;
  no_end.end = "x";
  EntryPayloads payloads;
  EXPECT_TRUE(payloads.Make(GroupOf(good, {0, 3})));
  for (const Texts& bad : {no_first, no_following, no_end}) {
    EXPECT_FALSE(payloads.Make(GroupOf(bad, {0, 3})));
  }
  for (const std::vector<uint32_t>& places :
       {std::vector<uint32_t>{}, {0}, {0, 1, 2}, {2, 1}, {0, 4}, {4, 4}}) {
    EXPECT_FALSE(payloads.Make(GroupOf(good, places)));
  }
}

}  // namespace
}  // namespace durlog
