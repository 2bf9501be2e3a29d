/*
 * Trisolar's C interface: maps of three-body motion (divergence, closest approach, Lyapunov exponent) and complete three-body
 * encounters on CPUs and GPUs.
 *
 * A specification is made from TOML text, a map from a specification. Objects are opaque; each is freed by the
 * function named after it. Functions that can fail return a status, and trisolar_last_error() says why.
 *
 * Threads: every function may be called from any thread. A specification or a map may be used by several threads
 * at a time, as long as none of them frees it.
 *
 * Link with -ltrisolar_c (libtrisolar_c.so or libtrisolar_c.a). A program needs no part of CUDA to be built or to start; the
 * library looks for a GPU at run time.
 */
#ifndef TRISOLAR_H
#define TRISOLAR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a function returns; the same numbers as the exit codes of the command line. */
typedef int32_t trisolar_status;
#define TRISOLAR_OK 0
/* The computation failed: no usable GPU, out of memory, or a file that cannot be written. */
#define TRISOLAR_FAILED 1
/* An argument is not allowed. */
#define TRISOLAR_BAD_INPUT 2
/* A defect of the library; its message is also on the standard error. */
#define TRISOLAR_INTERNAL 3
/* The progress function ended the run. */
#define TRISOLAR_CANCELLED 130

/* Where to compute. */
#define TRISOLAR_AUTO 0 /* GPUs if any can be used, otherwise the CPU */
#define TRISOLAR_CPU 1
#define TRISOLAR_GPU 2
#define TRISOLAR_GPU_AND_CPU 3 /* both together */

/* A validated specification of a divergence map. */
typedef struct trisolar_spec trisolar_spec;
/* A computed map with its specification. */
typedef struct trisolar_map trisolar_map;

/*
 * Called up to 20 times a second during a run, and at its end, with the number of steps done and the number of steps of the
 * whole map. Any return value but 0 ends the run. Called from the library's threads, never by two at once, and not after
 * trisolar_divergence_run() has returned.
 */
typedef int32_t (*trisolar_progress)(uint64_t done, uint64_t total, void *user);

/*
 * How to compute; nothing here changes a map's values. All zero is the default. The texts are those of
 * `trisolar divergence --gpus` and `--device`; they are read during the call only.
 */
typedef struct trisolar_options {
    int32_t backend;            /* TRISOLAR_AUTO, TRISOLAR_CPU, TRISOLAR_GPU or TRISOLAR_GPU_AND_CPU */
    uint32_t threads;           /* of the CPU engine, up to 4096; 0: as many as the process may use */
    trisolar_progress progress; /* or NULL */
    void *user;                 /* passed to progress */
    const char *gpus;           /* how many: "all", or a number such as "2"; NULL: as many as the map can keep busy */
    double max_error;           /* share of unresolved pixels above which a map is a failure; 0: the specification's, or none */
    const char *device;         /* which GPUs, instead of gpus: numbers such as "0,2"; NULL: none in particular */
} trisolar_options;

/* Numbers and strings that describe a map. The strings belong to the map and are freed with it. */
typedef struct trisolar_info {
    uint32_t width;        /* pixels */
    uint32_t height;       /* pixels */
    uint64_t pixel_steps;  /* steps taken; of divergence the sum of steps_together */
    uint64_t never_parted; /* pixels whose twins never parted; 0 for other quantities than divergence */
    double seconds;        /* of the computation itself */
    const char *engine;    /* "cpu", "gpu" or "gpu+cpu" */
    const char *device;    /* in words */
    const char *notes;     /* notes, one per line; "" if there are none */
    const char *spec_json; /* every value of the specification, as JSON */
    double unresolved;     /* share of a sample of the pixels for which the step is too long: G M dt^2 > r^3 for two bodies
                              before the twins part; well above 0.1 there is a warning */
    const char *warnings;  /* reasons to doubt the map, one per line; "" if there are none */
} trisolar_info;

/* The version of the library. The string stays valid until the program ends. */
const char *trisolar_version(void);

/*
 * The message of this thread's last failed call; "" if none failed. Valid until the next call
 * of this thread that fails, and until the thread ends.
 */
const char *trisolar_last_error(void);

/*
 * Makes a specification from TOML text (UTF-8): the keys of `trisolar divergence --save-config`; missing keys
 * have their defaults, so "" is the headline map.
 */
trisolar_status trisolar_spec_from_toml(const char *toml, trisolar_spec **spec);

/* Width and height in pixels; a map has width * height values. */
trisolar_status trisolar_spec_size(const trisolar_spec *spec, uint32_t *width, uint32_t *height);

/* NULL is allowed. */
void trisolar_spec_free(trisolar_spec *spec);

/*
 * Computes a map. options may be NULL. A map whose share of unresolved pixels is above max_error (of the options, or the key
 * of the specification) is returned as well, with TRISOLAR_FAILED. GPUs in options that do not exist, and gpus together with a
 * backend without GPUs, are TRISOLAR_BAD_INPUT.
 */
trisolar_status trisolar_divergence_run(const trisolar_spec *spec, const trisolar_options *options,
                                        trisolar_map **map);

/*
 * The same for single start states instead of a grid: count points of 3 numbers each (start x, y, z
 * of the grid body), 9 (those of bodies 1, 2, 3), 18 (and their velocities) or 21 (and their masses). Values that the points do
 * not contain come from the specification; its size, centre, span and plane are not used. The map is count wide and 1 high.
 */
trisolar_status trisolar_divergence_points(const trisolar_spec *spec, const double *points, size_t count,
                                           size_t numbers, const trisolar_options *options, trisolar_map **map);

/* Numbers and strings that describe the map. */
trisolar_status trisolar_map_info(const trisolar_map *map, trisolar_info *info);

/*
 * The values of a map of divergence: height rows of width values, row 0 first. Each value is the number of steps that the pixel's
 * twins began together, and equals the specification's steps where they never parted. The values belong to the map and are freed
 * with it. Returns NULL if map is NULL or of another quantity.
 */
const uint32_t *trisolar_map_steps_together(const trisolar_map *map);

/*
 * Copies the values of a map of divergence to steps_together; count, the number of values that it can hold, must be at least
 * width * height. TRISOLAR_BAD_INPUT for a map of another quantity.
 */
trisolar_status trisolar_map_copy_steps_together(const trisolar_map *map, uint32_t *steps_together, size_t count);

/*
 * The same for maps of other quantities (the key `quantity` of the specification): "closest-approach" (length), "greatest-speed"
 * (length / time) or "ftle" (1 / time; NaN for a pixel that has no exponent, such as after a collision). See docs/quantities.md.
 */
const double *trisolar_map_values_f64(const trisolar_map *map);
trisolar_status trisolar_map_copy_values_f64(const trisolar_map *map, double *values, size_t count);

/* Writes the map to a file: .png, .svg or .pdf (picture), .npy (array), .npz (array and specification) or .zarr.zip (for xarray). path is UTF-8. */
trisolar_status trisolar_map_save(const trisolar_map *map, const char *path);

/* NULL is allowed. */
void trisolar_map_free(trisolar_map *map);

/* Encounters that were integrated to their ends. */
typedef struct trisolar_encounters trisolar_encounters;

/* The record of a run: the columns of docs/encounters.md, where a value that a run does not have is NaN. */
typedef struct trisolar_encounter_record {
    double time;
    double a; /* of the binary that stays behind */
    double e;
    double v_inf; /* of the escaper, relative to that binary */
    double least_distance;
    double least_distance_time;
    double energy_error;
    double momentum_error;
    uint32_t outcome;             /* 0: escape, 1: ionisation, 2: collision, 3: longest time, 4: most steps, 5: failed */
    uint32_t body;                /* 1, 2, 3; 0 for none */
    uint32_t least_distance_pair; /* 12, 23 or 13; 0 for none */
    uint32_t exchanges;
    uint32_t excursions;
    uint32_t jumps;
    uint32_t steps;
    uint32_t unused;
} trisolar_encounter_record;

/*
 * Integrates encounters to their ends. toml (UTF-8) has the keys of `trisolar encounters --save-config`; missing keys have their
 * defaults, so "" is the ensemble of `trisolar encounters`. options may be NULL; they are those of maps, but
 * progress is told of runs instead of steps, and max_error is the relative energy error of any run above which the encounters,
 * which are returned as well, are TRISOLAR_FAILED.
 */
trisolar_status trisolar_encounters_run(const char *toml, const trisolar_options *options, trisolar_encounters **found);

/*
 * The same for count single start states of 21 numbers each: positions and velocities (x, y, z) and masses of bodies 1, 2 and 3.
 */
trisolar_status trisolar_encounters_points(const char *toml, const double *points, size_t count,
                                           const trisolar_options *options, trisolar_encounters **found);

/*
 * The records of all runs, in their order; writes their number to count, which may be NULL. They belong to the encounters and are
 * freed with them. Returns NULL if found is NULL.
 */
const trisolar_encounter_record *trisolar_encounters_records(const trisolar_encounters *found, size_t *count);

/*
 * Specification, engine, devices, seconds, summary, warnings and notes as JSON, as `trisolar encounters --json` prints them. The text
 * belongs to the encounters and is freed with them. Returns NULL if found is NULL.
 */
const char *trisolar_encounters_json(const trisolar_encounters *found);

/* Writes the records to a file: .npz, .csv, or .png, .svg or .pdf (of a map). path is UTF-8. */
trisolar_status trisolar_encounters_save(const trisolar_encounters *found, const char *path);

/* NULL is allowed. */
void trisolar_encounters_free(trisolar_encounters *found);

/* The devices of this machine, as JSON; free the string with trisolar_string_free(). */
trisolar_status trisolar_devices(char **json);

/* NULL is allowed. */
void trisolar_string_free(char *string);

#ifdef __cplusplus
}
#endif

#endif
