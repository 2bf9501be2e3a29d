// The work of `examples/kernel_speed` by CUDA C++, cuBLAS and CUB: the peers that Trisolar's crates for kernels are timed against.
//
//   nvcc -O3 -std=c++17 -arch=native -o kernels kernels.cu -lcublas && ./kernels
//
// The tiled product is the same algorithm with the same tiles. Every result is checked. Prints the best mean time of a launch in 5 rounds of 20.

#include <cublas_v2.h>

#include <cub/cub.cuh>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                        \
    do {                                                                   \
        if (int e = int(call)) {                                           \
            fprintf(stderr, "%s: error %d\n", #call, e);                   \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

constexpr int SIDE = 16;

__global__ void product_tiled(const float *a, const float *b, float *c, size_t m, size_t n, size_t k) {
    __shared__ float tile_a[SIDE * SIDE], tile_b[SIDE * SIDE];
    const size_t tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE, across = (n + SIDE - 1) / SIDE;
    const size_t row = blockIdx.x / across * SIDE + ty, column = blockIdx.x % across * SIDE + tx;
    float sum = 0;
    for (size_t first = 0; first < k; first += SIDE) {
        const size_t ka = first + tx, kb = first + ty;
        tile_a[ty * SIDE + tx] = row < m && ka < k ? a[row * k + ka] : 0;
        tile_b[ty * SIDE + tx] = kb < k && column < n ? b[kb * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < SIDE; ++i) sum += tile_a[ty * SIDE + i] * tile_b[i * SIDE + tx];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

template <typename F> void time(const char *what, double amount, const char *unit, F launch) {
    launch();
    CHECK(cudaDeviceSynchronize());
    double best = 1e300;
    for (int round = 0; round < 5; ++round) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < 20; ++i) launch();
        CHECK(cudaDeviceSynchronize());
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        best = std::min(best, taken.count() / 20);
    }
    printf("%-44s %9.3f ms  %7.2f %s\n", what, best * 1e3, amount / best / 1e12, unit);
}

template <typename T> T *room(size_t count) {
    void *p;
    CHECK(cudaMalloc(&p, count * sizeof(T)));
    return static_cast<T *>(p);
}

template <typename T> T *upload(const std::vector<T> &host) {
    T *p = room<T>(host.size());
    CHECK(cudaMemcpy(p, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}

// A number that looks random.
uint64_t scrambled(uint64_t i, uint64_t seed) {
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull ^ seed;
    x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9ull;
    return x ^ (x >> 32);
}

// Whole numbers between -8 and 8, whose products and sums are exact.
int whole(uint64_t i, uint64_t seed) {
    return int((scrambled(i, seed) >> 40) % 17) - 8;
}

template <typename T, typename F> void product(const char *what, size_t n, F launch) {
    std::vector<T> a(n * n), b(n * n), c(n * n);
    for (size_t i = 0; i < n * n; ++i) a[i] = T(whole(i, 1)), b[i] = T(whole(i, 2));
    T *da = upload(a), *db = upload(b), *dc = room<T>(n * n);
    time(what, 2.0 * n * n * n, "Tflop/s", [&] { launch(da, db, dc, n); });
    CHECK(cudaMemcpy(c.data(), dc, n * n * sizeof(T), cudaMemcpyDeviceToHost));
    for (size_t place = 0; place < n * n; place += n * n / 4096 | 1) {
        T sum = 0;
        for (size_t k = 0; k < n; ++k) sum += a[place / n * n + k] * b[k * n + place % n];
        if (c[place] != sum) CHECK(1);
    }
    CHECK(cudaFree(da));
    CHECK(cudaFree(db));
    CHECK(cudaFree(dc));
}

__global__ void fast_functions(const float *x, const float *y, float *results, size_t n) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float angle = x[i], exponent = x[n + i], positive = x[2 * n + i];
    const float all[] = {__sinf(angle),    __cosf(angle),    __tanf(angle),     __expf(exponent),        __exp10f(exponent),
                         __logf(positive), __log2f(positive), __log10f(positive), __powf(positive, y[i]), __fdividef(positive, y[i])};
    for (int f = 0; f < 10; ++f) results[f * n + i] = all[f];
}

// Prints the sum of the bits of each function's results.
void functions() {
    const size_t n = size_t(1) << 22;
    std::vector<float> x(3 * n), y(n), found(10 * n);
    auto uniform = [](uint64_t i, uint64_t seed, float low, float high) { return low + (high - low) * (float(scrambled(i, seed) >> 40) / 16777216.0f); };
    for (size_t i = 0; i < n; ++i) {
        x[i] = uniform(i, 6, -3.14159265358979323846f, 3.14159265358979323846f);
        x[n + i] = uniform(i, 7, -30, 30);
        const uint64_t bits = scrambled(i, 8);
        const uint32_t word = uint32_t(67 + (bits >> 40) % 120) << 23 | uint32_t(bits & 0x7fffff);
        memcpy(&x[2 * n + i], &word, 4);
        y[i] = uniform(i, 9, 0.25f, 2);
    }
    float *dx = upload(x), *dy = upload(y), *dr = room<float>(10 * n);
    fast_functions<<<unsigned((n + 255) / 256), 256>>>(dx, dy, dr, n);
    CHECK(cudaMemcpy(found.data(), dr, 10 * n * sizeof(float), cudaMemcpyDeviceToHost));
    const char *names[] = {"sin", "cos", "tan", "exp", "exp10", "log", "log2", "log10", "pow", "divide"};
    for (int f = 0; f < 10; ++f) {
        uint64_t sum = 0;
        for (size_t i = 0; i < n; ++i) {
            uint32_t word;
            memcpy(&word, &found[f * n + i], 4);
            sum += word;
        }
        printf("fast %-8s bits %016llx\n", names[f], (unsigned long long)sum);
    }
}

int main() {
    functions();
    product<float>("product by tiles, f32, 4096", 4096, [](const float *a, const float *b, float *c, size_t n) {
        const size_t side = (n + SIDE - 1) / SIDE;
        product_tiled<<<unsigned(side * side), SIDE * SIDE>>>(a, b, c, n, n, n);
    });
    cublasHandle_t blas;
    CHECK(cublasCreate(&blas));
    product<double>("cublasDgemm, f64, 8192", 8192, [&](const double *a, const double *b, double *c, size_t n) {
        const double one = 1, zero = 0;
        // Its matrices are column by column: C^T = B^T A^T.
        CHECK(cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, int(n), int(n), int(n), &one, b, int(n), a, int(n), &zero, c, int(n)));
    });

    const size_t count = size_t(1) << 28;
    std::vector<uint32_t> x(count), found(count);
    std::vector<float> f(count);
    for (size_t i = 0; i < count; ++i) x[i] = uint32_t(whole(i, 3) + 8), f[i] = whole(i, 3) > 7;
    uint32_t *dx = upload(x), *dy = room<uint32_t>(count);
    time("cudaMemcpyDeviceToDevice, 2^26 x 16 bytes", 8.0 * count, "TB/s",
         [&] { CHECK(cudaMemcpyAsync(dy, dx, 4 * count, cudaMemcpyDeviceToDevice)); });

    float *df = upload(f), *total = room<float>(1);
    size_t bytes = 0;
    CHECK(cub::DeviceReduce::Sum(nullptr, bytes, df, total, int(count)));
    void *space = room<char>(bytes);
    time("cub::DeviceReduce::Sum, 2^28 f32", 4.0 * count, "TB/s", [&] { CHECK(cub::DeviceReduce::Sum(space, bytes, df, total, int(count))); });
    float sum, expected = 0;
    CHECK(cudaMemcpy(&sum, total, 4, cudaMemcpyDeviceToHost));
    int whole_sum = 0;
    for (float one : f) whole_sum += int(one);
    expected = float(whole_sum);
    if (sum != expected) CHECK(1);

    CHECK(cub::DeviceScan::InclusiveSum(nullptr, bytes, dx, dy, int(count)));
    space = room<char>(bytes);
    time("cub::DeviceScan::InclusiveSum, 2^28 u32", 8.0 * count, "TB/s",
         [&] { CHECK(cub::DeviceScan::InclusiveSum(space, bytes, dx, dy, int(count))); });
    CHECK(cudaMemcpy(found.data(), dy, 4 * count, cudaMemcpyDeviceToHost));
    uint32_t running = 0;
    for (size_t i = 0; i < count; ++i)
        if (found[i] != (running += x[i])) CHECK(1);
}
