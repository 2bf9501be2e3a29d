/*
 * A divergence map from C: from a TOML file (or the headline map, smaller) to a summary and a picture.
 *
 *   cargo build --release -p trisolar_c
 *   cc -std=c99 -Iinclude examples/c/divergence.c -Ltarget/release -ltrisolar_c -o divergence
 *   LD_LIBRARY_PATH=target/release ./divergence [specification.toml [map.png]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "trisolar.h"

static const char *const usual = "size = 150\nsteps = 50000\n";

/* The whole file as a string, to be freed; NULL if it cannot be read. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0, length = 0;

    if (file == NULL)
        return NULL;
    for (;;) {
        char *more;
        if (room - length < 2) {
            room = room * 2 + 4096;
            more = realloc(text, room);
            if (more == NULL)
                break;
            text = more;
        }
        length += fread(text + length, 1, room - length - 1, file);
        if (feof(file) || ferror(file))
            break;
    }
    if (text != NULL)
        text[length] = '\0';
    if (ferror(file) || !feof(file)) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

static int32_t show(uint64_t done, uint64_t total, void *user)
{
    int *shown = user;
    int percent = (int)(100.0 * (double)done / (double)total);
    if (percent != *shown)
        fprintf(stderr, "\r%3d %%", percent);
    *shown = percent;
    return 0; /* go on */
}

int main(int argc, char **argv)
{
    char *text = argc > 1 ? read_file(argv[1]) : NULL;
    int shown = -1;
    trisolar_options options = {.progress = show, .user = &shown};
    trisolar_spec *spec = NULL;
    trisolar_map *map = NULL;
    trisolar_info info;
    trisolar_status status;

    if (argc > 1 && text == NULL) {
        fprintf(stderr, "error: cannot read %s\n", argv[1]);
        return TRISOLAR_BAD_INPUT;
    }
    status = trisolar_spec_from_toml(text != NULL ? text : usual, &spec);
    if (status == TRISOLAR_OK)
        status = trisolar_divergence_run(spec, &options, &map);
    if (status == TRISOLAR_OK)
        status = trisolar_map_info(map, &info);
    if (status == TRISOLAR_OK) {
        const uint32_t *steps_together = trisolar_map_steps_together(map);
        uint64_t pixels = (uint64_t)info.width * info.height;
        uint32_t first = steps_together[0];
        for (uint64_t i = 1; i < pixels; i++)
            if (steps_together[i] < first)
                first = steps_together[i];
        fputc('\n', stderr);
        printf("engine        %s: %s\n", info.engine, info.device);
        printf("pixel-steps   %llu in %.3f s\n", (unsigned long long)info.pixel_steps, info.seconds);
        printf("never parted  %llu of %llu pixels\n", (unsigned long long)info.never_parted,
               (unsigned long long)pixels);
        printf("first parting %lu steps\n", (unsigned long)first);
        if (*info.warnings != '\0')
            fprintf(stderr, "warning: %s\n", info.warnings);
        if (*info.notes != '\0')
            printf("%s\n", info.notes);
        if (argc > 2)
            status = trisolar_map_save(map, argv[2]);
    }
    if (status != TRISOLAR_OK)
        fprintf(stderr, "error: %s\n", trisolar_last_error());

    trisolar_map_free(map);
    trisolar_spec_free(spec);
    free(text);
    return status;
}
