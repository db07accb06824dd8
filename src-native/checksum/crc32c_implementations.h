// The implementations of CRC-32C, one file for each. All return the same results.
//
// The build compiles the implementations for its processor, which implementations_x64.cc,
// implementations_arm64.cc or implementations_portable.cc lists. Tests compare all of them with one
// reference.
#pragma once

#include <cstddef>
#include <cstdint>

namespace durlog {

// As Crc32c().
using Crc32cFunction = uint32_t (*)(uint32_t crc, const void* data, size_t length);

struct Crc32cImplementation {
  const char* name;
  Crc32cFunction function;
  bool supported;  // by the processor that runs this; calling the function without it crashes
};

struct Crc32cImplementationList {
  const Crc32cImplementation* items;
  size_t count;
};

// The quickest first; the last is supported everywhere.
Crc32cImplementationList Crc32cImplementations();

// Slicing-by-8 by tables.
uint32_t Crc32cTable(uint32_t crc, const void* data, size_t length);
// x86-64 with SSE 4.2 and PCLMULQDQ.
uint32_t Crc32cSse42(uint32_t crc, const void* data, size_t length);
// ARMv8 with the CRC extension; the second one also requires PMULL.
uint32_t Crc32cArm64(uint32_t crc, const void* data, size_t length);
uint32_t Crc32cArm64Pmull(uint32_t crc, const void* data, size_t length);

// Features of the arm64 processor; each system reports them differently.
struct Arm64Features {
  bool crc32;
  bool pmull;
};
Arm64Features DetectArm64Features();

}  // namespace durlog
