// The loop that measures all methods, so that they are timed in the same way.
#pragma once

#include <cerrno>
#include <cstdint>
#include <vector>

#include "bench/baseline.h"
#include "bench/clock.h"
#include "bench/record_pattern.h"
#include "bench/scratch_file.h"

namespace durlog::bench {

// A Writer has:
//   explicit Writer(const Spec&)
//   Status Open()                        opens the prepared file, at its start
//   bool HasRoom(uint64_t records)       within spec.file_bytes
//   int Append(const uint8_t* record)    0 or errno; spec.record_bytes long
//   int Sync()                           0 or errno
//   Status Close()                       hands over what it holds
template <class Writer>
class Looped final : public Baseline {
 public:
  explicit Looped(const Spec& spec)
      : spec_(spec), record_(MakeRecord(spec.record_bytes, spec.writer)), writer_(spec) {}

  Status Prepare() override {
    if (!spec_.shared) {
      DURLOG_RETURN_IF_ERROR(PrepareFile(spec_.path, spec_.preallocate, spec_.file_bytes));
    }
    return writer_.Open();
  }

  Status Run(uint64_t samples, double* latency_us) override {
    for (uint64_t i = 0; i < samples; ++i) {
      if (!writer_.HasRoom(spec_.records_per_sample)) DURLOG_RETURN_IF_ERROR(Restart());
      const uint64_t start = NowNanos();
      int error = AppendSample();
      if (error == 0 && spec_.sync_every == 0 && i + 1 == samples) error = writer_.Sync();
      const uint64_t nanos = NowNanos() - start;
      if (error != 0) return Status::System("append", error, spec_.path);
      latency_us[i] =
          static_cast<double>(nanos) / 1000.0 / static_cast<double>(spec_.records_per_sample);
    }
    return Status::Ok();
  }

  Status Finish() override { return writer_.Close(); }

 private:
  int AppendSample() {
    for (uint64_t i = 0; i < spec_.records_per_sample; ++i) {
      StampRecord(record_.data(), spec_.record_bytes, counter_++);
      int error = writer_.Append(record_.data());
      if (error == 0 && spec_.sync_every != 0 && ++unsynced_ == spec_.sync_every) {
        unsynced_ = 0;
        error = writer_.Sync();
      }
      if (error != 0) return error;
    }
    return 0;
  }

  Status Restart() {
    if (spec_.shared) return Status::System("append", ENOSPC, spec_.path);
    DURLOG_RETURN_IF_ERROR(writer_.Close());
    if (!SurvivesOverwrite(spec_.preallocate)) {
      DURLOG_RETURN_IF_ERROR(PrepareFile(spec_.path, spec_.preallocate, spec_.file_bytes));
    }
    counter_ = 0;
    return writer_.Open();
  }

  const Spec spec_;
  std::vector<uint8_t> record_;
  Writer writer_;
  uint64_t counter_ = 0;
  uint64_t unsynced_ = 0;
};

}  // namespace durlog::bench
