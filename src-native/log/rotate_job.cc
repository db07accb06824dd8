#include "log/rotate_job.h"

#include "segment/synced_slot.h"

namespace durlog {

void RotateJob::Run() {
  tail_.reset();
  status_ = Rotate();
  if (!status_.ok()) next_->Discard(directory_);
}

Status RotateJob::Rotate() {
  DURLOG_RETURN_IF_ERROR(next_->AwaitSpare(directory_));
  // A failed sync is never retried.
  changed_ = true;
  DURLOG_RETURN_IF_ERROR(sealed_->file().SyncFull());
  Status activated = next_->Activate(directory_);
  // After any other failure the file may have its new name on the device.
  changed_ = !activated.may_be_repeated();
  DURLOG_RETURN_IF_ERROR(std::move(activated));
  changed_ = true;
  // The frames of the sealed segment do not state that its last records are synced.
  DURLOG_RETURN_IF_ERROR(
      RaiseSyncedSlot(next_->file().handle(), next_->crc_seed(), next_->first_seq()));
  DURLOG_RETURN_IF_ERROR(directory_.Sync());
  next_->entry_synced = true;
  return Status::Ok();
}

}  // namespace durlog
