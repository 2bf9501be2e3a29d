//! The attribute macros of `cuda_std`, which re-exports them; this crate is not for direct use. Each attribute has a module;
//! `arguments` defines which parameters a kernel may have.

mod address_space;
mod arguments;
mod descriptor;
mod kernel;
mod markers;
mod options;

use proc_macro::TokenStream;

/// Makes a function an entry point of the GPU, callable like any other function on the CPU.
///
/// On the device the function becomes an exported PTX entry of the same name. A slice (`&[T]`, `&mut [T]`, `*const [T]`, `*mut
/// [T]`) and a thread's share of an array (`Each<'_, T>`, `EachRef<'_, T>`, `PerBlock<'_, T>`) take two launch arguments, pointer and
/// number of elements; every other parameter takes one. On the CPU the function remains an ordinary function of the same signature, to
/// be called from inside `cuda_std::emulator`.
///
/// A kernel returns nothing. Its parameters have names and are scalars, raw pointers, references, slices, shares of arrays or `Copy`
/// structs.
///
/// # Safe kernels
/// A kernel that is not an `unsafe fn` takes numbers and other `Plain` values, `&[T]`, and shares of arrays. Its launch is safe as well:
/// it borrows the arrays, and checks that all `Each` and `EachRef` have the same length, and that there is an element of every `PerBlock`
/// for each block. See `cuda_std::SafeKernel`.
///
/// # The descriptor
/// In addition to the function, the host gets a type with the kernel's name in camel case (`NbodyKick` for `nbody_kick`), which
/// implements `cuda_std::Kernel`: it has the entry's name, the types of the launch arguments and the function on the CPU. A
/// launch by this type with arguments of a wrong type or number does not compile.
///
/// # Generic kernels
/// `#[kernel(instances(f32: f32, f64: f64))]` on `pub unsafe fn scale<S: Float>(data: *mut S, by: S, n: u32)` exports the entries
/// `scale_f32` and `scale_f64`, and the descriptor is `Scale<S>`. Several generic arguments are written in angle brackets, as in
/// `instances(f32_4: <f32, 4>)`. In the parameters' types, an associated type of a generic parameter is written
/// `<S as Trait>::Type`.
///
/// # Launch bounds
/// `#[kernel(max_threads = 256, min_blocks = 2)]` compiles the kernel for blocks of at most 256 threads, two of which fit on a
/// multiprocessor at the same time: the compiler limits the registers of a thread accordingly (`__launch_bounds__(256, 2)` in
/// CUDA C++). `max_registers = 64` limits them directly (`__maxnreg__(64)`). A launch with more threads in a block is an error, in the emulator, too.
///
/// # Clusters
/// `#[kernel(cluster = 4)]` makes clusters of four blocks along x, and `cluster = (2, 2, 1)` of two by two (`__cluster_dims__` in CUDA C++); see
/// `cuda_std::cluster`. A cluster has at most 8 blocks, and the grid consists of whole clusters.
///
/// The hints `grid_dim = …` and `block_dim = …` of rust-cuda are accepted and have no effect.
#[proc_macro_attribute]
pub fn kernel(options: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(options.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Chooses the memory that holds a `static`: `shared`, `global` or `constant`.
///
/// `#[address_space(shared)] static mut TILE: [f32; 256] = [0.0; 256];` declares one array for each block, whichever module,
/// function or crate it is in, and wherever it is used. Otherwise it is an ordinary static: `TILE[i]`, `&raw mut TILE` and
/// `TILE.as_mut_ptr()` refer to the block's memory. That memory is not initialised when a kernel starts: the initial value is
/// dropped, and the address cannot be the initial value of another static. A static that is not `mut` needs a type that can
/// still be changed, such as an atomic.
///
/// On the CPU the emulator runs one block at a time in a program that has such statics.
///
/// `#[address_space(constant)] static WEIGHTS: Constant<[f32; 3]> = Constant::new([1.0, 2.0, 1.0]);` declares a variable in constant
/// memory (`__constant__` in CUDA C++), which the host sets; see `cuda_std::Constant`. A `static mut` of any type is in constant
/// memory, too, as in rust-cuda; kernels cannot write to it. The PTX has the static's own name, or that of `export_name`. Other
/// statics with `constant` never change, and the compiler computes with their values.
///
/// `global` leaves the static as it is: rustc places it in global memory.
#[proc_macro_attribute]
pub fn address_space(space: TokenStream, item: TokenStream) -> TokenStream {
    address_space::expand(space.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// A function that exists only on the device: on the CPU it panics with its name.
#[proc_macro_attribute]
pub fn gpu_only(_attribute: TokenStream, item: TokenStream) -> TokenStream {
    markers::gpu_only(item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Marks a `#[no_mangle]` function that other PTX or cubin files call. rustc keeps such functions anyway; the attribute only
/// checks that the function is one.
#[proc_macro_attribute]
pub fn externally_visible(_attribute: TokenStream, item: TokenStream) -> TokenStream {
    markers::externally_visible(item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
