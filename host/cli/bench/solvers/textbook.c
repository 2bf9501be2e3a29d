// The two serial n-body solvers of Pacheco & Malensek (2021, chapter 7), rewritten for Trisolar: the peer that Trisolar's CPU
// solvers are timed against. Two dimensions, SI units, no softening, particles as structs, a separate array of forces, explicit
// Euler, and the start that their programs generate: mass 5e24 at x = 1e5 i, vy = +3e4 and -3e4 in turn.
//
//   cc -O3 -march=native -o textbook textbook.c -lm && ./textbook basic|reduced 2000 20 [repeats]
//
// prints the seconds of the fastest repeat, then x, y, vx, vy of every particle at the end.

#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { X, Y, DIM };
typedef double vect_t[DIM];

struct particle {
    double m;
    vect_t s, v;
};

static const double G = 6.673e-11;

static void start(struct particle *p, int n) {
    for (int i = 0; i < n; i++) {
        p[i].m = 5.0e24;
        p[i].s[X] = 1.0e5 * i;
        p[i].s[Y] = 0.0;
        p[i].v[X] = 0.0;
        p[i].v[Y] = i % 2 == 0 ? 3.0e4 : -3.0e4;
    }
}

// Every pair twice, once for each of its particles.
static void basic(const struct particle *p, vect_t *forces, int n) {
    for (int q = 0; q < n; q++) {
        forces[q][X] = forces[q][Y] = 0.0;
        for (int k = 0; k < n; k++) {
            if (k == q) continue;
            double dx = p[q].s[X] - p[k].s[X];
            double dy = p[q].s[Y] - p[k].s[Y];
            double dist = sqrt(dx * dx + dy * dy);
            double dist_cubed = dist * dist * dist;
            double f = -G * p[q].m * p[k].m / dist_cubed;
            forces[q][X] += f * dx;
            forces[q][Y] += f * dy;
        }
    }
}

// Every pair once.
static void reduced(const struct particle *p, vect_t *forces, int n) {
    memset(forces, 0, n * sizeof(vect_t));
    for (int q = 0; q < n - 1; q++) {
        for (int k = q + 1; k < n; k++) {
            double dx = p[q].s[X] - p[k].s[X];
            double dy = p[q].s[Y] - p[k].s[Y];
            double dist = sqrt(dx * dx + dy * dy);
            double dist_cubed = dist * dist * dist;
            double f = -G * p[q].m * p[k].m / dist_cubed;
            forces[q][X] += f * dx;
            forces[q][Y] += f * dy;
            forces[k][X] -= f * dx;
            forces[k][Y] -= f * dy;
        }
    }
}

static void update(struct particle *p, vect_t *forces, int n, double delta_t) {
    for (int q = 0; q < n; q++) {
        double factor = delta_t / p[q].m;
        p[q].s[X] += delta_t * p[q].v[X];
        p[q].s[Y] += delta_t * p[q].v[Y];
        p[q].v[X] += factor * forces[q][X];
        p[q].v[Y] += factor * forces[q][Y];
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(int argc, char **argv) {
    int n = argc > 2 ? atoi(argv[2]) : 0;
    int steps = argc > 3 ? atoi(argv[3]) : 0;
    int repeats = argc > 4 ? atoi(argv[4]) : 1;
    int is_basic = argc > 1 && strcmp(argv[1], "basic") == 0;
    if (n < 1 || steps < 1 || repeats < 1 || (!is_basic && strcmp(argv[1], "reduced") != 0)) {
        fprintf(stderr, "usage: %s basic|reduced PARTICLES STEPS [REPEATS]\n", argv[0]);
        return 2;
    }
    struct particle *p = malloc(n * sizeof *p);
    vect_t *forces = malloc(n * sizeof *forces);
    if (!p || !forces) {
        fprintf(stderr, "out of memory\n");
        return 1;
    }
    double fastest = HUGE_VAL;
    for (int r = 0; r < repeats; r++) {
        start(p, n);
        double begin = now();
        for (int step = 0; step < steps; step++) {
            if (is_basic)
                basic(p, forces, n);
            else
                reduced(p, forces, n);
            update(p, forces, n, 0.01);
        }
        double seconds = now() - begin;
        if (seconds < fastest) fastest = seconds;
    }
    printf("%.9f\n", fastest);
    for (int i = 0; i < n; i++) printf("%.17g %.17g %.17g %.17g\n", p[i].s[X], p[i].s[Y], p[i].v[X], p[i].v[Y]);
    free(p);
    free(forces);
    return 0;
}
