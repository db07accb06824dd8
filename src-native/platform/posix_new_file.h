// Owner, group and mode of the files that durlog creates in a log's folder.
#pragma once

#include <string>

namespace durlog {

// Gives the new file `name`, which is open as `fd` and has mode 0600, the owner, group and mode of
// the folder's first segment, or the owner and group of the folder if it has no other segment. So a
// process of root that writes the log of another user does not make the log inaccessible to that
// user. Best effort, because only root may give a file to another user. If owner and group cannot
// be set, the mode stays 0600.
void TakeAccessOfFolder(int folder, int fd, const std::string& name);

}  // namespace durlog
