// A file to measure on: opened, preallocated, closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "platform/posix_fd.h"

namespace durlog::bench {

inline constexpr uint64_t kBlockBytes = 4096;  // O_DIRECT's alignment on every disk of today

// `bytes` of zeroed memory for O_DIRECT, or ENOMEM's Status.
Result<AlignedBuffer> MakeZeroedBuffer(size_t bytes);

// Opens with `flags` | O_CLOEXEC, mode 0644.
Result<ScopedFd> OpenFile(const std::string& path, int flags);
Status CloseFile(ScopedFd* file, const std::string& path);

// Makes an empty file of `bytes` as `preallocate` says, durable with its metadata and its folder
// entry, none of it left dirty: none (empty) · sparse · fallocate · keep-size (size stays 0) ·
// zero-range · zero (zeros written) · data (non-zero bytes written) · hint (sparse, with an XFS
// extent size hint of 1 MiB).
Status PrepareFile(const std::string& path, const std::string& preallocate, uint64_t bytes);

// Sets an XFS extent size hint; kUnsupported if the file system has none.
Status SetExtentSizeHint(int fd, uint32_t bytes, const std::string& path);

// Whether records written over `preallocate` leave the file as it was for the next round:
// extents that were written stay written, but a fallocated one is converted only once.
bool SurvivesOverwrite(const std::string& preallocate);

}  // namespace durlog::bench
