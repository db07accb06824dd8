#include "segment/synced_slot.h"

#include "record/segment_header.h"

namespace durlog {
namespace {

Status WriteCopies(File& file, uint32_t crc_seed, uint64_t synced_end) {
  uint8_t slot[kSyncedSlotBytes];
  EncodeSyncedSlot(synced_end, crc_seed, slot);
  for (const size_t at : {kSyncedSlotOffset, kSyncedSlotCopyOffset}) {
    DURLOG_RETURN_IF_ERROR(file.WriteAt(at, slot, sizeof slot));
  }
  return Status::Ok();
}

}  // namespace

Result<uint64_t> ReadSyncedSlot(File& file, uint32_t crc_seed) {
  uint8_t block[kSegmentHeaderBytes] = {};
  DURLOG_RETURN_IF_ERROR(file.ReadAt(0, block, sizeof block).TakeStatus());
  return DecodeSyncedSlot(block, crc_seed);
}

Status WriteSyncedSlot(File& file, uint32_t crc_seed, uint64_t synced_end) {
  DURLOG_RETURN_IF_ERROR(WriteCopies(file, crc_seed, synced_end));
  return file.SyncData();
}

Status RaiseSyncedSlot(File& file, uint32_t crc_seed, uint64_t synced_end) {
  Status written = WriteCopies(file, crc_seed, synced_end);
  if (written.may_be_repeated()) return Status::Ok();
  DURLOG_RETURN_IF_ERROR(std::move(written));
  return file.SyncData();
}

}  // namespace durlog
