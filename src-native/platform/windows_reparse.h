// Decides which reparse points are links.
#pragma once

#include <windows.h>

namespace durlog {

// A name surrogate (symbolic link, mount point) refers to another name; durlog never follows it.
// Every other tag (OneDrive, deduplication, compression) marks a file whose data a filter driver
// provides; it is treated as an ordinary file. `tag` is valid only for reparse points.
inline bool IsLink(DWORD attributes, DWORD tag) {
  return (attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 && IsReparseTagNameSurrogate(tag);
}

inline bool IsRegular(DWORD attributes, DWORD tag) {
  constexpr DWORD kOther = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE;
  return (attributes & kOther) == 0 && !IsLink(attributes, tag);
}

}  // namespace durlog
