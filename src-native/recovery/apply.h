// Carries out a recovery's plan.
#ifndef DURLOG_RECOVERY_APPLY_H_
#define DURLOG_RECOVERY_APPLY_H_

#include "platform/file_system.h"
#include "recovery/plan.h"

namespace durlog {

// Rewrites what is kept, was not known to be synced and may be in the cache only, past the cache
// where the file system lets us; notes that in front of the cuts, and makes them. When this
// returns, nothing that was cut can come back, everything kept is durable, and where there was a
// cut the log says so.
Status ApplyRecovery(Directory& directory, const Capabilities& capabilities, RecoveryPlan* plan);

}  // namespace durlog

#endif  // DURLOG_RECOVERY_APPLY_H_
