// Messages for a name in a log's folder that is of another type than expected. Each error has the
// path.
#pragma once

namespace durlog {

inline constexpr char kFolderForFileMessage[] =
    "a folder is in the place of a file of the log: remove or rename it, or choose another folder";
inline constexpr char kLinkMessage[] =
    "a symbolic link is in the place of a file of the log, and durlog never follows one: replace "
    "it by its target, or choose another folder";
inline constexpr char kNotRegularMessage[] =
    "this is not a regular file, but has the name of a file of the log: remove or rename it, or "
    "choose another folder";

}  // namespace durlog
