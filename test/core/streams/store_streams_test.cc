#include "streams/store_streams.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "memory_file_system.h"
#include "observed_file_system.h"

namespace durlog {
namespace {

using Calls = std::vector<std::string>;

// The writes and syncs of a job that adds 16 records, a full block of the index, to a new stream.
Calls StoreOneStream(bool sync) {
  MemoryFileSystem memory;
  Calls calls;
  const auto observed = [&calls](const ObservedCall& call) {
    if (call.call == "write" || call.call == "start-writeback" || call.call == "sync-data") {
      calls.push_back(call.call + " " + call.name + " " + std::to_string(call.offset) + " " +
                      std::to_string(call.length));
    }
    return Status::Ok();
  };
  ObservedDirectory records_folder(std::move(memory.OpenDirectory("memory", false).value()), "", 0,
                                   observed);
  ObservedDirectory index_folder(std::move(memory.OpenDirectory("memory", false).value()), "", 0,
                                 observed);
  const std::string line = "[1]";
  const StreamRecord record{{reinterpret_cast<const uint8_t*>(line.data()), line.size()}, 1, 2};
  const std::vector<StreamRecord> records(16, record);
  std::vector<StreamChange> changes(1);
  changes[0].name = "s";
  changes[0].record_count = records.size();
  StepLimit steps(UINT64_MAX);
  StoreStreams(records_folder, index_folder, records, sync, &steps, &changes);
  EXPECT_TRUE(changes[0].stored);
  return calls;
}

TEST(StoreStreams, SyncsEachFileThatItHasWritten) {
  EXPECT_EQ(StoreOneStream(true), (Calls{"write s.jsonl 0 64", "sync-data s.jsonl 0 0",
                                         "write s 0 288", "sync-data s 0 0"}));
}

// The sync of the file system that follows would otherwise write all files one after the other. An
// index has few bytes, whose writeback would take more processor time than it saves.
TEST(StoreStreams, StartsTheWritebackOfEachStreamFileThatItDoesNotSync) {
  EXPECT_EQ(StoreOneStream(false),
            (Calls{"write s.jsonl 0 64", "start-writeback s.jsonl 0 64", "write s 0 288"}));
}

}  // namespace
}  // namespace durlog
