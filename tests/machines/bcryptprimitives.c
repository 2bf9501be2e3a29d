// The one function of Windows' bcryptprimitives.dll that Rust's standard library calls, for versions of Wine that lack this library.
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID bytes, ULONG count);

__declspec(dllexport) BOOL ProcessPrng(PBYTE bytes, SIZE_T count) {
    return count <= MAXDWORD && SystemFunction036(bytes, (ULONG)count);
}
