#include "napi/convert.h"
#include "napi/convert_names.h"

namespace durlog {
namespace {

constexpr Names<WriteMode, 3> kModes{
    {{"mmap", WriteMode::kMmap}, {"pwrite", WriteMode::kPwrite}, {"direct", WriteMode::kDirect}}};

constexpr Names<RecoveryState, 4> kRecoveryStates{{{"clean", RecoveryState::kClean},
                                                   {"torn-tail", RecoveryState::kTornTail},
                                                   {"hole", RecoveryState::kHole},
                                                   {"corrupt", RecoveryState::kCorrupt}}};

const char* KindOf(const FrameReport& frame) {
  if (frame.status == DecodeStatus::kFree) return "free";
  if (frame.status != DecodeStatus::kWhole) return "damaged";
  switch (frame.fields.state) {
    case FrameState::kPadding: return "padding";
    case FrameState::kMarker: return "marker";
    case FrameState::kVoid: return "void";
    default: return "record";
  }
}

Napi::Object FromHistogram(Napi::Env env, const Histogram& histogram) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("count", FromSeq(env, histogram.count()));
  object.Set("p50", FromSeq(env, histogram.Percentile(500)));
  object.Set("p90", FromSeq(env, histogram.Percentile(900)));
  object.Set("p99", FromSeq(env, histogram.Percentile(990)));
  object.Set("max", FromSeq(env, histogram.max()));
  return object;
}

Napi::Object FromDistribution(Napi::Env env, const Distribution& distribution) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("all", FromHistogram(env, distribution.all));
  object.Set("lastMinute", FromHistogram(env, distribution.last_minute));
  return object;
}

}  // namespace

Napi::Object FromRecovery(Napi::Env env, const RecoveryReport& report) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("state", NameOf(kRecoveryStates, report.state));
  object.Set("scannedFrom", FromSeq(env, report.scanned_from));
  object.Set("scannedBytes", FromSeq(env, report.scanned_bytes));
  object.Set("discardedBytes", FromSeq(env, report.discarded_bytes));
  object.Set("discardedRecords", FromSeq(env, report.discarded_records));
  object.Set("segment", report.segment);
  object.Set("offset",
             report.segment.empty() ? Napi::Number::New(env, -1) : FromSeq(env, report.offset));
  object.Set("lostFirst", FromSeq(env, report.lost_first));
  object.Set("lostLast", FromSeq(env, report.lost_last));
  return object;
}

Napi::Object FromStats(Napi::Env env, const LogStats& stats) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("strategy", NameOf(kStrategies, stats.strategy));
  object.Set("mode", NameOf(kModes, stats.mode));
  object.Set("preallocate", NameOf(kPreallocations, stats.preallocated));
  object.Set("fileSystem", stats.file_system);
  object.Set("reason", stats.reason);
  object.Set("segments", FromSeq(env, stats.segments));
  object.Set("segmentBytes", FromSeq(env, stats.segment_bytes));
  object.Set("rotations", FromSeq(env, stats.rotations));
  object.Set("commits", FromSeq(env, stats.commits));
  object.Set("committedRecords", FromSeq(env, stats.committed_records));
  object.Set("committedBytes", FromSeq(env, stats.committed_bytes));
  object.Set("modeSwitches", FromSeq(env, stats.mode_switches));
  object.Set("recycled", FromSeq(env, stats.recycled));
  object.Set("appendedRecords", FromSeq(env, stats.appended_records));
  object.Set("appendedBytes", FromSeq(env, stats.appended_bytes));
  object.Set("trimmedRecords", FromSeq(env, stats.trimmed_records));
  object.Set("trimmedBytes", FromSeq(env, stats.trimmed_bytes));
  object.Set("lastCommitMs", FromSeq(env, stats.last_commit_ms));
  object.Set("commitMicros", FromDistribution(env, stats.commit_micros));
  object.Set("commitRecords", FromDistribution(env, stats.commit_records));
  return object;
}

Napi::Number FromGeneration(Napi::Env env, const CutsSince& cuts) {
  return cuts.generation ? FromSeq(env, *cuts.generation) : Napi::Number::New(env, -1);
}

Napi::Object FromCuts(Napi::Env env, const CutsSince& cuts) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("uuid", FormatUuid(cuts.uuid));
  object.Set("generation", FromGeneration(env, cuts));
  object.Set("lowest", cuts.lowest ? FromSeq(env, *cuts.lowest) : Napi::Number::New(env, -1));
  return object;
}

Napi::Object FromBounds(Napi::Env env, const LogBounds& bounds) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("firstSeq", FromSeq(env, bounds.first_seq));
  object.Set("nextSeq", FromSeq(env, bounds.next_seq));
  object.Set("syncedEnd", FromSeq(env, bounds.synced_end));
  object.Set("uuid", FormatUuid(bounds.uuid));
  return object;
}

Napi::Object FromVerify(Napi::Env env, const VerifyReport& report) {
  Napi::Object object = FromBounds(env, report.bounds);
  object.Set("state", NameOf(kRecoveryStates, report.state));
  object.Set("records", FromSeq(env, report.records));
  object.Set("payloadBytes", FromSeq(env, report.payload_bytes));
  Napi::Array segments = Napi::Array::New(env);
  for (const SegmentReport& segment : report.segments) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("name", segment.name);
    entry.Set("bytes", FromSeq(env, segment.bytes));
    entry.Set("firstSeq", FromSeq(env, segment.first_seq));
    entry.Set("records", FromSeq(env, segment.records));
    entry.Set("endOffset", FromSeq(env, segment.end_offset));
    entry.Set("headerProblem", segment.header_problem);
    segments.Set(segments.Length(), entry);
  }
  object.Set("segments", segments);
  Napi::Array problems = Napi::Array::New(env);
  for (const Problem& problem : report.problems) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("segment", problem.segment);
    entry.Set("offset", FromSeq(env, problem.offset));
    entry.Set("lostFirst", FromSeq(env, problem.lost_first));
    entry.Set("lostLast", FromSeq(env, problem.lost_last));
    entry.Set("message", problem.message);
    problems.Set(problems.Length(), entry);
  }
  object.Set("problems", problems);
  return object;
}

Napi::Object FromExtent(Napi::Env env, const SegmentExtent& extent) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("beginOffset", FromSeq(env, extent.begin_offset));
  object.Set("endOffset", FromSeq(env, extent.end_offset));
  object.Set("nextSeq", FromSeq(env, extent.next_seq));
  object.Set("records", FromSeq(env, extent.records));
  object.Set("oldestMs", FromSeq(env, extent.oldest_ms));
  object.Set("newestMs", FromSeq(env, extent.newest_ms));
  return object;
}

Napi::Array FromFrames(Napi::Env env, const std::vector<FrameReport>& frames) {
  Napi::Array array = Napi::Array::New(env, frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    const FrameReport& frame = frames[i];
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("offset", FromSeq(env, frame.offset));
    entry.Set("bytes", FromSeq(env, frame.bytes));
    entry.Set("kind", KindOf(frame));
    entry.Set("seq", FromSeq(env, frame.fields.seq));
    entry.Set("length", Napi::Number::New(env, frame.fields.length));
    entry.Set("unsynced", Napi::Number::New(env, frame.fields.unsynced));
    entry.Set("timestamp", FromSeq(env, frame.time_ms));
    entry.Set("batchContinues", Napi::Boolean::New(env, frame.fields.batch_continues));
    const bool damaged =
        frame.status != DecodeStatus::kWhole && frame.status != DecodeStatus::kFree;
    entry.Set("problem", damaged ? DescribeDecodeStatus(frame.status) : "");
    array.Set(static_cast<uint32_t>(i), entry);
  }
  return array;
}

Napi::Object FromRepair(Napi::Env env, const RepairReport& report, const std::string& backup) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("state", NameOf(kRecoveryStates, report.state));
  object.Set("applied", Napi::Boolean::New(env, report.applied));
  Napi::Array cuts = Napi::Array::New(env);
  for (const Cut& cut : report.cuts) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("segment", cut.name);
    entry.Set("offset", FromSeq(env, cut.offset));
    entry.Set("bytes", FromSeq(env, cut.bytes));
    entry.Set("removed", Napi::Boolean::New(env, cut.remove));
    cuts.Set(cuts.Length(), entry);
  }
  object.Set("cuts", cuts);
  object.Set("backup", backup);
  return object;
}

}  // namespace durlog
