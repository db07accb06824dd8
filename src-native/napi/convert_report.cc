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

Napi::Object FromSegmentReport(Napi::Env env, const SegmentReport& segment) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("name", segment.name);
  object.Set("bytes", FromSeq(env, segment.bytes));
  object.Set("firstSeq", FromSeq(env, segment.first_seq));
  object.Set("records", FromSeq(env, segment.records));
  object.Set("endOffset", FromSeq(env, segment.end_offset));
  object.Set("headerProblem", segment.header_problem);
  return object;
}

Napi::Object FromProblem(Napi::Env env, const Problem& problem) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("segment", problem.segment);
  object.Set("offset", FromSeq(env, problem.offset));
  object.Set("lostFirst", FromSeq(env, problem.lost_first));
  object.Set("lostLast", FromSeq(env, problem.lost_last));
  object.Set("message", problem.message);
  return object;
}

Napi::Object FromFrame(Napi::Env env, const FrameReport& frame) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("offset", FromSeq(env, frame.offset));
  object.Set("bytes", FromSeq(env, frame.bytes));
  object.Set("kind", KindOf(frame));
  object.Set("seq", FromSeq(env, frame.fields.seq));
  object.Set("length", Napi::Number::New(env, frame.fields.length));
  object.Set("unsynced", Napi::Number::New(env, frame.fields.unsynced));
  object.Set("timestamp", FromSeq(env, frame.time_ms));
  object.Set("batchContinues", frame.fields.batch_continues);
  const bool damaged = frame.status != DecodeStatus::kWhole && frame.status != DecodeStatus::kFree;
  object.Set("problem", damaged ? DescribeDecodeStatus(frame.status) : "");
  return object;
}

Napi::Object FromCut(Napi::Env env, const Cut& cut) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("segment", cut.name);
  object.Set("offset", FromSeq(env, cut.offset));
  object.Set("bytes", FromSeq(env, cut.bytes));
  object.Set("removed", cut.remove);
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

Napi::Object FromCuts(Napi::Env env, const CutsSince& cuts) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("uuid", FormatUuid(cuts.uuid));
  object.Set("generation", FromSeq(env, cuts.generation));
  object.Set("lowest", FromSeq(env, cuts.lowest));
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
  object.Set("segments", FromList(env, report.segments, FromSegmentReport));
  object.Set("problems", FromList(env, report.problems, FromProblem));
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
  if (extent.copy_bytes > 0) {
    object.Set("copy", Napi::Buffer<uint8_t>::Copy(env, extent.copy.data(), extent.copy_bytes));
  }
  return object;
}

Napi::Array FromFrames(Napi::Env env, const std::vector<FrameReport>& frames) {
  return FromList(env, frames, FromFrame);
}

Napi::Object FromRepair(Napi::Env env, const RepairReport& report, const std::string& backup) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("state", NameOf(kRecoveryStates, report.state));
  object.Set("applied", report.applied);
  object.Set("cuts", FromList(env, report.cuts, FromCut));
  object.Set("backup", backup);
  return object;
}

}  // namespace durlog
