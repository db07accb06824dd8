// Hidden definitions of functions of the C++ runtime that a macOS binary must not export. The linker would export libc++'s
// definitions, which would replace the host's operator new and delete or be replaced by them. These definitions are used
// because libc++'s are weak.
#include <stddef.h>
#include <stdlib.h>

// Defines the mangled names in C, because C++ gives these functions default visibility.
#define HIDDEN(type, name, parameters) \
  __attribute__((visibility("hidden"))) type name parameters __asm__("__" #name); \
  type name parameters

// libc++abi would end the process too, because no code catches std::bad_alloc.
static void* Require(void* memory) {
  if (memory == NULL) abort();
  return memory;
}

static void* Allocate(size_t size) { return malloc(size == 0 ? 1 : size); }

static void* AllocateAligned(size_t size, size_t alignment) {
  void* memory = NULL;
  return posix_memalign(&memory, alignment < sizeof(void*) ? sizeof(void*) : alignment, size) == 0 ? memory : NULL;
}

HIDDEN(void*, Znwm, (size_t size)) { return Require(Allocate(size)); }
HIDDEN(void*, Znam, (size_t size)) { return Require(Allocate(size)); }
HIDDEN(void*, ZnwmSt11align_val_t, (size_t size, size_t alignment)) {
  return Require(AllocateAligned(size, alignment));
}
HIDDEN(void*, ZnamSt11align_val_t, (size_t size, size_t alignment)) {
  return Require(AllocateAligned(size, alignment));
}

HIDDEN(void*, ZnwmRKSt9nothrow_t, (size_t size, const void* nothrow)) { return (void)nothrow, Allocate(size); }
HIDDEN(void*, ZnamRKSt9nothrow_t, (size_t size, const void* nothrow)) { return (void)nothrow, Allocate(size); }
HIDDEN(void*, ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, const void* nothrow)) {
  return (void)nothrow, AllocateAligned(size, alignment);
}
HIDDEN(void*, ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, const void* nothrow)) {
  return (void)nothrow, AllocateAligned(size, alignment);
}

HIDDEN(void, ZdlPv, (void* memory)) { free(memory); }
HIDDEN(void, ZdaPv, (void* memory)) { free(memory); }
HIDDEN(void, ZdlPvm, (void* memory, size_t size)) { (void)size, free(memory); }
HIDDEN(void, ZdaPvm, (void* memory, size_t size)) { (void)size, free(memory); }
HIDDEN(void, ZdlPvSt11align_val_t, (void* memory, size_t alignment)) { (void)alignment, free(memory); }
HIDDEN(void, ZdaPvSt11align_val_t, (void* memory, size_t alignment)) { (void)alignment, free(memory); }
HIDDEN(void, ZdlPvmSt11align_val_t, (void* memory, size_t size, size_t alignment)) {
  (void)size, (void)alignment, free(memory);
}
HIDDEN(void, ZdaPvmSt11align_val_t, (void* memory, size_t size, size_t alignment)) {
  (void)size, (void)alignment, free(memory);
}

// libc++abi's version prints the type of an uncaught exception, and links a demangler of 100 KB for that.
__attribute__((visibility("hidden"))) char* __cxa_demangle(const char* name, char* buffer, size_t* length, int* status);
char* __cxa_demangle(const char* name, char* buffer, size_t* length, int* status) {
  (void)name, (void)buffer, (void)length;
  if (status != NULL) *status = -1;
  return NULL;
}
