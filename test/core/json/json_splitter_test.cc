#include "json/json_splitter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace durlog {
namespace {

struct SplitText {
  JsonVerdict verdict;
  std::vector<std::string> messages;
};

SplitText Split(std::string text, bool elements = true, size_t max_messages = 1000) {
  // Without a terminating zero, so that a sanitizer notices a read beyond the end.
  std::vector<uint8_t> bytes(text.begin(), text.end());
  bytes.shrink_to_fit();
  std::vector<uint32_t> places;
  SplitText split{SplitJson(bytes.data(), bytes.size(), elements, max_messages, &places), {}};
  for (size_t i = 0; i < places.size(); i += 2) {
    split.messages.emplace_back(bytes.begin() + places[i], bytes.begin() + places[i + 1]);
  }
  return split;
}

JsonVerdict VerdictOf(const std::string& text) { return Split(text).verdict; }

std::string Repeated(const std::string& text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST(JsonSplitterTest, TheElementsOfAnArrayAreMessagesWithoutTheSpaceAroundThem) {
  const SplitText split = Split(" [ 1 ,\t{\"a\" : [2, 3]}\n,\r\n\"x,]\" , []] \n");
  EXPECT_EQ(split.verdict, JsonVerdict::kValid);
  EXPECT_EQ(split.messages, (std::vector<std::string>{"1", "{\"a\" : [2, 3]}", "\"x,]\"", "[]"}));
}

TEST(JsonSplitterTest, AnotherValueIsOneMessage) {
  for (const std::string text :
       {"1", "-0.5e+10", "\"\"", "true", "false", "null", "{}", "{\"a\":[]}"}) {
    EXPECT_EQ(Split(" " + text + "\n").messages, std::vector<std::string>{text});
  }
  EXPECT_EQ(Split("[1, 2]", false).messages, std::vector<std::string>{"[1, 2]"});
}

TEST(JsonSplitterTest, AnEmptyArrayHasNoMessages) {
  EXPECT_EQ(VerdictOf("[]"), JsonVerdict::kValid);
  EXPECT_TRUE(Split(" [ ] ").messages.empty());
}

TEST(JsonSplitterTest, LineBreaksInMessagesBecomeSpaces) {
  EXPECT_EQ(Split("[{\n\"a\":\r\n1}]").messages, std::vector<std::string>{"{ \"a\":  1}"});
}

TEST(JsonSplitterTest, TextThatIsNotJsonIsRefused) {
  for (const char* text : {"",
                           " ",
                           "[",
                           "]",
                           "[1",
                           "[1,",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "[1]]",
                           "1 2",
                           "{",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{1:2}",
                           "{\"a\":1]",
                           "[1}",
                           "01",
                           "-",
                           "+1",
                           ".5",
                           "1.",
                           "1e",
                           "1e+",
                           "0x1",
                           "NaN",
                           "tru",
                           "truee",
                           "nul",
                           "'a'",
                           "\"a",
                           "\"\\",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\u12g4\"",
                           "\"\t\"",
                           "\"\n\"",
                           "\xEF\xBB\xBF[1]",
                           "[1]\v",
                           "\xC2\xA0"
                           "1"}) {
    EXPECT_EQ(VerdictOf(text), JsonVerdict::kInvalid) << text;
  }
  EXPECT_EQ(VerdictOf(std::string("1\0", 2)), JsonVerdict::kInvalid);
  EXPECT_EQ(VerdictOf(std::string("\"\0\"", 3)), JsonVerdict::kInvalid);
  EXPECT_EQ(VerdictOf(std::string("\"\\\0\"", 4)), JsonVerdict::kInvalid);
}

TEST(JsonSplitterTest, OnlyUtf8IsAccepted) {
  for (const char* text : {"\xC2\x80", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                           "\xEF\xBF\xBD", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(VerdictOf("\"" + std::string(text) + "\""), JsonVerdict::kValid);
  }
  for (const char* text : {"\x80", "\xC2", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                           "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
                           "\xF5\x80\x80\x80", "\xE2\x82", "\xC2\x41", "\xFF"}) {
    EXPECT_EQ(VerdictOf("\"" + std::string(text) + "\""), JsonVerdict::kInvalid);
    EXPECT_EQ(VerdictOf("\"" + std::string(text)), JsonVerdict::kInvalid);
  }
}

TEST(JsonSplitterTest, AnEscapeOfHalfASurrogatePairIsKept) {
  EXPECT_EQ(Split("\"\\ud83d\"").messages, std::vector<std::string>{"\"\\ud83d\""});
}

TEST(JsonSplitterTest, ASpecialByteIsFoundAtEachPlaceOfAString) {
  for (size_t before = 0; before < 40; ++before) {
    const std::string start = "\"" + std::string(before, 'x');
    EXPECT_EQ(VerdictOf(start + "\""), JsonVerdict::kValid);
    EXPECT_EQ(VerdictOf(start + "\\\"yyyyyyyyyyyy\""), JsonVerdict::kValid);
    EXPECT_EQ(VerdictOf(start + "\x7F\xC3\xA4yyyyyyyyyyyyyyyy\""), JsonVerdict::kValid);
    EXPECT_EQ(VerdictOf(start + "\x1Fyyyyyyyyyyyyyyyy\""), JsonVerdict::kInvalid);
    EXPECT_EQ(VerdictOf(start + "\xFFyyyyyyyyyyyyyyyy\""), JsonVerdict::kInvalid);
    EXPECT_EQ(VerdictOf(start), JsonVerdict::kInvalid);
  }
}

TEST(JsonSplitterTest, TheDepthOfAMessageIsLimited) {
  const auto nested = [](size_t depth) { return Repeated("[", depth) + Repeated("]", depth); };
  const auto objects = [](size_t depth) {
    return Repeated("{\"a\":", depth) + "1" + Repeated("}", depth);
  };
  EXPECT_EQ(VerdictOf("[" + nested(kMaxJsonDepth) + "]"), JsonVerdict::kValid);
  EXPECT_EQ(VerdictOf("[" + nested(kMaxJsonDepth + 1) + "]"), JsonVerdict::kTooDeep);
  EXPECT_EQ(VerdictOf(objects(kMaxJsonDepth)), JsonVerdict::kValid);
  EXPECT_EQ(VerdictOf(objects(kMaxJsonDepth + 1)), JsonVerdict::kTooDeep);
  EXPECT_EQ(Split(nested(kMaxJsonDepth), false).verdict, JsonVerdict::kValid);
  EXPECT_EQ(Split(nested(kMaxJsonDepth + 1), false).verdict, JsonVerdict::kTooDeep);
}

TEST(JsonSplitterTest, MoreMessagesThanAllowedAreRefused) {
  EXPECT_EQ(Split("[1,2,3]", true, 3).verdict, JsonVerdict::kValid);
  EXPECT_EQ(Split("[1,2,3,4]", true, 3).verdict, JsonVerdict::kTooManyMessages);
}

}  // namespace
}  // namespace durlog
