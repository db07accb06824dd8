// Opens and preallocates the files that are used for measurements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "platform/posix_fd.h"

namespace durlog::bench {

inline constexpr uint64_t kBlockBytes = 4096;  // O_DIRECT's alignment is not larger on any disk

// `bytes` of zeroed memory for O_DIRECT, or ENOMEM's Status.
Result<AlignedBuffer> MakeZeroedBuffer(size_t bytes);

// Opens with `flags` | O_CLOEXEC, mode 0644.
Result<ScopedFd> OpenFile(const std::string& path, int flags);
Status CloseFile(ScopedFd* file, const std::string& path);

// Makes a file of `bytes` without records. The file, its metadata and its folder entry are durable,
// and no page of it is dirty. `preallocate` is one of: none (empty file), sparse, fallocate,
// keep-size (size stays 0), zero-range, zero (zeros are written), data (non-zero bytes are
// written), hint (sparse, with an XFS extent size hint of 1 MiB).
Status PrepareFile(const std::string& path, const std::string& preallocate, uint64_t bytes);

// Sets an XFS extent size hint; kUnsupported if the file system has none.
Status SetExtentSizeHint(int fd, uint32_t bytes, const std::string& path);

// Whether a file can be used for another round after records were written to it. Written extents
// stay written, but a fallocated extent is converted only once.
bool SurvivesOverwrite(const std::string& preallocate);

}  // namespace durlog::bench
