// What the unwinder of a GCC for glibc takes from glibc and does not find in musl.
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct dl_find_object {
    unsigned long long flags;
    void *begin, *end;
    void *map;
    void *frames;
    unsigned long long reserved[7];
};

struct search {
    uintptr_t address;
    struct dl_find_object *found;
};

static int look(struct dl_phdr_info *object, size_t size, void *data) {
    struct search *search = data;
    const ElfW(Phdr) *frames = NULL;
    int inside = 0;
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && search->address - begin < part->p_memsz) {
            inside = 1;
            search->found->begin = (void *)begin;
            search->found->end = (void *)(begin + part->p_memsz);
        }
        if (part->p_type == PT_GNU_EH_FRAME)
            frames = part;
    }
    if (!inside || !frames)
        return 0;
    search->found->frames = (void *)(object->dlpi_addr + frames->p_vaddr);
    return 1;
}

// Finds the table of frames of the code at an address.
int _dl_find_object(void *address, struct dl_find_object *found) {
    struct search search = {(uintptr_t)address, found};
    return dl_iterate_phdr(look, &search) ? 0 : -1;
}

// The unwinder takes all of these to be there if one of them is, but its weak references bring none into a static program.
__attribute__((used)) static void *const threads[] = {
    (void *)pthread_once,         (void *)pthread_key_create,  (void *)pthread_getspecific, (void *)pthread_setspecific,
    (void *)pthread_mutex_lock,   (void *)pthread_mutex_unlock,
};
