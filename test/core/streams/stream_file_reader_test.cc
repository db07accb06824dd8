#include "streams/stream_file_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memory_file_system.h"
#include "streams/index_entry.h"
#include "streams/json_string.h"
#include "streams/store_streams.h"

namespace durlog {
namespace {

// A stream whose first seq is 10. The records have the times 100, 101, ...
class StreamFileReaderTest : public testing::Test {
 protected:
  static constexpr uint64_t kFirst = 10;

  void Store(StreamEncoding encoding, const std::vector<std::string>& records) {
    std::vector<StreamRecord> stored;
    for (const std::string& record : records) {
      const uint64_t at = stored.size();
      stored.push_back(
          {{reinterpret_cast<const uint8_t*>(record.data()), record.size()}, 100 + at, 500 + at});
    }
    const auto folder = std::move(memory_.OpenDirectory("memory", false).value());
    changes_.resize(1);
    StreamChange& change = changes_[0];
    change.name = "s";
    change.lines = encoding != StreamEncoding::kBytes;
    change.record_count = records.size();
    StepLimit steps(UINT64_MAX);
    StoreStreams(*folder, *folder, stored, true, &steps, &changes_);
    file_.name = "s";
    file_.encoding = encoding;
    file_.first = kFirst;
    file_.next = kFirst + records.size();
    file_.bytes = change.size;
    file_.crc = change.crc;
    file_.index = {change.index.data(), change.index.size()};
  }

  MemoryBytes& Records() {
    return *memory_.files[file_.encoding == StreamEncoding::kBytes ? "s.frames" : "s.jsonl"];
  }

  StreamChunk Read(uint64_t from, size_t room = 1000, RecordForm form = RecordForm::kBody) {
    bytes_.assign(room, '#');
    const auto folder = std::move(memory_.OpenDirectory("memory", false).value());
    StreamFileReader reader(*folder, *folder, file_, form, bytes_.data(), room);
    Result<StreamChunk> body = reader.Read(from, file_.next);
    EXPECT_TRUE(body.ok()) << body.status().message();
    return std::move(*body);
  }

  std::string Text(const StreamChunk& body) const {
    return std::string(reinterpret_cast<const char*>(bytes_.data()), body.size);
  }

  MemoryFileSystem memory_;
  std::vector<StreamChange> changes_;
  StreamFile file_;
  std::vector<uint8_t> bytes_;
};

const std::vector<std::string> kValues = {"{\"a\":1}", "[ 2 ]", "3"};

TEST_F(StreamFileReaderTest, ValuesOfJsonAreFollowedByCommas) {
  Store(StreamEncoding::kJson, kValues);
  const StreamChunk body = Read(kFirst);
  EXPECT_EQ(Text(body), "{\"a\":1},[ 2 ],3,");
  EXPECT_EQ(body.next, kFirst + 3);
  EXPECT_EQ(body.time_ms, 100u);
  EXPECT_EQ(Read(kFirst + 1).time_ms, 101u);
}

TEST_F(StreamFileReaderTest, SpacesThatFillUpPagesAreNotInABody) {
  const std::vector<std::string> records = {std::string(3000, '1'), std::string(3000, '2'),
                                            std::string(3000, '3')};
  Store(StreamEncoding::kJson, records);
  EXPECT_GT(Records().size(), 3 * 4096u - 1100u);
  EXPECT_EQ(Text(Read(kFirst, 20000)), records[0] + "," + records[1] + "," + records[2] + ",");
}

TEST_F(StreamFileReaderTest, TextsAndBytesFollowOneAnother) {
  Store(StreamEncoding::kText, {"\"a\\n\"", "\"\"", "\"\\u00e9\\ud83d\\ude00\""});
  EXPECT_EQ(Text(Read(kFirst)), "a\n\xC3\xA9\xF0\x9F\x98\x80");
  memory_.files.clear();
  changes_.clear();
  Store(StreamEncoding::kBytes, {"a\n", "", std::string(300, 'b')});
  EXPECT_EQ(Text(Read(kFirst)), "a\n" + std::string(300, 'b'));
}

TEST_F(StreamFileReaderTest, EveryPartOfAStreamCanBeRead) {
  std::vector<std::string> records;
  for (int i = 0; i < 100; ++i) records.push_back(std::to_string(i));
  Store(StreamEncoding::kJson, records);
  ASSERT_EQ(changes_[0].index.size(), 4 * 18u) << "the index is in its file and in memory";
  for (uint64_t from = 0; from < 100; ++from) {
    std::string expected;
    for (uint64_t i = from; i < 100; ++i) expected += records[i] + ",";
    const StreamChunk body = Read(kFirst + from);
    EXPECT_EQ(Text(body), expected);
    EXPECT_EQ(body.next, kFirst + 100);
  }
}

TEST_F(StreamFileReaderTest, ReadsAsManyRecordsAsFit) {
  Store(StreamEncoding::kBytes, std::vector<std::string>(50, std::string(100, 'x')));
  const StreamChunk body = Read(kFirst, 1000);
  EXPECT_EQ(body.size, (body.next - kFirst) * 100);
  EXPECT_GE(body.size, 1000u - 1000u / 8 - 108u);
}

TEST_F(StreamFileReaderTest, ReportsTheRoomThatTheFirstRecordNeeds) {
  Store(StreamEncoding::kBytes, {std::string(100, 'x'), std::string(500, 'y')});
  EXPECT_EQ(Read(kFirst, 107).needed, 108u);
  EXPECT_EQ(Read(kFirst, 107).next, kFirst);
  const StreamChunk first = Read(kFirst, 400);
  EXPECT_EQ(first.next, kFirst + 1);
  EXPECT_EQ(first.needed, 0u);
  EXPECT_EQ(Text(Read(kFirst + 1, 508)), std::string(500, 'y'));
}

TEST_F(StreamFileReaderTest, StoredRecordsComeWithTheirIndexEntries) {
  for (const StreamEncoding encoding : {StreamEncoding::kJson, StreamEncoding::kBytes}) {
    memory_.files.clear();
    changes_.clear();
    Store(encoding, std::vector<std::string>(100, std::string(30, '1')));
    const size_t record = file_.bytes / 100;
    for (const uint64_t from : {0u, 1u, 60u, 99u}) {
      const StreamChunk stored = Read(kFirst + from, 20000, RecordForm::kStored);
      EXPECT_EQ(stored.next, kFirst + 100);
      const auto begin = Records().begin() + static_cast<ptrdiff_t>(from * record);
      EXPECT_EQ(Text(stored), std::string(begin, Records().end()));
      // The first record of a file has no entry before its own.
      const uint64_t first = from == 0 ? 0 : from - 1;
      ASSERT_EQ(stored.entries.size(), (100 - first) * kIndexEntryBytes);
      for (uint64_t i = first; i < 100; ++i) {
        const uint8_t* const entry = stored.entries.data() + (i - first) * kIndexEntryBytes;
        EXPECT_EQ(Load48(entry), (i + 1) * record);
        EXPECT_EQ(Load48(entry + kIndexTimeAt), 100 + i);
        EXPECT_EQ(Load48(entry + kIndexPositionAt), 500 + i);
      }
    }
    const StreamChunk few = Read(kFirst + 10, 5 * record, RecordForm::kStored);
    EXPECT_EQ(few.size, (few.next - kFirst - 10) * record);
    EXPECT_EQ(few.entries.size(), (few.next - kFirst - 9) * kIndexEntryBytes);
  }
}

TEST_F(StreamFileReaderTest, ADamagedRecordIsReportedAfterTheRecordsBeforeIt) {
  for (const StreamEncoding encoding :
       {StreamEncoding::kJson, StreamEncoding::kText, StreamEncoding::kBytes}) {
    memory_.files.clear();
    changes_.clear();
    Store(encoding, std::vector<std::string>(20, "\"ab\""));
    const size_t record = file_.bytes / 20;
    for (const size_t at : {record - 1, 5 * record + 1, 6 * record - 1, 20 * record - 1}) {
      const uint8_t whole = Records()[at];
      // A newline within a line, another byte at its end, or a wrong byte of a frame.
      Records()[at] = whole == '\n' ? 'x' : '\n';
      const uint64_t damaged = kFirst + at / record;
      const StreamChunk before = Read(kFirst);
      EXPECT_EQ(before.next, damaged);
      EXPECT_EQ(before.problem, damaged == kFirst ? "the record is damaged" : "");
      const StreamChunk body = Read(damaged);
      EXPECT_EQ(body.next, damaged);
      EXPECT_EQ(body.problem, "the record is damaged");
      // The parser of the values finds a newline within a line.
      if (encoding == StreamEncoding::kBytes || whole == '\n') {
        EXPECT_EQ(Read(kFirst, 1000, RecordForm::kStored).next, damaged);
        EXPECT_EQ(Read(damaged, 1000, RecordForm::kStored).problem, "the record is damaged");
      }
      Records()[at] = whole;
    }
  }
}

TEST_F(StreamFileReaderTest, AReplacedRecordIsReportedIfTheWholeFileIsRead) {
  Store(StreamEncoding::kJson, kValues);
  Records()[Records().size() - 2] = '4';
  EXPECT_NE(Read(kFirst).problem.find("checksum"), std::string::npos);
  EXPECT_EQ(Read(kFirst).next, kFirst);
  EXPECT_EQ(Text(Read(kFirst + 2)), "4,");
}

TEST_F(StreamFileReaderTest, AMissingOrShortFileIsReported) {
  Store(StreamEncoding::kJson, std::vector<std::string>(20, "1"));
  Records().resize(11);
  EXPECT_EQ(Read(kFirst).next, kFirst + 5);
  EXPECT_EQ(Read(kFirst + 5).problem, "the file is too short");
  memory_.files.erase("s.jsonl");
  EXPECT_EQ(Read(kFirst).problem, "memory/s.jsonl is missing");
  memory_.files["s"]->resize(17);
  EXPECT_EQ(Read(kFirst).problem, "its index is too short");
  memory_.files.erase("s");
  EXPECT_EQ(Read(kFirst).problem, "memory/s is missing");
}

TEST_F(StreamFileReaderTest, ADamagedIndexIsReported) {
  Store(StreamEncoding::kJson, std::vector<std::string>(20, "1"));
  const MemoryBytes whole = *memory_.files["s"];
  for (const uint8_t byte : {uint8_t{0}, uint8_t{0xFF}}) {
    for (const size_t entry : {size_t{0}, size_t{4}}) {
      MemoryBytes& index = *memory_.files["s"];
      index = whole;
      std::fill_n(index.begin() + static_cast<std::ptrdiff_t>(entry * 18), 6, byte);
      EXPECT_EQ(Read(kFirst + entry).problem, "its index is damaged");
      if (entry > 0) {
        EXPECT_EQ(Read(kFirst).next, kFirst + entry);
      }
    }
  }
}

TEST_F(StreamFileReaderTest, RecordsThatTheFileCannotHaveAreReported) {
  Store(StreamEncoding::kJson, kValues);
  memory_.device.cached_bytes = 4096;
  const auto folder = std::move(memory_.OpenDirectory("memory", false).value());
  bytes_.assign(1000, '#');
  const auto problem = [&](uint64_t from, uint64_t to) {
    EXPECT_FALSE(ReadCached(*folder, *folder, file_, RecordForm::kBody, from, to, bytes_.data(),
                            bytes_.size())
                     .has_value());
    return StreamFileReader(*folder, *folder, file_, RecordForm::kBody, bytes_.data(),
                            bytes_.size())
        .Read(from, to)
        ->problem;
  };
  const std::string wrong = "its entry in the catalog is wrong";
  EXPECT_EQ(problem(kFirst - 1, kFirst + 1), wrong);
  EXPECT_EQ(problem(kFirst, kFirst + 4), wrong);
  EXPECT_EQ(problem(kFirst + 1, kFirst), wrong);
  file_.next = kFirst;
  EXPECT_EQ(problem(kFirst, kFirst), wrong);
}

TEST_F(StreamFileReaderTest, AnIndexThatPointsIntoALineIsReported) {
  for (const StreamEncoding encoding : {StreamEncoding::kJson, StreamEncoding::kBytes}) {
    memory_.files.clear();
    changes_.clear();
    Store(encoding, std::vector<std::string>(60, "123"));
    // The end of the record 4 is one byte too far.
    ++(*memory_.files["s"])[4 * 18];
    EXPECT_NE(Read(kFirst + 5).problem, "");
    EXPECT_EQ(Read(kFirst + 5).next, kFirst + 5);
    EXPECT_EQ(Read(kFirst + 6).problem, "");
  }
}

TEST_F(StreamFileReaderTest, ACachedReadReturnsAllRecordsOrNothing) {
  Store(StreamEncoding::kJson, std::vector<std::string>(100, "12"));
  bytes_.assign(1000, '#');
  const auto read = [this](size_t cached_bytes, uint64_t from, size_t room) {
    memory_.device.cached_bytes = cached_bytes;
    const auto folder = std::move(memory_.OpenDirectory("memory", false).value());
    return ReadCached(*folder, *folder, file_, RecordForm::kBody, from, file_.next, bytes_.data(),
                      room);
  };
  const std::optional<StreamChunk> body = read(4096, kFirst + 98, 1000);
  ASSERT_TRUE(body);
  EXPECT_EQ(Text(*body), "12,12,");
  EXPECT_EQ(body->next, kFirst + 100);
  EXPECT_EQ(body->time_ms, 198u);
  EXPECT_TRUE(read(4096, kFirst, 1000));
  EXPECT_FALSE(read(299, kFirst, 1000)) << "a byte of the records is not in memory";
  EXPECT_FALSE(read(0, kFirst, 1000)) << "the system cannot read without waiting";
  EXPECT_FALSE(read(4096, kFirst, 299)) << "the records do not fit";
  Records()[298] = 'x';
  Records()[299] = 'x';
  EXPECT_FALSE(read(4096, kFirst, 1000)) << "a record is damaged";
}

TEST_F(StreamFileReaderTest, ACachedReadIsOnlyMadeForFewBytes) {
  Store(StreamEncoding::kBytes, std::vector<std::string>(100, std::string(1000, 'x')));
  memory_.device.cached_bytes = 1 << 20;
  const auto folder = std::move(memory_.OpenDirectory("memory", false).value());
  bytes_.assign(200000, '#');
  const auto read = [&](uint64_t from) {
    return ReadCached(*folder, *folder, file_, RecordForm::kBody, from, file_.next, bytes_.data(),
                      bytes_.size());
  };
  EXPECT_TRUE(read(kFirst + 50));
  EXPECT_FALSE(read(kFirst));
}

TEST(DecodeJsonString, DecodesEveryEscape) {
  const auto decoded = [](std::string text) -> std::string {
    auto* const bytes = reinterpret_cast<uint8_t*>(text.data());
    uint8_t* const end = DecodeJsonString(bytes, bytes + text.size(), bytes);
    return end == nullptr ? "malformed" : text.substr(0, static_cast<size_t>(end - bytes));
  };
  EXPECT_EQ(decoded(R"("")"), "");
  EXPECT_EQ(decoded(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(decoded(R"("\u0041\u00E9\u20ac\uD83D\uDE00")"),
            "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(decoded(R"("\ud83d\ud83d\ude00\ude00")"), "\xEF\xBF\xBD\xF0\x9F\x98\x80\xEF\xBF\xBD");
  EXPECT_EQ(decoded(R"("\udc00\u0000")"), std::string("\xEF\xBF\xBD\0", 4));
  for (const char* malformed : {"", "\"", "1", "\"a", "a\"", "\"a\"b\"", "\"\\\"", "\"\\x\"",
                                "\"\\u12\"", "\"\\u12g4\"", "\"\n\"", "\"\\ud83d\\\""}) {
    EXPECT_EQ(decoded(malformed), "malformed") << malformed;
  }
}

}  // namespace
}  // namespace durlog
