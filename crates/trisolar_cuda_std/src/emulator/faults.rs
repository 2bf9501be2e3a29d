//! Signals of emulated threads: an access that the system refuses, or an abort, ends the launch instead of the process.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::sync::Once;

use super::context::{Context, Signal};

impl Signal {
    /// The signal in words.
    pub(super) fn describe(self, thread: &Context) -> String {
        let (address, verb) = match self {
            Self::Abort => return "was aborted".into(),
            Self::Instruction => return "executed an invalid instruction".into(),
            Self::Access { address, write } => match write {
                Some(true) => (address, "wrote"),
                Some(false) => (address, "read"),
                None => (address, "accessed"),
            },
        };
        if thread.is_beyond_stack(address) {
            return format!(
                "overflowed its stack of {} bytes: local variables belong to shared memory or buffers, and recursion needs an end; \
                 `stack_bytes` of the launch or the emulator sets the size",
                thread.stack_bytes
            );
        }
        let place = (thread.block())
            .describe_shared(address)
            .unwrap_or_else(|| super::guarded::describe(address));
        format!("{verb} {place}")
    }
}

/// Lets this CPU thread survive signals of emulated threads while it exists.
pub(super) struct Watch(#[allow(dead_code)] Option<handler::Stack>);

impl Watch {
    pub(super) fn new() -> Self {
        handler::install();
        Self(handler::Stack::new())
    }
}

/// From now on a panic of an emulated thread is not printed: its message becomes part of the launch's error. Other hooks may not return
/// from a panic that cannot unwind, as that of Rust's test harness, which holds the standard output then.
pub(super) fn keep_messages() {
    static HOOK: Once = Once::new();
    // The hook cannot be changed while the thread panics.
    if std::thread::panicking() {
        return;
    }
    HOOK.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let Some(thread) = super::context::try_current() else {
                return previous(panic);
            };
            let text = (panic.payload_as_str()).unwrap_or("with a payload that is not text");
            let place = panic.location().map(|at| format!(", in {at}"));
            let message = format!("{text}{}", place.unwrap_or_default());
            let backtrace = Backtrace::capture();
            if backtrace.status() == BacktraceStatus::Captured {
                eprintln!("{} panicked: {message}\n{backtrace}", thread.site());
            }
            thread.message.replace(Some(message));
        }));
    });
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod handler {
    use std::mem::MaybeUninit;
    use std::ptr;
    use std::sync::{Once, OnceLock};

    use crate::emulator::context::{Signal, try_current};

    const SIGNALS: [libc::c_int; 5] = [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGILL,
        libc::SIGFPE,
        libc::SIGABRT,
    ];

    /// What was done at each signal before.
    static BEFORE: OnceLock<[libc::sigaction; SIGNALS.len()]> = OnceLock::new();

    pub(super) fn install() {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            let ask = |signal| {
                let mut before = MaybeUninit::<libc::sigaction>::zeroed();
                // SAFETY: the call only writes the present action.
                unsafe {
                    libc::sigaction(signal, ptr::null(), before.as_mut_ptr());
                    before.assume_init()
                }
            };
            BEFORE.get_or_init(|| SIGNALS.map(ask));
            for signal in SIGNALS {
                // SAFETY: the action is a plain structure, and the handler has the signature that SA_SIGINFO asks for.
                unsafe {
                    let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
                    action.sa_sigaction = on_signal as *const () as usize;
                    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                    libc::sigaction(signal, &raw const action, ptr::null_mut());
                }
            }
        });
    }

    /// Ends the emulated thread that runs on this CPU thread. A signal of other code has the effect that it had before.
    unsafe extern "C" fn on_signal(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        // SAFETY: the kernel passes both structures.
        let (info, context) = unsafe { (&*info, &mut *context.cast::<libc::ucontext_t>()) };
        let stack_pointer = registers::stack_pointer(context);
        if let Some(thread) = try_current()
            && let Some(trap) = thread.trap.get()
            && trap.stack_ptr_in_bounds(stack_pointer)
        {
            thread.fault.set(Some(match signal {
                libc::SIGABRT => Signal::Abort,
                libc::SIGILL | libc::SIGFPE => Signal::Instruction,
                _ => Signal::Access {
                    // SAFETY: these signals have an address.
                    address: unsafe { info.si_addr() }.addr(),
                    write: registers::is_write(context),
                },
            }));
            thread.trap.set(None);
            // SAFETY: the stack pointer is in the coroutine, which waits in the signal and goes on as these registers say.
            registers::set(context, &unsafe { trap.setup_trap_handler(|| ()) });
            return;
        }
        let index = SIGNALS.iter().position(|known| *known == signal);
        if let (Some(before), Some(index)) = (BEFORE.get(), index) {
            // SAFETY: the action that was there before. The instruction that failed is repeated.
            unsafe { libc::sigaction(signal, &raw const before[index], ptr::null_mut()) };
        }
    }

    /// A stack for the handler: that of the emulated thread may be full.
    pub(super) struct Stack {
        _memory: Vec<u8>,
        before: libc::stack_t,
    }

    const STACK_BYTES: usize = 128 << 10;

    impl Stack {
        pub(super) fn new() -> Option<Self> {
            let mut memory: Vec<u8> = Vec::with_capacity(STACK_BYTES);
            let stack = libc::stack_t {
                ss_sp: memory.as_mut_ptr().cast(),
                ss_flags: 0,
                ss_size: STACK_BYTES,
            };
            let mut before = MaybeUninit::<libc::stack_t>::zeroed();
            // SAFETY: the memory stays in place until `drop` has put the former stack back.
            let set = unsafe { libc::sigaltstack(&raw const stack, before.as_mut_ptr()) };
            (set == 0).then(|| Self {
                _memory: memory,
                // SAFETY: the call has written it.
                before: unsafe { before.assume_init() },
            })
        }
    }

    impl Drop for Stack {
        fn drop(&mut self) {
            // SAFETY: the former stack is still there, as this one was set within its use.
            unsafe { libc::sigaltstack(&raw const self.before, ptr::null_mut()) };
        }
    }

    #[cfg(target_arch = "x86_64")]
    mod registers {
        use corosensei::trap::TrapHandlerRegs;

        pub(super) fn stack_pointer(context: &libc::ucontext_t) -> usize {
            context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize
        }

        pub(super) fn is_write(context: &libc::ucontext_t) -> Option<bool> {
            Some(context.uc_mcontext.gregs[libc::REG_ERR as usize] & 2 != 0)
        }

        pub(super) fn set(context: &mut libc::ucontext_t, to: &TrapHandlerRegs) {
            let registers = &mut context.uc_mcontext.gregs;
            for (register, value) in [
                (libc::REG_RIP, to.rip),
                (libc::REG_RSP, to.rsp),
                (libc::REG_RBP, to.rbp),
                (libc::REG_RDI, to.rdi),
                (libc::REG_RSI, to.rsi),
            ] {
                registers[register as usize] = value as i64;
            }
        }
    }

    #[cfg(target_arch = "aarch64")]
    mod registers {
        use corosensei::trap::TrapHandlerRegs;

        pub(super) fn stack_pointer(context: &libc::ucontext_t) -> usize {
            context.uc_mcontext.sp as usize
        }

        pub(super) fn is_write(_: &libc::ucontext_t) -> Option<bool> {
            None
        }

        pub(super) fn set(context: &mut libc::ucontext_t, to: &TrapHandlerRegs) {
            let registers = &mut context.uc_mcontext;
            registers.pc = to.pc;
            registers.sp = to.sp;
            registers.regs[0] = to.x0;
            registers.regs[1] = to.x1;
            registers.regs[29] = to.x29;
            registers.regs[30] = to.lr;
        }
    }
}

/// Systems on which a signal ends the process, as it does without an emulator.
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
mod handler {
    pub(super) struct Stack;

    impl Stack {
        pub(super) fn new() -> Option<Self> {
            None
        }
    }

    pub(super) fn install() {}
}
