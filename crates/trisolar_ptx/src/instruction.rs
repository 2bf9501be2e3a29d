//! Decoded instructions.

/// Types of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Pred,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    Bf16,
    F32,
    F64,
    B128,
}

impl Type {
    /// The type of a suffix; bits without a meaning are unsigned numbers.
    pub(crate) fn of(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "pred" => Self::Pred,
            "b8" | "u8" => Self::U8,
            "b16" | "u16" => Self::U16,
            "b32" | "u32" => Self::U32,
            "b64" | "u64" => Self::U64,
            "s8" => Self::S8,
            "s16" => Self::S16,
            "s32" => Self::S32,
            "s64" => Self::S64,
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "b128" => Self::B128,
            _ => return None,
        })
    }

    pub(crate) fn bytes(self) -> u32 {
        match self {
            Self::Pred | Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
            Self::U64 | Self::S64 | Self::F64 => 8,
            Self::B128 => 16,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// The bits of a register that a value of this type has.
    pub(crate) fn mask(self) -> u64 {
        match self.bytes() {
            _ if self == Self::Pred => 1,
            8 | 16 => u64::MAX,
            bytes => (1 << (8 * bytes)) - 1,
        }
    }
}

/// What an instruction does. Those that are missing here are decoded as `Unknown` and are a fault where they are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Unknown,
    Abs,
    Activemask,
    Add,
    AddCarry,
    And,
    Atom,
    Bar,
    Bfe,
    Bfi,
    Bfind,
    Bra,
    Brev,
    Brx,
    Call,
    Clz,
    Cnot,
    Copysign,
    Cos,
    CpAsync,
    Cvt,
    CvtaFrom,
    CvtaTo,
    Div,
    Dp4a,
    Ex2,
    Exit,
    Fence,
    Fma,
    Isspacep,
    Ld,
    Lg2,
    Lop3,
    MadCarry,
    MadHi,
    MadLo,
    MadWide,
    Match,
    Max,
    Min,
    Mov,
    MulHi,
    MulLo,
    MulWide,
    Nanosleep,
    Neg,
    Nop,
    Not,
    Or,
    Pack,
    Popc,
    Prmt,
    Rcp,
    Redux,
    Rem,
    Ret,
    Rsqrt,
    Sad,
    Selp,
    Set,
    Setp,
    Shf,
    Shfl,
    Shl,
    Shr,
    Sin,
    Slct,
    Special,
    Sqrt,
    St,
    Sub,
    SubCarry,
    Tanh,
    Testp,
    Trap,
    Unpack,
    Vote,
    WarpBar,
    Xor,
}

/// State spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Generic,
    Global,
    Shared,
    Local,
    Param,
}

/// Directions of rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To the nearest number, in ties to the even one.
    Nearest,
    /// Towards zero.
    Zero,
    /// Downwards.
    Down,
    /// Upwards.
    Up,
    /// To the nearest number, in ties away from zero.
    Away,
}

/// Results of `setp` are joined with a third operand by these.
pub(crate) const JOIN: [&str; 3] = ["and", "or", "xor"];

/// Comparisons; those from `equ` on are true for numbers without order.
pub(crate) const COMPARE: [&str; 18] = [
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu",
    "geu", "num", "nan",
];

/// Operations of `atom`, `red` and `redux`.
pub(crate) const ATOMIC: [&str; 10] = [
    "add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec",
];

/// Special registers.
pub(crate) const SPECIAL: [&str; 28] = [
    "tid.x",
    "tid.y",
    "tid.z",
    "ntid.x",
    "ntid.y",
    "ntid.z",
    "ctaid.x",
    "ctaid.y",
    "ctaid.z",
    "nctaid.x",
    "nctaid.y",
    "nctaid.z",
    "laneid",
    "warpid",
    "nwarpid",
    "smid",
    "nsmid",
    "gridid",
    "clock",
    "clock64",
    "globaltimer",
    "lanemask_eq",
    "lanemask_le",
    "lanemask_lt",
    "lanemask_ge",
    "lanemask_gt",
    "dynamic_smem_size",
    "total_smem_size",
];

/// Whether a special register tells the time.
pub(crate) fn is_clock(code: u8) -> bool {
    matches!(
        SPECIAL.get(usize::from(code)),
        Some(&("clock" | "clock64" | "globaltimer"))
    )
}

pub(crate) const FTZ: u8 = 1;
pub(crate) const SAT: u8 = 2;
pub(crate) const APPROX: u8 = 4;
/// The instruction reads, writes or keeps the carry.
pub(crate) const CARRY_IN: u8 = 8;
pub(crate) const CARRY_OUT: u8 = 16;
/// Ordered accesses: `volatile`, `relaxed` and stronger ones, `acquire`, `release`.
pub(crate) const STRONG: u8 = 32;
pub(crate) const ACQUIRE: u8 = 64;
pub(crate) const RELEASE: u8 = 128;

/// The slot of a frame that is always 0, for operands that an instruction does not have.
pub(crate) const NONE: u32 = 0;

/// An instruction. Operands are slots of the function's frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub(crate) op: Op,
    pub(crate) ty: Type,
    /// The type of the source, for conversions; of the result, for `set`.
    pub(crate) from: Type,
    pub(crate) space: Space,
    pub(crate) rounding: Rounding,
    pub(crate) flags: u8,
    /// A number that selects the operation, the comparison, the special register, the direction.
    pub(crate) code: u8,
    /// Elements of vectors; sources of `bar`.
    pub(crate) count: u8,
    /// The slot of the guard, doubled, plus 1 if it is negated; 0 without one.
    pub(crate) guard: u32,
    pub(crate) d: u32,
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) c: u32,
    /// An offset of an address, the target of a branch, the start of a list of slots.
    pub(crate) offset: i64,
}

/// A call: what is copied where.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    /// The function, or `None` for the address in a register.
    pub(crate) function: Option<u32>,
    /// Of each argument, the place in the caller's parameters.
    pub(crate) arguments: Vec<(u32, u32)>,
    /// Of the result.
    pub(crate) result: Option<(u32, u32)>,
}
