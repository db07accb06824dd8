#include "recovery/shared_session.h"

#include <memory>

namespace durlog {

Status EndSharedSession(Directory& directory) {
  constexpr uint64_t kOffset = kSessionWord * sizeof(uint64_t);
  Result<std::unique_ptr<File>> file = directory.Open(kSharedName, OpenMode::kReadWrite);
  if (file.status().code() == Code::kNotFound) return Status::Ok();
  if (!file.ok()) return file.TakeStatus();
  uint64_t session = 0;
  DURLOG_ASSIGN_OR_RETURN(const size_t read, (*file)->ReadAt(kOffset, &session, sizeof session));
  if (read < sizeof session || session == 0) return Status::Ok();
  session = 0;
  return (*file)->WriteAt(kOffset, &session, sizeof session);
}

}  // namespace durlog
