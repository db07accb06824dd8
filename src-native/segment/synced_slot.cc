#include "segment/synced_slot.h"

#include "record/segment_header.h"

namespace durlog {

Result<uint64_t> ReadSyncedSlot(File& file, uint32_t crc_seed) {
  uint8_t block[kSegmentHeaderBytes] = {};
  DURLOG_RETURN_IF_ERROR(file.ReadAt(0, block, sizeof block).TakeStatus());
  return DecodeSyncedSlot(block, crc_seed);
}

Status WriteSyncedSlot(File& file, uint32_t crc_seed, uint64_t synced_end) {
  uint8_t slot[kSyncedSlotBytes];
  EncodeSyncedSlot(synced_end, crc_seed, slot);
  for (const size_t at : {kSyncedSlotOffset, kSyncedSlotCopyOffset}) {
    DURLOG_RETURN_IF_ERROR(file.WriteAt(at, slot, sizeof slot));
  }
  return file.SyncData();
}

Status RaiseSyncedSlot(File& file, uint32_t crc_seed, uint64_t synced_end) {
  Status written = WriteSyncedSlot(file, crc_seed, synced_end);
  return written.may_be_repeated() ? Status::Ok() : written;
}

}  // namespace durlog
