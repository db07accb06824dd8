// CRC-32C (Castagnoli), the checksum of every record and header; RFC 3720, appendix B.4.
#ifndef DURLOG_CHECKSUM_CRC32C_H_
#define DURLOG_CHECKSUM_CRC32C_H_

#include <cstddef>
#include <cstdint>

namespace durlog {

// The CRC of what `crc` stands for, followed by `length` bytes at `data`. `crc` is a finished CRC
// of the bytes before, or 0 where there are none, so that calls chain:
// Crc32c(Crc32c(0, a), b) is the CRC of a and b in one. From any thread, at any time.
uint32_t Crc32c(uint32_t crc, const void* data, size_t length);

}  // namespace durlog

#endif  // DURLOG_CHECKSUM_CRC32C_H_
