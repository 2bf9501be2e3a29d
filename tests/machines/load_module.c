// Loads a Python module, whose path is the argument, as Python does: the library with all that it imports, and then the function that describes
// the module, whose name is printed. Built twice: as this program, and with PYTHON3 as the library python3.dll, of which STAND_INS lists the names.
#include <stddef.h>

#ifdef PYTHON3

// Python fills the description in; here it stays as the module made it.
__declspec(dllexport) void *PyModuleDef_Init(void *description) { return description; }

// Nothing else is called before the module is executed.
#define STAND_IN(name) __declspec(dllexport) void *name(void) { __builtin_trap(); }
#include STAND_INS

#else

#include <stdio.h>
#include <windows.h>

// The beginning of PyModuleDef in the stable ABI of CPython on 64-bit machines.
struct description {
    struct {
        ptrdiff_t references;
        void *type;
        void *(*init)(void);
        ptrdiff_t index;
        void *copy;
    } base;
    const char *name;
};

int main(int count, char **arguments) {
    if (count != 2)
        return 2;
    HMODULE module = LoadLibraryA(arguments[1]);
    if (!module) {
        fprintf(stderr, "the library is not loaded: error %lu\n", GetLastError());
        return 1;
    }
    struct description *(*init)(void) = (struct description * (*)(void))(void *)GetProcAddress(module, "PyInit__trisolar");
    if (!init) {
        fprintf(stderr, "there is no PyInit__trisolar\n");
        return 1;
    }
    puts(init()->name);
    return 0;
}

#endif
