// Owner, group and mode of the files and folders that durlog creates.
#pragma once

#include <string>

namespace durlog {

// Gives the new file `name`, which is open as `fd` and has mode 0600, the owner, group and mode of
// another segment in the folder, or the owner and group of the folder if it has no other segment.
// So a process of root that writes the log of another user does not make the log inaccessible to
// that user. Best effort, because only root may give a file to another user. If owner and group
// cannot be set, the mode stays 0600.
void TakeAccessOfFolder(int folder, int fd, const std::string& name);

// Gives the new file or folder `fd` the owner and group of `folder`, which contains it, for the
// same reason. Best effort too.
void TakeOwnerOfFolder(int folder, int fd);

}  // namespace durlog
