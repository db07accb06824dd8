#include "log/write_policy.h"

#include "base/aligned_buffer.h"

namespace durlog {
namespace {

const char* NoDirectReason(const Capabilities& capabilities) {
  return capabilities.direct_alignment > AlignedBuffer::kAlignment
             ? "the device's blocks are too large for direct I/O"
             : "the file system refuses direct I/O";
}

std::string NoMapReason(const Capabilities& capabilities) {
  if (!capabilities.overwrites_in_place) {
    return "a store to a map can fail on " + capabilities.file_system +
           ", which does not overwrite in place: pwrite instead";
  }
  return "a store to a map that meets an I/O error ends the process on this system: pwrite instead";
}

}  // namespace

WritePolicy::WritePolicy(const LogOptions& options, const Capabilities& capabilities)
    : auto_mode_(options.strategy == Strategy::kAuto),
      auto_preallocation_(options.preallocation_auto),
      preallocation_(options.preallocation),
      overwrites_in_place_(capabilities.overwrites_in_place),
      direct_io_(capabilities.direct_io),
      full_pull_(options.map_after_records),
      can_map_(capabilities.overwrites_in_place && capabilities.survives_map_faults) {
  ChooseFirstMode(options, capabilities);
  pull_ = full_pull_;
}

void WritePolicy::ChooseFirstMode(const LogOptions& options, const Capabilities& capabilities) {
  switch (options.strategy) {
    case Strategy::kMmap:
      first_mode_ = can_map_ ? WriteMode::kMmap : WriteMode::kPwrite;
      reason_ = can_map_ ? "asked for" : NoMapReason(capabilities);
      return;
    case Strategy::kPwrite:
      first_mode_ = WriteMode::kPwrite;
      reason_ = "asked for";
      return;
    case Strategy::kDirect:
      first_mode_ = direct_io_ ? WriteMode::kDirect : WriteMode::kPwrite;
      reason_ =
          direct_io_ ? "asked for" : std::string(NoDirectReason(capabilities)) + ": pwrite instead";
      return;
    case Strategy::kAuto: break;
  }
  if (!overwrites_in_place_) {
    reason_ = capabilities.file_system +
              " does not overwrite in place: a written extent saves nothing, pwrite + fdatasync";
  } else if (!can_map_) {
    // Records wanted in memory would wait for the device in direct mode.
    reason_ = NoMapReason(capabilities);
  } else if (!direct_io_) {
    first_mode_ = WriteMode::kMmap;
    reason_ = std::string(NoDirectReason(capabilities)) + ": mapped, msync for sync";
  } else if (options.expected_level < Level::kSync) {
    first_mode_ = WriteMode::kMmap;
    reason_ = "mapped while records are wanted in memory, direct once they are only synced";
  } else {
    first_mode_ = WriteMode::kDirect;
    reason_ = "direct while every record is synced, mapped once records are wanted in memory";
  }
}

void WritePolicy::RefuseMap() {
  can_map_ = false;
  reason_ = "the file system cannot preallocate, so a store to a map could fail: pwrite instead";
}

Preallocation WritePolicy::SparePreallocation() const {
  if (!auto_preallocation_) return preallocation_;
  return overwrites_in_place_ ? Preallocation::kFallocate : Preallocation::kNone;
}

bool WritePolicy::Recycles(WriteMode mode) const {
  if (!overwrites_in_place_) return false;
  if (!auto_preallocation_) return false;
  // A buffered write creates new pages in the cache, whatever the file holds.
  return mode != WriteMode::kPwrite;
}

}  // namespace durlog
