// Replaces the functions of the C++ runtime that throw and catch exceptions. libc++ is compiled
// with exceptions, the core without them, so an exception that libc++ throws can only end the
// process. libc++abi and libunwind would end it too, but their code would be a twentieth of the
// addon.
//
// The linker takes an object from an archive only if the object defines a symbol that is still
// undefined. Therefore this file defines every symbol that libc++ needs from these two libraries;
// if one is missing, the link fails.
#include <__memory/aligned_alloc.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

namespace {

// Static, because the exception may be std::bad_alloc.
alignas(std::max_align_t) unsigned char thrown[1024];

[[noreturn]] void Stop(const char* reason) {
  std::fprintf(stderr, "durlog: uncaught C++ exception: %s\n", reason);
  std::abort();
}

}  // namespace

// libc++'s versions catch an exception. libc++'s operator delete frees the memory that these
// functions return.
void* operator new(size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return std::__libcpp_aligned_alloc(static_cast<size_t>(alignment), size);
}
void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return std::__libcpp_aligned_alloc(static_cast<size_t>(alignment), size);
}

namespace std {

void terminate() noexcept { Stop("terminated"); }
new_handler get_new_handler() noexcept { return nullptr; }

}  // namespace std

extern "C" {

void* __cxa_allocate_exception(size_t) { return thrown; }
void __cxa_free_exception(void*) {}
// Every exception that libc++ throws has std::exception as its first base.
void __cxa_throw(void* exception, void*, void (*)(void*)) {
  Stop(static_cast<std::exception*>(exception)->what());
}

// Never called: no code catches an exception or keeps a std::exception_ptr.
void* __cxa_init_primary_exception(void* exception, void*, void (*)(void*)) { return exception; }
void* __cxa_begin_catch(void* exception) { return exception; }
void* __cxa_get_exception_ptr(void* exception) { return exception; }
void* __cxa_current_primary_exception() { return nullptr; }
void __cxa_increment_exception_refcount(void*) {}
void __cxa_decrement_exception_refcount(void*) {}
void __cxa_rethrow_primary_exception(void*) {}
unsigned __cxa_uncaught_exceptions() { return 0; }
void __cxa_end_catch() {}
void __cxa_rethrow() { std::terminate(); }
void __cxa_call_terminate(void*) { std::terminate(); }
void _Unwind_Resume(void*) { std::terminate(); }

// libc++'s unwind tables refer to these: to the first, on Windows to the second.
int __gxx_personality_v0() { std::terminate(); }
int __gxx_personality_seh0() { std::terminate(); }
}
