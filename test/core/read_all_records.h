// Everything that a log on the disk delivers, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "read/log_reader.h"

namespace durlog {

struct ReadRecord {
  uint64_t seq;
  std::string payload;
  uint64_t time_ms;
  uint64_t base_time_ms;  // of its segment
};

// Every record from `from` on, by a reader; voids take seqs and have none.
inline std::vector<ReadRecord> ReadAllRecords(const std::string& path, uint64_t from) {
  std::vector<ReadRecord> records;
  Result<std::unique_ptr<LogReader>> reader = LogReader::Open(DefaultFileSystem(), path, from);
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  std::vector<uint8_t> buffer(64 << 10);
  std::vector<ReadEntry> entries(256);
  while (reader.ok()) {
    const Result<ReadBatch> batch =
        (*reader)->Next(buffer.data(), buffer.size(), entries.data(), 256, LogReader::kNoLimit);
    EXPECT_TRUE(batch.ok()) << batch.status().message();
    if (!batch.ok() || batch->count == 0) break;
    for (size_t i = 0; i < batch->count; ++i) {
      const uint8_t* const at = buffer.data() + entries[i].offset;
      records.push_back({batch->first_seq + i, std::string(at, at + entries[i].length),
                         batch->base_time_ms + entries[i].time_ms, batch->base_time_ms});
    }
  }
  return records;
}

}  // namespace durlog
