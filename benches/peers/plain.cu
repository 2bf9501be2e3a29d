// The headline map as one would write it in CUDA C++ today, in forty lines: a thread a pixel, both systems in registers, rsqrt() instead of
// roots and divisions, each pair once, and a pixel ends when its twins have parted. A yardstick beside divergence.cu, the layout of Badger's
// study.
//
//   nvcc -O3 -arch=native -o plain plain.cu && ./plain 1000 50000 [out.u32]
//
// prints the sum of all steps, the number of pixels whose twins never parted, and the least time of three launches in seconds.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct System { double x[3][3], v[3][3]; };

// One step of explicit Euler for masses 10, 20 and 30 with G = 9.8.
__device__ inline void step(System &s, double dt) {
    const double m[3] = {98, 196, 294};
    double a[3][3] = {};
#pragma unroll
    for (int i = 0; i < 3; i++)
#pragma unroll
        for (int j = i + 1; j < 3; j++) {
            double d[3], r2 = 0;
            for (int k = 0; k < 3; k++) d[k] = s.x[j][k] - s.x[i][k], r2 += d[k] * d[k];
            double r = rsqrt(r2), w = r * r * r;
            for (int k = 0; k < 3; k++) a[i][k] += m[j] * w * d[k], a[j][k] -= m[i] * w * d[k];
        }
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) s.x[i][k] += dt * s.v[i][k], s.v[i][k] += dt * a[i][k];
}

__global__ void divergence(uint32_t *times, int width, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= width * width) return;
    double x = -20 + 40 * (double(i % width) / width), y = -20 + 40 * (double(i / width) / width);
    System p = {{{x, y, -11}, {0, 0, 0}, {10, 10, 12}}, {{-3, 0, 0}, {0, 0, 0}, {3, 0, 0}}}, q = p;
    for (int k = 0; k < 3; k++) q.x[0][k] += 0.001;
    int t = 0;
    for (; t < steps; t++) {
        double r2 = 0;
        for (int k = 0; k < 3; k++) r2 += (p.x[0][k] - q.x[0][k]) * (p.x[0][k] - q.x[0][k]);
        if (!(r2 <= 0.25)) break;
        step(p, 0.001), step(q, 0.001);
    }
    times[i] = t;
}

int main(int argc, char **argv) {
    int width = argc > 1 ? atoi(argv[1]) : 300, steps = argc > 2 ? atoi(argv[2]) : 50000, n = width * width;
    uint32_t *times;
    cudaEvent_t start, end;
    cudaEventCreate(&start), cudaEventCreate(&end);
    cudaMalloc(&times, n * sizeof *times);
    float best = 1e30f;
    for (int round = 0; round < 3; round++) {
        float ms;
        cudaEventRecord(start);
        divergence<<<(n + 127) / 128, 128>>>(times, width, steps);
        cudaEventRecord(end);
        cudaEventSynchronize(end);
        cudaEventElapsedTime(&ms, start, end);
        if (ms < best) best = ms;
    }
    std::vector<uint32_t> result(n);
    if (cudaMemcpy(result.data(), times, n * sizeof *times, cudaMemcpyDeviceToHost)) {
        fprintf(stderr, "%s\n", cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    unsigned long long sum = 0, never = 0;
    for (uint32_t t : result) sum += t, never += t == uint32_t(steps);
    printf("sum %llu never %llu seconds %.4f\n", sum, never, best / 1000);
    if (argc > 3) {
        FILE *f = fopen(argv[3], "wb");
        if (!f || fwrite(result.data(), 4, n, f) != size_t(n) || fclose(f)) {
            fprintf(stderr, "cannot write %s\n", argv[3]);
            return 1;
        }
    }
}
