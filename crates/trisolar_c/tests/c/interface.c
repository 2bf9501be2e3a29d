/*
 * The C interface's promises, to be run under a leak checker by python/ci.sh. With the argument "leak" it forgets to
 * free maps: the checker must notice.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trisolar.h"

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s (last error: %s)\n", __FILE__, __LINE__, #condition,                    \
                    trisolar_last_error());                                                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static int says(const char *text)
{
    return strstr(trisolar_last_error(), text) != NULL;
}

static const char *const small = "size = [5, 3]\nsteps = 200\n";

static trisolar_map *compute(const char *toml)
{
    trisolar_options cpu = {.backend = TRISOLAR_CPU, .threads = 1};
    trisolar_spec *spec = NULL;
    trisolar_map *map = NULL;
    CHECK(trisolar_spec_from_toml(toml, &spec) == TRISOLAR_OK);
    CHECK(trisolar_divergence_run(spec, &cpu, &map) == TRISOLAR_OK);
    trisolar_spec_free(spec);
    return map;
}

static void a_map_can_be_looked_at_and_copied(void)
{
    trisolar_map *map = compute(small);
    trisolar_info info;
    uint32_t copy[16];
    const uint32_t *steps_together = trisolar_map_steps_together(map);

    CHECK(trisolar_map_info(map, &info) == TRISOLAR_OK);
    CHECK(info.width == 5 && info.height == 3);
    CHECK(info.pixel_steps == 15 * 200 && info.never_parted == 15 && info.seconds > 0);
    CHECK(strcmp(info.engine, "cpu") == 0 && strstr(info.device, "1 thread") != NULL);
    CHECK(strcmp(info.notes, "") == 0 && strstr(info.spec_json, "\"steps\":200") != NULL);

    copy[15] = 7;
    CHECK(trisolar_map_copy_steps_together(map, copy, 15) == TRISOLAR_OK);
    CHECK(memcmp(copy, steps_together, 15 * sizeof *copy) == 0 && copy[14] == 200 && copy[15] == 7);
    CHECK(trisolar_map_copy_steps_together(map, copy, 14) == TRISOLAR_BAD_INPUT);
    CHECK(says("'14' for 'count'") && says("15 values"));
    trisolar_map_free(map);
}

static void other_quantities_have_values_of_64_bits(void)
{
    trisolar_map *map = compute("quantity = \"closest-approach\"\nsize = [5, 3]\nsteps = 200\n"), *of_steps = compute(small);
    trisolar_info info;
    double copy[16];
    uint32_t steps_together[16];
    const double *values = trisolar_map_values_f64(map);

    CHECK(trisolar_map_info(map, &info) == TRISOLAR_OK && info.pixel_steps == 15 * 200 && info.never_parted == 0);
    CHECK(strstr(info.spec_json, "\"quantity\":\"closest-approach\"") != NULL);
    copy[15] = 7;
    CHECK(trisolar_map_copy_values_f64(map, copy, 15) == TRISOLAR_OK);
    CHECK(memcmp(copy, values, 15 * sizeof *copy) == 0 && copy[0] > 0 && copy[0] < 30 && copy[15] == 7);
    CHECK(trisolar_map_copy_values_f64(map, copy, 14) == TRISOLAR_BAD_INPUT && says("15 values"));
    CHECK(trisolar_map_steps_together(map) == NULL && trisolar_map_values_f64(of_steps) == NULL);
    CHECK(trisolar_map_copy_steps_together(map, steps_together, 15) == TRISOLAR_BAD_INPUT && says("trisolar_map_copy_values_f64"));
    CHECK(trisolar_map_copy_values_f64(of_steps, copy, 15) == TRISOLAR_BAD_INPUT && says("trisolar_map_copy_steps_together"));
    trisolar_map_free(map);
    trisolar_map_free(of_steps);
}

static void points_are_computed_like_the_pixels_of_a_map(void)
{
    /* The second row of this map: y = -20 + 40 * (1/2) = 0. */
    trisolar_map *map = compute("size = [4, 2]\nspan = [40, 40]\nsteps = 20000"), *points = NULL;
    const double row[4][3] = {{-20, 0, -11}, {-10, 0, -11}, {0, 0, -11}, {10, 0, -11}};
    trisolar_options cpu = {.backend = TRISOLAR_CPU, .threads = 1};
    trisolar_spec *spec = NULL;
    trisolar_info info;

    CHECK(trisolar_spec_from_toml("steps = 20000", &spec) == TRISOLAR_OK);
    CHECK(trisolar_divergence_points(spec, row[0], 4, 3, &cpu, &points) == TRISOLAR_OK);
    CHECK(trisolar_map_info(points, &info) == TRISOLAR_OK && info.width == 4 && info.height == 1);
    CHECK(memcmp(trisolar_map_steps_together(points), trisolar_map_steps_together(map) + 4, 4 * sizeof(uint32_t)) == 0);
    trisolar_map_free(points);
    CHECK(trisolar_divergence_points(spec, row[0], 3, 4, &cpu, &points) == TRISOLAR_BAD_INPUT && points == NULL);
    CHECK(says("'3 x 4' for 'points'") && says("3, 9, 18 or 21 numbers"));
    CHECK(trisolar_divergence_points(spec, NULL, 3, 3, &cpu, &points) == TRISOLAR_BAD_INPUT && says("'points'"));
    CHECK(trisolar_divergence_points(spec, row[0], 0, 3, &cpu, &points) == TRISOLAR_BAD_INPUT);
    trisolar_spec_free(spec);
    trisolar_map_free(map);
}

static void points_may_have_masses_of_their_own(void)
{
    double states[2][21] = {{-6, 3, -11, 0, 0, 0, 10, 10, 12, -3, 0, 0, 0, 0, 0, 3, 0, 0, 10, 20, 30}};
    trisolar_options cpu = {.backend = TRISOLAR_CPU, .threads = 1};
    trisolar_spec *spec = NULL, *heavier = NULL;
    trisolar_map *both = NULL, *map = NULL;

    memcpy(states[1], states[0], sizeof states[0]);
    states[1][19] = 25;
    CHECK(trisolar_spec_from_toml("steps = 20000\nmasses = [1, 2, 3]", &spec) == TRISOLAR_OK);
    CHECK(trisolar_divergence_points(spec, states[0], 2, 21, &cpu, &both) == TRISOLAR_OK);
    CHECK(trisolar_spec_from_toml("steps = 20000\nmasses = [10, 25, 30]", &heavier) == TRISOLAR_OK);
    CHECK(trisolar_divergence_points(heavier, states[0], 1, 18, &cpu, &map) == TRISOLAR_OK);
    CHECK(trisolar_map_steps_together(both)[1] == trisolar_map_steps_together(map)[0]);
    CHECK(trisolar_map_steps_together(both)[0] != trisolar_map_steps_together(both)[1]);
    trisolar_map_free(map);
    states[1][20] = -1;
    CHECK(trisolar_divergence_points(spec, states[0], 2, 21, &cpu, &map) == TRISOLAR_BAD_INPUT);
    CHECK(map == NULL && says("masses of point 1"));
    trisolar_map_free(both);
    trisolar_spec_free(heavier);
    trisolar_spec_free(spec);
}

static void a_map_of_nonsense_is_warned_of_and_fails_where_it_is_to(void)
{
    trisolar_options cpu = {.backend = TRISOLAR_CPU, .threads = 1}, strict = cpu;
    trisolar_spec *spec = NULL;
    trisolar_map *map = compute(small);
    trisolar_info info;

    CHECK(trisolar_map_info(map, &info) == TRISOLAR_OK && info.unresolved == 0 && strcmp(info.warnings, "") == 0);
    trisolar_map_free(map);
    map = compute("size = 4\nsteps = 200\ndt = 10.0");
    CHECK(trisolar_map_info(map, &info) == TRISOLAR_OK && info.unresolved == 1);
    CHECK(strstr(info.warnings, "the time step is too long for 100.0 % (16 of 16") != NULL);
    trisolar_map_free(map);

    CHECK(trisolar_spec_from_toml("size = 4\nsteps = 200\ndt = 10.0", &spec) == TRISOLAR_OK);
    strict.max_error = 0.5;
    CHECK(trisolar_divergence_run(spec, &strict, &map) == TRISOLAR_FAILED && map != NULL);
    CHECK(says("--max-error 0.5") && trisolar_map_steps_together(map) != NULL);
    trisolar_map_free(map);
    strict.max_error = -1;
    CHECK(trisolar_divergence_run(spec, &strict, &map) == TRISOLAR_BAD_INPUT && map == NULL);
    CHECK(says("'-1' for 'max_error'"));
    trisolar_spec_free(spec);
    CHECK(trisolar_spec_from_toml("size = 4\nsteps = 200\ndt = 10.0\nmax_error = 0.5", &spec) == TRISOLAR_OK);
    CHECK(trisolar_divergence_run(spec, &cpu, &map) == TRISOLAR_FAILED && map != NULL);
    trisolar_map_free(map);
    trisolar_spec_free(spec);
    CHECK(trisolar_spec_from_toml("max_error = nan", &spec) == TRISOLAR_BAD_INPUT && says("'max_error'"));
}

static void gpus_that_are_not_there_are_bad_input(void)
{
    trisolar_options missing = {.device = "63"}, contradiction = {.backend = TRISOLAR_CPU, .gpus = "1"};
    trisolar_spec *spec = NULL;
    trisolar_map *map = NULL;

    CHECK(trisolar_spec_from_toml(small, &spec) == TRISOLAR_OK);
    CHECK(trisolar_divergence_run(spec, &missing, &map) == TRISOLAR_BAD_INPUT && says("--device 63: "));
    CHECK(trisolar_divergence_run(spec, &contradiction, &map) == TRISOLAR_BAD_INPUT && says("--backend cpu uses no GPU"));
    CHECK(map == NULL);
    trisolar_spec_free(spec);
}

static void bad_input_is_told(void)
{
    trisolar_spec *spec = (trisolar_spec *)&spec; /* must become NULL */
    trisolar_map *map = NULL;
    uint32_t width, height;
    trisolar_options bad_backend = {.backend = 9}, bad_threads = {.threads = 5000};
    trisolar_options bad_gpus = {.gpus = "0,2"}, both = {.gpus = "1", .device = "0"}, not_text = {.gpus = "\xff"};

    CHECK(trisolar_spec_from_toml("dt = -1", &spec) == TRISOLAR_BAD_INPUT && spec == NULL);
    CHECK(says("invalid value '-1' for 'dt'"));
    CHECK(trisolar_spec_from_toml("\nstepz = 1", &spec) == TRISOLAR_BAD_INPUT && says("line 2: stepz = 1"));
    CHECK(trisolar_spec_from_toml("\xff", &spec) == TRISOLAR_BAD_INPUT && says("not UTF-8"));
    CHECK(trisolar_spec_from_toml(NULL, &spec) == TRISOLAR_BAD_INPUT && says("'NULL' for 'toml'"));
    CHECK(trisolar_spec_from_toml("", NULL) == TRISOLAR_BAD_INPUT && says("'NULL' for 'spec'"));
    CHECK(trisolar_divergence_run(NULL, NULL, &map) == TRISOLAR_BAD_INPUT && map == NULL);
    CHECK(trisolar_map_steps_together(NULL) == NULL);
    CHECK(trisolar_map_info(NULL, NULL) == TRISOLAR_BAD_INPUT);

    CHECK(trisolar_spec_from_toml(small, &spec) == TRISOLAR_OK);
    CHECK(trisolar_spec_size(spec, &width, &height) == TRISOLAR_OK && width == 5 && height == 3);
    CHECK(trisolar_spec_size(spec, NULL, &height) == TRISOLAR_BAD_INPUT && says("'width'"));
    CHECK(trisolar_divergence_run(spec, &bad_backend, &map) == TRISOLAR_BAD_INPUT && says("'9' for 'backend'"));
    CHECK(trisolar_divergence_run(spec, &bad_threads, &map) == TRISOLAR_BAD_INPUT && says("'5000' for 'threads'"));
    CHECK(trisolar_divergence_run(spec, &bad_gpus, &map) == TRISOLAR_BAD_INPUT);
    CHECK(says("'0,2' for 'gpus': must be all, or how many GPUs, from 1 to 64"));
    CHECK(trisolar_divergence_run(spec, &both, &map) == TRISOLAR_BAD_INPUT && says("'device'"));
    CHECK(trisolar_divergence_run(spec, &not_text, &map) == TRISOLAR_BAD_INPUT && says("not UTF-8"));
    trisolar_spec_free(spec);
}

static void a_gpu_is_used_or_missed(void)
{
    trisolar_options gpu = {.backend = TRISOLAR_GPU_AND_CPU, .gpus = "all"};
    trisolar_spec *spec = NULL;
    trisolar_map *map = NULL;
    trisolar_info info;
    trisolar_status status;

    CHECK(trisolar_spec_from_toml(small, &spec) == TRISOLAR_OK);
    status = trisolar_divergence_run(spec, &gpu, &map);
    if (status == TRISOLAR_OK)
        CHECK(trisolar_map_info(map, &info) == TRISOLAR_OK && strcmp(info.engine, "gpu+cpu") == 0);
    else
        CHECK(status == TRISOLAR_FAILED && map == NULL && says("no usable GPU"));
    trisolar_map_free(map);
    trisolar_spec_free(spec);
}

struct told {
    uint64_t calls, total;
};

static int32_t stop(uint64_t done, uint64_t total, void *user)
{
    struct told *told = user;
    told->calls++;
    told->total = total;
    return done <= total;
}

static void a_progress_function_can_end_a_run(void)
{
    struct told told = {0, 0};
    trisolar_options options = {.backend = TRISOLAR_CPU, .threads = 2, .progress = stop, .user = &told};
    trisolar_spec *spec = NULL;
    trisolar_map *map = (trisolar_map *)&map;

    CHECK(trisolar_spec_from_toml("size = 1000\nsteps = 4000000000\ncritical_distance = 1e150", &spec) == 0);
    CHECK(trisolar_divergence_run(spec, &options, &map) == TRISOLAR_CANCELLED);
    CHECK(map == NULL && says("cancelled"));
    CHECK(told.calls > 0 && told.total == 1000ull * 1000 * 4000000000);
    trisolar_spec_free(spec);
}

static void files_are_written_or_refused(const char *folder)
{
    trisolar_map *map = compute(small);
    char path[4096];
    FILE *file;

    snprintf(path, sizeof path, "%s/interface.npy", folder);
    CHECK(trisolar_map_save(map, path) == TRISOLAR_OK);
    file = fopen(path, "rb");
    CHECK(file != NULL && fgetc(file) == 0x93 && fgetc(file) == 'N');
    fclose(file);
    CHECK(remove(path) == 0);
    snprintf(path, sizeof path, "%s/interface.png", folder);
    CHECK(trisolar_map_save(map, path) == TRISOLAR_OK && remove(path) == 0);
    CHECK(trisolar_map_save(map, "interface.jpg") == TRISOLAR_BAD_INPUT && says("unknown extension .jpg"));
    snprintf(path, sizeof path, "%s/nowhere/interface.npy", folder);
    CHECK(trisolar_map_save(map, path) == TRISOLAR_FAILED && says("does not exist"));
    trisolar_map_free(map);
}

static void devices_are_json(void)
{
    char *json = NULL;
    CHECK(trisolar_devices(&json) == TRISOLAR_OK && json[0] == '{' && strstr(json, "\"cpu\"") != NULL);
    trisolar_string_free(json);
}

static void encounters_have_records_and_a_summary(const char *folder)
{
    trisolar_options cpu = {.backend = TRISOLAR_CPU, .threads = 2};
    trisolar_encounters *drawn = NULL, *burrau = NULL, *points = NULL;
    const trisolar_encounter_record *records, *one, *other;
    const double start[21] = {1, 3, 0, -2, -1, 0, 1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 4, 5};
    char path[4096];
    size_t count = 0;

    CHECK(trisolar_encounters_run("n = 20\nseed = 3\ndraw = \"e=thermal\"", &cpu, &drawn) == TRISOLAR_OK);
    records = trisolar_encounters_records(drawn, &count);
    CHECK(count == 20);
    for (size_t run = 0; run < count; run++) {
        CHECK(records[run].outcome == 0 && records[run].body >= 1 && records[run].body <= 3);
        CHECK(records[run].time > 0 && records[run].v_inf > 0 && records[run].steps > 0 && records[run].unused == 0);
        CHECK(records[run].energy_error < 1e-6 && records[run].energy_error > -1e-6);
    }
    CHECK(strstr(trisolar_encounters_json(drawn), "\"runs\":20") != NULL);
    CHECK(strstr(trisolar_encounters_json(drawn), "\"engine\":\"cpu\"") != NULL);

    CHECK(trisolar_encounters_run("setup = \"burrau\"", &cpu, &burrau) == TRISOLAR_OK);
    CHECK(trisolar_encounters_points("", start, 1, &cpu, &points) == TRISOLAR_OK);
    one = trisolar_encounters_records(burrau, NULL);
    other = trisolar_encounters_records(points, &count);
    CHECK(count == 1 && memcmp(one, other, sizeof *one) == 0 && one->body == 1);

    snprintf(path, sizeof path, "%s/encounters.npz", folder);
    CHECK(trisolar_encounters_save(drawn, path) == TRISOLAR_OK);
    snprintf(path, sizeof path, "%s/encounters.png", folder);
    CHECK(trisolar_encounters_save(drawn, path) == TRISOLAR_BAD_INPUT && says("only a map"));
    trisolar_encounters_free(drawn);

    drawn = burrau;
    CHECK(trisolar_encounters_run("e = 1", &cpu, &drawn) == TRISOLAR_BAD_INPUT && drawn == NULL && says("'1' for 'e'"));
    CHECK(trisolar_encounters_run("x", &cpu, &drawn) == TRISOLAR_BAD_INPUT);
    CHECK(trisolar_encounters_run(NULL, &cpu, &drawn) == TRISOLAR_BAD_INPUT && says("'NULL' for 'toml'"));
    CHECK(trisolar_encounters_points("n = 3", start, 1, &cpu, &drawn) == TRISOLAR_BAD_INPUT && says("points"));
    cpu.max_error = 1e-300;
    CHECK(trisolar_encounters_run("n = 4", &cpu, &drawn) == TRISOLAR_FAILED && drawn != NULL && says("max-error"));
    CHECK(trisolar_encounters_records(NULL, &count) == NULL && count == 0 && trisolar_encounters_json(NULL) == NULL);
    trisolar_encounters_free(drawn);
    trisolar_encounters_free(burrau);
    trisolar_encounters_free(points);
    trisolar_encounters_free(NULL);
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    if (strcmp(argv[1], "leak") == 0) {
        /* Many: a stale register may still point at the last. */
        for (int i = 0; i < 20; i++)
            CHECK(compute(small) != NULL);
        return 0;
    }
    CHECK(strcmp(trisolar_last_error(), "") == 0);
    CHECK(strchr(trisolar_version(), '.') != NULL);
    a_map_can_be_looked_at_and_copied();
    other_quantities_have_values_of_64_bits();
    points_are_computed_like_the_pixels_of_a_map();
    points_may_have_masses_of_their_own();
    a_map_of_nonsense_is_warned_of_and_fails_where_it_is_to();
    gpus_that_are_not_there_are_bad_input();
    bad_input_is_told();
    a_gpu_is_used_or_missed();
    a_progress_function_can_end_a_run();
    files_are_written_or_refused(argv[1]);
    encounters_have_records_and_a_summary(argv[1]);
    devices_are_json();
    trisolar_spec_free(NULL);
    trisolar_map_free(NULL);
    trisolar_string_free(NULL);
    puts("the C interface keeps its promises");
    return 0;
}
