#include "cut.h"

#include <algorithm>
#include <random>
#include <sstream>
#include <stdexcept>

namespace powercut {
namespace {

// The share of the unflushed writes that survives. Each mood finds damage that the others rarely
// cause: for a hole, most pieces survive and one is lost; for a reordering, the reverse.
enum class Mood {
  kFew,
  kHalf,
  kMost,
  kAllButOne,
  kOnlyOne,
  kInOrder,  // everything up to some piece, nothing after it: a torn tail
  kCount,
};

using Random = std::mt19937_64;

uint64_t Below(Random& random, uint64_t limit) { return limit == 0 ? 0 : random() % limit; }

struct Piece {
  const DiskOp* op;
  uint64_t begin;
  uint64_t end;
};

// The pieces that reach the medium independently. Some writes are kept whole even if the sector is
// smaller: a drive tears at the edges of requests more often than within them.
std::vector<Piece> PiecesOf(const Recording& recording, const Cut& cut, Random& random) {
  std::vector<Piece> pieces;
  const bool all_whole = Below(random, 3) == 0;
  for (uint64_t i = recording.DurableAt(cut.index); i < cut.index; ++i) {
    const DiskOp& op = recording.ops[i];
    const uint64_t op_end = op.offset + op.length;
    // A discard of half a disk is one piece, not a million.
    if (all_whole || op.kind == OpKind::kZero || Below(random, 4) == 0) {
      pieces.push_back({&op, op.offset, op_end});
      continue;
    }
    for (uint64_t begin = op.offset; begin < op_end;) {
      const uint64_t end = std::min(op_end, (begin / cut.sector_bytes + 1) * cut.sector_bytes);
      pieces.push_back({&op, begin, end});
      begin = end;
    }
  }
  return pieces;
}

bool Survives(Mood mood, uint64_t piece, uint64_t chosen, Random& random) {
  switch (mood) {
    case Mood::kFew: return Below(random, 10) == 0;
    case Mood::kHalf: return Below(random, 2) == 0;
    case Mood::kMost: return Below(random, 10) != 0;
    case Mood::kAllButOne: return piece != chosen;
    case Mood::kOnlyOne: return piece == chosen;
    case Mood::kInOrder: return piece < chosen;
    case Mood::kCount: break;
  }
  return false;
}

// The stretches between flushes, each as the index after its last operation: the flush that ends
// it, or the end of the recording. A cut at that index with no survivors leaves the disk of the
// previous flush, and it must hold everything acknowledged since.
std::vector<uint64_t> StretchEnds(const Recording& recording) {
  std::vector<uint64_t> ends;
  for (uint64_t i = recording.begin; i < recording.end; ++i) {
    if (recording.ops[i].kind == OpKind::kFlush) ends.push_back(i);
  }
  ends.push_back(recording.end);
  return ends;
}

}  // namespace

std::string Cut::ToString() const {
  return std::to_string(index) + ":" + std::to_string(sector_bytes) + ":" + std::to_string(seed);
}

Cut Cut::Parse(const std::string& text) {
  std::istringstream in(text);
  Cut cut = {};
  char colon1 = 0;
  char colon2 = 0;
  in >> cut.index >> colon1 >> cut.sector_bytes >> colon2 >> cut.seed;
  if (in.fail() || colon1 != ':' || colon2 != ':') {
    throw std::runtime_error("a cut is <index>:<sector bytes>:<seed>, not " + text);
  }
  return cut;
}

void ForEachSurvivor(const Recording& recording, const Cut& cut,
                     const std::function<void(const DiskOp&, uint64_t, uint64_t)>& survivor) {
  if (cut.sector_bytes == 0) return;
  Random random(cut.seed);
  const std::vector<Piece> pieces = PiecesOf(recording, cut, random);
  const auto mood = static_cast<Mood>(Below(random, static_cast<uint64_t>(Mood::kCount)));
  const uint64_t chosen = Below(random, pieces.size());
  for (uint64_t i = 0; i < pieces.size(); ++i) {
    if (!Survives(mood, i, chosen, random)) continue;
    survivor(*pieces[i].op, pieces[i].begin, pieces[i].end);
  }
}

std::vector<Cut> PlanCuts(const Recording& recording, const PlanOptions& options) {
  Random random(options.seed);
  std::vector<uint64_t> ends = StretchEnds(recording);
  std::shuffle(ends.begin(), ends.end(), random);
  std::vector<Cut> cuts;
  for (uint64_t i = 0; i < ends.size() && i < options.at_flush_limit; ++i) {
    cuts.push_back({ends[i], 0, 0});
  }
  const uint64_t between_count = recording.end > recording.begin ? options.between_count : 0;
  for (uint64_t i = 0; i < between_count; ++i) {
    const uint32_t sector_bytes = options.sectors_bytes[i % options.sectors_bytes.size()];
    // Half of the cuts are anywhere, and half are spread evenly over the stretches: one journal
    // commit can contain more writes than all the appends before and after it.
    uint64_t index = recording.begin + 1 + Below(random, recording.end - recording.begin);
    if (Below(random, 2) == 0) {
      const uint64_t end = ends[Below(random, ends.size())];
      const uint64_t begin = std::max(recording.begin, recording.DurableAt(end));
      index = end - Below(random, end > begin ? end - begin : 1);
    }
    cuts.push_back({index, sector_bytes, random()});
  }
  std::stable_sort(cuts.begin(), cuts.end(),
                   [](const Cut& a, const Cut& b) { return a.index < b.index; });
  return cuts;
}

}  // namespace powercut
