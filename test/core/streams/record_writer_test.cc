#include "streams/record_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "memory_file_system.h"
#include "observed_file_system.h"
#include "streams/store_streams.h"

namespace durlog {
namespace {

constexpr uint64_t kPage = 4096;

struct Write {
  bool direct;
  uint64_t offset;
  uint64_t length;
};

class RecordWriterTest : public testing::Test {
 protected:
  // Writes lines of these lengths after `start` spaces.
  void WriteAfter(uint64_t start, const std::vector<size_t>& lengths) {
    writes_.clear();
    calls_.clear();
    ends_.clear();
    memory_.files["s.jsonl"] = std::make_shared<MemoryBytes>(start, uint8_t{' '});
    ObservedDirectory directory(
        std::move(memory_.OpenDirectory("memory", false).value()), "", 0,
        [this](const ObservedCall& call) {
          calls_.push_back(call.call);
          if (call.call == "write" || call.call == "write-direct") {
            writes_.push_back({call.call != "write", call.offset, call.length});
          }
          return Status::Ok();
        });
    lines_.clear();
    std::vector<StreamRecord> records;
    for (const size_t length : lengths) lines_.emplace_back(length, 'x');
    for (const std::string& line : lines_) {
      records.push_back({{reinterpret_cast<const uint8_t*>(line.data()), line.size()}, 1, 2});
    }
    AlignedBuffer scratch;
    StepLimit steps(UINT64_MAX);
    RecordWriter writer(directory, "s.jsonl", &scratch, &steps);
    const Result<bool> opened = writer.Open(start);
    ASSERT_TRUE(opened.ok() && *opened);
    uint32_t crc = 0;
    const Status written = writer.WriteLines(start, records.data(), records.size(), &crc, &ends_);
    ASSERT_TRUE(written.ok()) << written.message();
    content_.assign(memory_.files["s.jsonl"]->begin(), memory_.files["s.jsonl"]->end());
  }

  MemoryFileSystem memory_;
  std::vector<Write> writes_;
  std::vector<std::string> calls_;
  std::vector<uint64_t> ends_;
  std::vector<std::string> lines_;
  std::string content_;
};

std::vector<size_t> ManyLengths(size_t count, size_t least, size_t modulus) {
  std::vector<size_t> lengths;
  for (size_t i = 0; i < count; ++i) lengths.push_back(least + i % modulus);
  return lengths;
}

// A program that reads the file while it grows may see a part of a buffered write, which ends with
// a page.
TEST_F(RecordWriterTest, EveryPartOfAWriteThatIsVisibleEndsWithACompleteLineOrSpaces) {
  const std::vector<std::vector<size_t>> cases = {
      ManyLengths(500, 1, 200), {4094, 4095, 4096, 1, 4095}, {300000}, ManyLengths(3000, 100, 500)};
  for (const std::vector<size_t>& lengths : cases) {
    for (const uint64_t start :
         {uint64_t{0}, uint64_t{1}, uint64_t{100}, kPage - 1, kPage, 3 * kPage + 7}) {
      WriteAfter(start, lengths);
      uint64_t end = start;
      for (const Write& write : writes_) {
        ASSERT_EQ(write.offset, end);
        end += write.length;
        if (write.direct) {
          EXPECT_EQ(write.offset % kPage, 0u);
          EXPECT_EQ(write.length % kPage, 0u);
        }
      }
      ASSERT_EQ(content_.size(), end);
      ASSERT_EQ(ends_.size(), lines_.size());
      uint64_t from = start;
      for (size_t i = 0; i < lines_.size(); ++i) {
        const std::string line = content_.substr(from, ends_[i] - from);
        EXPECT_EQ(line.back(), '\n');
        const size_t first = line.find_first_not_of(' ');
        EXPECT_EQ(line.substr(first, line.find_last_not_of(" \n") + 1 - first), lines_[i]);
        from = ends_[i];
      }
      for (const Write& write : writes_) {
        uint64_t visible = write.direct ? write.offset + write.length : write.offset;
        do {
          visible = std::min(AlignDown(visible, kPage) + kPage, write.offset + write.length);
          const std::string_view bytes(content_.data(), visible);
          const size_t newline = bytes.rfind('\n');
          EXPECT_EQ(bytes.find_first_not_of(' ', newline == std::string::npos ? 0 : newline + 1),
                    std::string::npos);
        } while (visible < write.offset + write.length);
      }
    }
  }
}

TEST_F(RecordWriterTest, ShortLinesForSeveralPagesAreOneWrite) {
  WriteAfter(kPage - 1, ManyLengths(100, 250, 100));
  ASSERT_GT(content_.size(), 4 * kPage);
  EXPECT_EQ(writes_.size(), 1u);
}

// Otherwise a power cut could leave zeros in place of the spaces, before lines that are on the
// device.
TEST_F(RecordWriterTest, SpacesBeforeADirectWriteAreSyncedBeforeIt) {
  WriteAfter(kPage + 100, {5000, 300});
  const auto direct = std::find(calls_.begin(), calls_.end(), "write-direct");
  ASSERT_NE(direct, calls_.end());
  const auto padding = std::find(calls_.begin(), direct, "write");
  ASSERT_NE(padding, direct);
  EXPECT_NE(std::find(padding, direct, "sync-data"), direct);
  WriteAfter(kPage, {5000, 300});
  EXPECT_EQ(std::find(calls_.begin(), calls_.end(), "sync-data"), calls_.end());
}

TEST_F(RecordWriterTest, AFileOfAnotherLengthIsLeftAlone) {
  memory_.files["s.jsonl"] = std::make_shared<MemoryBytes>(10, uint8_t{'x'});
  const std::unique_ptr<Directory> directory =
      std::move(memory_.OpenDirectory("memory", false).value());
  AlignedBuffer scratch;
  StepLimit steps(UINT64_MAX);
  for (const uint64_t size : {uint64_t{0}, uint64_t{9}, uint64_t{11}}) {
    RecordWriter writer(*directory, "s.jsonl", &scratch, &steps);
    EXPECT_FALSE(*writer.Open(size));
  }
  RecordWriter missing(*directory, "other.jsonl", &scratch, &steps);
  EXPECT_FALSE(*missing.Open(1));
  EXPECT_EQ(memory_.files.count("other.jsonl"), 0u);
  EXPECT_EQ(steps.taken(), 0u);
}

// Lines of two pages to a file whose opening for direct writes fails with `refusal`.
Status WriteIfDirectOpenFails(MemoryFileSystem* memory, const Status& refusal) {
  memory->files["s.jsonl"] = std::make_shared<MemoryBytes>(kPage, uint8_t{' '});
  size_t opened = 0;
  ObservedDirectory directory(std::move(memory->OpenDirectory("memory", false).value()), "", 0,
                              [&](const ObservedCall& call) {
                                // The first open is for writes by the page cache.
                                if (call.call == "open" && ++opened > 1) return refusal;
                                return Status::Ok();
                              });
  const std::string line(2 * kPage, 'x');
  const StreamRecord record{{reinterpret_cast<const uint8_t*>(line.data()), line.size()}, 1, 2};
  AlignedBuffer scratch;
  StepLimit steps(UINT64_MAX);
  RecordWriter writer(directory, "s.jsonl", &scratch, &steps);
  EXPECT_TRUE(*writer.Open(kPage));
  uint32_t crc = 0;
  std::vector<uint64_t> ends;
  const Status written = writer.WriteLines(kPage, &record, 1, &crc, &ends);
  EXPECT_EQ(opened, 2u);
  return written;
}

TEST_F(RecordWriterTest, LinesAreStoredIfTheFileSystemHasNoDirectWrites) {
  const Status written =
      WriteIfDirectOpenFails(&memory_, Status::Error(Code::kUnsupported, "no direct I/O"));
  ASSERT_TRUE(written.ok()) << written.message();
  const MemoryBytes& stored = *memory_.files["s.jsonl"];
  EXPECT_EQ(std::count(stored.begin(), stored.end(), 'x'), std::ptrdiff_t{2 * kPage});
}

TEST_F(RecordWriterTest, AFailureToOpenTheFileForDirectWritesIsReported) {
  const Status written =
      WriteIfDirectOpenFails(&memory_, Status::Error(Code::kTooManyFiles, "no descriptor"));
  EXPECT_EQ(written.code(), Code::kTooManyFiles);
}

TEST_F(RecordWriterTest, AStreamWithoutAFileIsStored) {
  const std::unique_ptr<Directory> directory =
      std::move(memory_.OpenDirectory("memory", false).value());
  StepLimit steps(UINT64_MAX);
  std::vector<StreamChange> changes(1);
  changes[0].name = "s";
  changes[0].removes = true;
  changes[0].has_file = false;
  memory_.files["s.jsonl"] = std::make_shared<MemoryBytes>(10, uint8_t{'x'});
  StoreStreams(*directory, *directory, {}, true, &steps, &changes);
  EXPECT_TRUE(changes[0].stored);
  EXPECT_EQ(memory_.files.count("s.jsonl"), 0u);
}

}  // namespace
}  // namespace durlog
