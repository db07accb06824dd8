// The pipe or socket to which a command writes its output.
#pragma once

namespace durlog {

// Whether the reader of the pipe or socket `descriptor` has closed it: a write would fail with
// EPIPE. False on systems that cannot show it without a write, and for other files.
bool HasNoReader(int descriptor);

}  // namespace durlog
