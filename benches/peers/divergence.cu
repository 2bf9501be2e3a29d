// A divergence map as the CUDA C++ of Badger's study computes it (docs/references.md), rewritten for Trisolar: the peer that
// Trisolar's kernels are timed against. Every quantity of every pixel is an array in global memory. Each component of each
// acceleration has its own roots and divisions, with products instead of powers. A pixel stops when its twins have parted.
//
//   nvcc -O3 -arch=native -o peer divergence.cu && ./peer 1000 50000 [out.u32]
//
// prints the sum of all steps, the number of pixels whose twins never parted, and the kernel's time in seconds.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                  \
    do {                                                                             \
        cudaError_t e = (call);                                                      \
        if (e != cudaSuccess) {                                                      \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e));               \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)

// Position, velocity, acceleration and new velocity of one body in every pixel.
struct Body {
    double *x, *y, *z, *vx, *vy, *vz, *ax, *ay, *az, *nx, *ny, *nz;
};

// One component of the pull of a body of mass m: from component a to component b, at the given separations.
__device__ inline double pull(double m, double a, double b, double dx, double dy, double dz) {
    return -9.8 * m * (a - b) /
           (sqrt(dx * dx + dy * dy + dz * dz) * sqrt(dx * dx + dy * dy + dz * dz) *
            sqrt(dx * dx + dy * dy + dz * dz));
}

__device__ inline void accelerate(Body &p, const Body &q, const Body &r, double mq, double mr, int i) {
    double qx = p.x[i] - q.x[i], qy = p.y[i] - q.y[i], qz = p.z[i] - q.z[i];
    double rx = p.x[i] - r.x[i], ry = p.y[i] - r.y[i], rz = p.z[i] - r.z[i];
    p.ax[i] = pull(mq, p.x[i], q.x[i], qx, qy, qz) + pull(mr, p.x[i], r.x[i], rx, ry, rz);
    p.ay[i] = pull(mq, p.y[i], q.y[i], qx, qy, qz) + pull(mr, p.y[i], r.y[i], rx, ry, rz);
    p.az[i] = pull(mq, p.z[i], q.z[i], qx, qy, qz) + pull(mr, p.z[i], r.z[i], rx, ry, rz);
}

__device__ inline void kick(Body &p, int i, double dt) {
    p.nx[i] = p.vx[i] + dt * p.ax[i];
    p.ny[i] = p.vy[i] + dt * p.ay[i];
    p.nz[i] = p.vz[i] + dt * p.az[i];
}

__device__ inline void drift(Body &p, int i, double dt) {
    p.x[i] = p.x[i] + dt * p.vx[i];
    p.y[i] = p.y[i] + dt * p.vy[i];
    p.z[i] = p.z[i] + dt * p.vz[i];
}

__device__ inline void replace(Body &p, int i) {
    p.vx[i] = p.nx[i];
    p.vy[i] = p.ny[i];
    p.vz[i] = p.nz[i];
}

__global__ void divergence(int n, int steps, double dt, bool *still_together, int *times, double m1, double m2,
                           double m3, double critical, Body p1, Body p2, Body p3, Body q1, Body q2, Body q3) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < steps; j++) {
        if (i < n and still_together[i]) {
            accelerate(p1, p2, p3, m2, m3, i);
            accelerate(p2, p3, p1, m3, m1, i);
            accelerate(p3, p1, p2, m1, m2, i);
            accelerate(q1, q2, q3, m2, m3, i);
            accelerate(q2, q3, q1, m3, m1, i);
            accelerate(q3, q1, q2, m1, m2, i);
            double dx = p1.x[i] - q1.x[i], dy = p1.y[i] - q1.y[i], dz = p1.z[i] - q1.z[i];
            still_together[i] &= dx * dx + dy * dy + dz * dz <= critical * critical;
            if (still_together[i] == true) times[i]++;
            kick(p1, i, dt);
            kick(p2, i, dt);
            kick(p3, i, dt);
            kick(q1, i, dt);
            kick(q2, i, dt);
            kick(q3, i, dt);
            drift(p1, i, dt);
            drift(p2, i, dt);
            drift(p3, i, dt);
            drift(q1, i, dt);
            drift(q2, i, dt);
            drift(q3, i, dt);
            replace(p1, i);
            replace(p2, i);
            replace(p3, i);
            replace(q1, i);
            replace(q2, i);
            replace(q3, i);
        }
    }
}

static double *filled(const std::vector<double> &values) {
    double *d;
    CHECK(cudaMalloc(&d, values.size() * sizeof(double)));
    CHECK(cudaMemcpy(d, values.data(), values.size() * sizeof(double), cudaMemcpyHostToDevice));
    return d;
}

int main(int argc, char **argv) {
    int width = argc > 1 ? atoi(argv[1]) : 300, steps = argc > 2 ? atoi(argv[2]) : 50000;
    int n = width * width;
    auto same = [&](double v) { return filled(std::vector<double>(n, v)); };
    auto body = [&](double x, double y, double z, double vx) {
        return Body{same(x), same(y), same(z), same(vx), same(0), same(0),
                    same(0), same(0), same(0), same(0),  same(0), same(0)};
    };
    Body bodies[6];
    for (int twin = 0; twin < 2; twin++) {
        double shift = twin * 0.001;
        std::vector<double> x(n), y(n);
        for (int i = 0; i < n; i++) {
            x[i] = -20. + 40 * (double(i % width) / double(width)) + shift;
            y[i] = -20. + 40 * (double(i / width) / double(width)) + shift;
        }
        bodies[3 * twin] = body(0, 0, -11 + shift, -3);
        bodies[3 * twin].x = filled(x);
        bodies[3 * twin].y = filled(y);
        bodies[3 * twin + 1] = body(0, 0, 0, 0);
        bodies[3 * twin + 2] = body(10, 10, 12, 3);
    }
    bool *together;
    int *times;
    CHECK(cudaMalloc(&together, n * sizeof(bool)));
    CHECK(cudaMemset(together, 1, n * sizeof(bool)));
    CHECK(cudaMalloc(&times, n * sizeof(int)));
    CHECK(cudaMemset(times, 0, n * sizeof(int)));
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(start));
    divergence<<<(n + 255) / 256, 256>>>(n, steps, 0.001, together, times, 10, 20, 30, 0.5, bodies[0], bodies[1],
                                         bodies[2], bodies[3], bodies[4], bodies[5]);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, start, end));
    std::vector<uint32_t> result(n);
    CHECK(cudaMemcpy(result.data(), times, n * sizeof(int), cudaMemcpyDeviceToHost));
    unsigned long long sum = 0, never = 0;
    for (uint32_t t : result) {
        sum += t;
        never += t == (uint32_t)steps;
    }
    printf("sum %llu never %llu seconds %.4f\n", sum, never, ms / 1000);
    if (argc > 3) {
        FILE *f = fopen(argv[3], "wb");
        if (!f || fwrite(result.data(), 4, n, f) != (size_t)n || fclose(f)) {
            fprintf(stderr, "cannot write %s\n", argv[3]);
            return 1;
        }
    }
}
