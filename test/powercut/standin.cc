// The stand-in's two programs: `standin workload` and `standin verify`, each with the option of
// being broken. Notes: "acked <n>": the records below n are durable. "trimming <n>", "trimmed <n>":
// the segments wholly below n are being, have been removed. "kept <n>": recovery kept the records
// below n and discarded all others for good. "again <n>": as acked, appended after recovery.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <sstream>

#include "standin_log.h"

namespace powercut {
namespace {

constexpr int kGroups = 70;
constexpr uint64_t kGroupRecordsMax = 16;
constexpr uint64_t kSegmentsKept = 3;
constexpr uint64_t kAppendedAfterRecovery = 3;

void TrimOldest(StandinLog& log) {
  const std::vector<uint64_t> segments = log.Segments();
  if (segments.size() <= kSegmentsKept) return;
  const std::string upto = std::to_string(segments[1]);
  WriteNote("trimming " + upto);
  log.Remove(segments[0]);
  log.SyncDirectory();
  WriteNote("trimmed " + upto);
}

class StandinWorkload {
 public:
  explicit StandinWorkload(Break broken)
      : random_(std::stoull(std::getenv("POWERCUT_SEED"))),
        log_(std::getenv("POWERCUT_DIR"), broken),
        broken_(broken) {}

  int Run() {
    for (int group = 0; group < kGroups; ++group) {
      const uint64_t end = next_ + 1 + random_() % kGroupRecordsMax;
      if (random_() % 4 == 0 && next_ / kSlotsPerSegment == (end - 1) / kSlotsPerSegment) {
        AppendFirstLast(end);
      } else {
        while (next_ < end) AppendNext();
      }
      Acknowledge();
    }
    return 0;
  }

 private:
  void AppendNext() {
    const uint64_t slot = next_ % kSlotsPerSegment;
    if (slot == 0) {
      if (next_ > 0) log_.Sync();
      log_.Roll(next_);
      TrimOldest(log_);
    }
    if (slot == kSlotsPerSegment / 2) log_.MakeSpare();
    log_.Append(MakeRecord(next_++, 1));
    if (random_() % 8 == 0) log_.StartWriteback();
  }

  // As if several writers had reserved their slots, and the first of them came last: a cut between
  // the two syncs leaves a hole, whatever the file system.
  void AppendFirstLast(uint64_t end) {
    if (next_ % kSlotsPerSegment == 0) AppendNext();
    const uint64_t first = next_;
    for (uint64_t seq = first + 1; seq < end; ++seq) log_.Append(MakeRecord(seq, 1));
    log_.Sync();
    for (; next_ < end; ++next_) log_.Append(MakeRecord(next_, 1));
  }

  void Acknowledge() {
    const std::string note = "acked " + std::to_string(next_);
    if (broken_ == Break::kAckBeforeSync) WriteNote(note);
    log_.Sync();
    if (broken_ != Break::kAckBeforeSync) WriteNote(note);
  }

  std::mt19937_64 random_;
  StandinLog log_;
  Break broken_;
  uint64_t next_ = 0;
};

// What the notes before a cut promise: the highest number of each kind.
using Promises = std::map<std::string, uint64_t>;

void AddPromise(const std::string& line, Promises& promises) {
  std::istringstream in(line);
  std::string kind;
  uint64_t number = 0;
  in >> kind >> number;
  promises[kind] = std::max(promises[kind], number);
}

class StandinVerifier {
 public:
  explicit StandinVerifier(Break broken) : broken_(broken) {
    std::ifstream recorded(std::getenv("POWERCUT_RECORDED"));
    for (std::string line; std::getline(recorded, line);) recorded_.push_back(line);
  }

  int Run() {
    for (std::string line; std::getline(std::cin, line);) {
      std::istringstream in(line);
      std::string verb;
      uint64_t cut = 0;
      size_t notes = 0;
      size_t again_notes = 0;
      std::string directory;
      in >> verb >> cut >> notes >> again_notes >> std::ws;
      std::getline(in, directory);
      Promises promises;
      for (size_t i = 0; i < notes; ++i) AddPromise(recorded_.at(i), promises);
      for (size_t i = 0; i < again_notes; ++i) {
        std::getline(std::cin, line);
        AddPromise(line, promises);
      }
      std::cout << Check(directory, cut, promises) << std::endl;
    }
    return 0;
  }

 private:
  // The answer: "ok <what recovery found>" or "violation <text>".
  std::string Check(const std::string& directory, uint64_t cut, Promises& promises) const {
    StandinLog log(directory, broken_);
    const std::vector<uint64_t> segments = log.Segments();
    uint64_t next = segments.empty() ? 0 : segments[0];
    if (!segments.empty() && next + kSlotsPerSegment <= promises["trimmed"]) {
      return "violation trimmed segment " + std::to_string(next) + " is back";
    }
    if (next > promises["trimming"]) {
      return "violation the segments before " + std::to_string(next) + " are lost";
    }
    for (const uint64_t first_seq : segments) {
      if (first_seq != next) break;
      ReadOn(log, next);
      if (ReadBack(log, first_seq, next, promises)) {
        return "violation a discarded record below " + std::to_string(next) + " is back";
      }
    }
    const uint64_t promised = std::max({promises["acked"], promises["kept"], promises["again"]});
    if (next < promised) {
      return "violation record " + std::to_string(next) +
             " is lost, acknowledged are those below " + std::to_string(promised);
    }
    const bool hole = HasWholeRecordBehind(log, segments, next);
    RecoverAndAppend(log, segments, next, cut + 1);
    return hole ? "ok hole" : "ok clean";
  }

  // Reads the segment that starts at `next`, and moves `next` behind its last whole record.
  static void ReadOn(const StandinLog& log, uint64_t& next) {
    for (const StandinRecord& record : log.ReadSegment(next)) {
      if (!IsWhole(record, next)) break;
      ++next;
    }
  }

  // Whether one of the segment's records below `next` had been discarded by the first recovery.
  static bool ReadBack(const StandinLog& log, uint64_t first_seq, uint64_t next,
                       const Promises& promises) {
    const auto kept = promises.find("kept");
    if (kept == promises.end()) return false;
    uint64_t seq = first_seq;
    for (const StandinRecord& record : log.ReadSegment(first_seq)) {
      if (seq < next && seq >= kept->second && record.generation == 1) return true;
      ++seq;
    }
    return false;
  }

  static bool HasWholeRecordBehind(const StandinLog& log, const std::vector<uint64_t>& segments,
                                   uint64_t next) {
    for (const uint64_t first_seq : segments) {
      uint64_t seq = first_seq;
      for (const StandinRecord& record : log.ReadSegment(first_seq)) {
        if (seq > next && IsWhole(record, seq)) return true;
        ++seq;
      }
    }
    return false;
  }

  // Discards what is behind the first gap, for good, and appends.
  static void RecoverAndAppend(StandinLog& log, const std::vector<uint64_t>& segments,
                               uint64_t next, uint64_t generation) {
    bool at_segment_end = true;
    for (const uint64_t first_seq : segments) {
      if (first_seq > next || (first_seq == next && next % kSlotsPerSegment != 0)) {
        log.Remove(first_seq);
      } else if (next < first_seq + kSlotsPerSegment) {
        log.Continue(first_seq);
        log.Invalidate(next);
        log.Sync();
        at_segment_end = false;
      }
    }
    log.SyncDirectory();
    WriteNote("kept " + std::to_string(next));
    for (uint64_t i = 0; i < kAppendedAfterRecovery; ++i) {
      if (at_segment_end || (next % kSlotsPerSegment == 0 && i > 0)) log.Roll(next);
      at_segment_end = false;
      log.Append(MakeRecord(next++, generation));
      log.Sync();
      WriteNote("again " + std::to_string(next));
    }
  }

  Break broken_;
  std::vector<std::string> recorded_;
};

Break BreakNamed(const std::string& name) {
  if (name == "nothing") return Break::kNothing;
  if (name == "ack-before-sync") return Break::kAckBeforeSync;
  if (name == "no-directory-sync") return Break::kNoDirectorySync;
  if (name == "no-invalidation") return Break::kNoInvalidation;
  throw std::runtime_error("cannot break " + name);
}

int Main(int argc, char** argv) {
  if (argc != 3) throw std::runtime_error("usage: standin workload|verify <what is broken>");
  const std::string verb = argv[1];
  const Break broken = BreakNamed(argv[2]);
  return verb == "workload" ? StandinWorkload(broken).Run() : StandinVerifier(broken).Run();
}

}  // namespace
}  // namespace powercut

int main(int argc, char** argv) {
  try {
    return powercut::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "standin: " << error.what() << '\n';
    return 2;
  }
}
