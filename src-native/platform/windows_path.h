// Converts paths between UTF-8, which durlog uses, and the wide strings of Windows.
#pragma once

#include <string>

#include "base/status.h"

namespace durlog {

// kInvalidArgument if `text` is not UTF-8.
Result<std::wstring> WideFromUtf8(const std::string& text);
std::string NarrowFromWide(const std::wstring& text);

// Makes the path absolute and adds the prefix that removes the limit of 260 characters and the
// special meaning of names such as "con" and of trailing dots.
Result<std::wstring> AbsoluteWidePath(const std::string& path);

}  // namespace durlog
