// Status and Result<T>, returned by every call that can fail. Nothing throws.
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace durlog {

// Kinds of failure, as far as a caller can act on them. The binding maps each code to one stable
// ERR_DURLOG_* string (napi/convert_error.cc); the order is not part of any interface.
enum class Code : uint8_t {
  kOk,
  kIo,               // a system call failed; sys_errno is its error
  kNoSpace,          // ENOSPC, EDQUOT or EFBIG: usable again when there is room
  kTooManyFiles,     // EMFILE or ENFILE: usable again when there are descriptors
  kNotFound,         // there is no log, and `create` was not set
  kNotALog,          // the folder holds something else
  kLocked,           // another writer owns the log; owner_pid is its process
  kClosed,           // the log or cursor has been closed
  kInvalidArgument,  // an error of the caller; nothing has been written
  kRecordEmpty,
  kRecordTooLarge,
  kBatchTooLarge,
  kBackpressure,  // no room for now: bytes or segments wait for the device
  kSyncFailed,    // a sync failed, and the log is now latched
  kFileChanged,   // another program has changed a file of the log, which is now latched
  kLatched,       // refused because of an earlier kSyncFailed or kFileChanged
  kCorrupt,       // damage in data that was known to be synced
  kUnsupported,   // this system or file system does not support the operation
  kVersion,       // written by a newer format version
  kOutOfRange,    // the seq is not in the log (trimmed, or not appended yet)
  kVoid,          // a void holds the seq: there is no record
  kOutOfMemory,
  kSeqConflict,  // the next record's seq is not the one that the caller expects
  kStalled,      // stored but not acknowledged: another writer blocks it
};

// A code with its details. OK costs one null pointer, an error one allocation. Code that only
// errors need is out of line, because every function that can fail contains it.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  Status(const Status& other) : detail_(Clone(other)) {}
  Status& operator=(const Status& other) {
    if (this != &other) detail_ = Clone(other);
    return *this;
  }

  static Status Ok() { return Status(); }
  // `message` gives the reason and the remedy in one sentence, without the path.
  static Status Error(Code code, const char* message);
  static Status Error(Code code, std::string message);
  // The only table of errnos: ENOSPC, EDQUOT and EFBIG become kNoSpace, EMFILE and ENFILE
  // kTooManyFiles, ENOMEM kOutOfMemory, ENOTDIR kNotALog. The message gives reason and remedy.
  static Status OfErrno(int sys_errno);
  // As OfErrno(), for the system call `operation`.
  static Status System(const char* operation, int sys_errno, const std::string& path);
  // As System(), for a call that syncs: always kIo. After a failed sync the kernel may have dropped
  // the pages, so no caller may take ENOSPC or ENOMEM for a call that it can repeat.
  static Status OfSync(const char* operation, int sys_errno, const std::string& path);

  // For a lock that is held: `owner_pid` is 0 if the owner is unknown. `shared`: by writers that
  // share the log with each other, of which the owner is one.
  static Status Locked(int64_t owner_pid, int64_t own_pid, bool shared = false);

  bool ok() const { return detail_ == nullptr; }
  Code code() const { return detail_ ? detail_->code : Code::kOk; }
  // True if the call can be repeated once there are descriptors or memory.
  bool lacks_resources() const {
    return code() == Code::kTooManyFiles || code() == Code::kOutOfMemory;
  }
  // As lacks_resources(), also for a lack of space. A failed sync is never repeated.
  bool may_be_repeated() const { return code() == Code::kNoSpace || lacks_resources(); }
  int sys_errno() const { return detail_ ? detail_->sys_errno : 0; }
  // "" if no system call was involved.
  const char* operation() const { return detail_ ? detail_->operation : ""; }
  const std::string& path() const;
  const std::string& message() const;
  // Byte offset within path(); -1 if none applies.
  int64_t offset() const { return detail_ ? detail_->offset : -1; }
  // True if the call failed but its record is in the log, unacknowledged.
  bool stored() const { return detail_ && detail_->stored; }
  // For kLocked; 0 if the owner is unknown.
  int64_t owner_pid() const { return detail_ ? detail_->owner_pid : 0; }
  // For kCorrupt: the first and last lost seq; first > last if unknown. For kVoid: the requested
  // seq and the last one after it that is known to hold no record.
  uint64_t first_lost_seq() const { return detail_ ? detail_->first_lost : 1; }
  uint64_t last_lost_seq() const { return detail_ ? detail_->last_lost : 0; }

  Status&& WithCode(Code code) &&;
  Status&& WithPath(const std::string& path) &&;
  Status&& WithOffset(uint64_t offset) &&;
  Status&& WithOwner(int64_t pid) &&;
  Status&& WithLost(uint64_t first, uint64_t last) &&;
  Status&& WithMessage(const std::string& message) &&;
  Status&& WithStored() &&;

 private:
  struct Detail {
    Code code = Code::kIo;
    int sys_errno = 0;
    const char* operation = "";
    std::string path;
    std::string message;
    int64_t offset = -1;
    int64_t owner_pid = 0;
    bool stored = false;
    uint64_t first_lost = 1;
    uint64_t last_lost = 0;
  };
  struct Free {
    void operator()(Detail* detail) const;
  };
  using DetailPtr = std::unique_ptr<Detail, Free>;
  static DetailPtr Clone(const Status& other);
  DetailPtr detail_;
};

// A value, or the Status of the call that failed to produce it.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}       // NOLINT(google-explicit-constructor)
  Result(Status error) : status_(std::move(error)) {  // NOLINT(google-explicit-constructor)
    assert(!status_.ok());
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  Status&& TakeStatus() { return std::move(status_); }
  T& value() {
    assert(ok());
    return *value_;
  }
  const T& value() const {
    assert(ok());
    return *value_;
  }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace durlog

#define DURLOG_CONCAT_(a, b) a##b
#define DURLOG_CONCAT(a, b) DURLOG_CONCAT_(a, b)

// Returns the Status of `expr` to the caller unless it is OK.
#define DURLOG_RETURN_IF_ERROR(expr)                 \
  do {                                               \
    ::durlog::Status durlog_status_ = (expr);        \
    if (!durlog_status_.ok()) return durlog_status_; \
  } while (false)

// Declares or assigns `lhs` from a Result, or returns its Status to the caller.
#define DURLOG_ASSIGN_OR_RETURN(lhs, expr) \
  DURLOG_ASSIGN_OR_RETURN_(DURLOG_CONCAT(durlog_result_, __LINE__), lhs, expr)
#define DURLOG_ASSIGN_OR_RETURN_(result, lhs, expr) \
  auto result = (expr);                             \
  if (!result.ok()) return result.TakeStatus();     \
  lhs = std::move(result.value())
