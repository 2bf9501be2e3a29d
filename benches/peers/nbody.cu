// All-pairs gravity by the tiled CUDA kernel of Nyland, Harris & Prins (2007), as in NVIDIA's nbody sample and in Bertinelli
// (2024/25), rewritten for Trisolar: the peer that Trisolar's kernels are timed against. Each thread computes the force on one body.
// A block copies as many bodies as it has threads to shared memory, adds their forces in a loop that is unrolled 16 times, and
// goes on to the next tile. A second small kernel moves the bodies (symplectic Euler).
//
//   nvcc -O3 -arch=native -o peer nbody.cu && ./peer N [block] [repeats] [f32|f64]
//
// N is rounded up to whole blocks. Prints N, block, precision, repeats, the mean of 1e9 interactions (N² a step) per second
// and its standard deviation over the repeats.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define CHECK(call)                                                                  \
    do {                                                                             \
        cudaError_t e = (call);                                                      \
        if (e != cudaSuccess) {                                                      \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e));               \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)

template <typename T> struct Four;
template <> struct Four<float> { using type = float4; };
template <> struct Four<double> { using type = double4; };
template <typename T> using four = typename Four<T>::type;

__device__ inline float inverse_root(float x) { return rsqrtf(x); }
__device__ inline double inverse_root(double x) { return rsqrt(x); }

template <typename T>
__device__ inline void interact(four<T> &a, const four<T> &i, const four<T> &j, T softening2) {
    T x = j.x - i.x, y = j.y - i.y, z = j.z - i.z;
    T r2 = x * x + y * y + z * z + softening2;
    T inverse = inverse_root(r2);
    T s = j.w * inverse * inverse * inverse;
    a.x += x * s;
    a.y += y * s;
    a.z += z * s;
}

template <typename T>
__global__ void accelerate(const four<T> *__restrict__ bodies, four<T> *accelerations, int n, T softening2) {
    extern __shared__ __align__(32) unsigned char memory[];
    four<T> *tile = reinterpret_cast<four<T> *>(memory);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    four<T> mine = bodies[i], a = {0, 0, 0, 0};
    for (int base = 0; base < n; base += blockDim.x) {
        tile[threadIdx.x] = bodies[base + threadIdx.x];
        __syncthreads();
#pragma unroll 16
        for (int j = 0; j < blockDim.x; j++) interact<T>(a, mine, tile[j], softening2);
        __syncthreads();
    }
    accelerations[i] = a;
}

template <typename T>
__global__ void move(four<T> *x, four<T> *v, const four<T> *a, T dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    v[i].x += a[i].x * dt;
    v[i].y += a[i].y * dt;
    v[i].z += a[i].z * dt;
    x[i].x += v[i].x * dt;
    x[i].y += v[i].y * dt;
    x[i].z += v[i].z * dt;
}

template <typename T> void measure(int n, int block, int repeats, const char *precision) {
    std::vector<four<T>> host(n);
    srand(1);
    auto uniform = [] { return (T)rand() / (T)RAND_MAX * 2 - 1; };
    for (auto &b : host) b = {uniform(), uniform(), uniform(), (T)1 / n};
    four<T> *x, *v, *a;
    size_t bytes = n * sizeof(four<T>);
    CHECK(cudaMalloc(&x, bytes));
    CHECK(cudaMalloc(&v, bytes));
    CHECK(cudaMalloc(&a, bytes));
    CHECK(cudaMemcpy(x, host.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(v, 0, bytes));
    int blocks = n / block;
    auto step = [&] {
        accelerate<T><<<blocks, block, block * sizeof(four<T>)>>>(x, a, n, (T)0.01);
        move<T><<<blocks, block>>>(x, v, a, (T)1e-4);
    };
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    auto time = [&](int steps) {
        CHECK(cudaEventRecord(begin));
        for (int s = 0; s < steps; s++) step();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        return ms / 1e3;
    };
    // Steps of about 50 ms together.
    time(1);
    int steps = (int)fmax(1.0, 0.05 / fmax(time(1), 1e-6));
    double sum = 0, squares = 0;
    for (int r = 0; r < repeats; r++) {
        double rate = (double)n * n * steps / time(steps) / 1e9;
        sum += rate;
        squares += rate * rate;
    }
    double mean = sum / repeats;
    double deviation = repeats > 1 ? sqrt(fmax(0.0, (squares - sum * mean) / (repeats - 1))) : 0;
    printf("%d,%d,%s,%d,%.1f,%.1f\n", n, block, precision, repeats, mean, deviation);
}

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: %s N [block] [repeats] [f32|f64]\n", arguments[0]);
        return 2;
    }
    int block = count > 2 ? atoi(arguments[2]) : 256;
    int repeats = count > 3 ? atoi(arguments[3]) : 10;
    std::string precision = count > 4 ? arguments[4] : "f32";
    int n = (atoi(arguments[1]) + block - 1) / block * block;
    if (precision == "f64")
        measure<double>(n, block, repeats, "f64");
    else
        measure<float>(n, block, repeats, "f32");
    return 0;
}
