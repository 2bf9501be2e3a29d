//! The options of `#[kernel(…)]`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{
    AngleBracketedGenericArguments, Error, GenericArgument, GenericParam, Generics, Ident, Lit,
    LitInt, Result, Token, Type, parenthesized,
};

/// An option.
pub enum KernelOption {
    /// `grid_dim = 1d` and the like: a hint for another compiler, which is checked and dropped.
    Hint,
    /// `instances(f32: f32, …)`
    Instances(Vec<Instance>),
    /// `max_threads = 256` and the like.
    Bound(Bound),
    /// `cluster = 4` or `cluster = (2, 2, 1)`.
    Cluster(Cluster),
}

/// All options of a kernel.
#[derive(Default)]
pub struct Options {
    /// The instances to export.
    pub instances: Vec<Instance>,
    /// The limits within which the kernel is compiled.
    pub bounds: Bounds,
}

impl Parse for Options {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut options = Self::default();
        for option in Punctuated::<KernelOption, Token![,]>::parse_terminated(input)? {
            match option {
                KernelOption::Hint => {}
                KernelOption::Instances(list) => options.instances.extend(list),
                KernelOption::Bound(bound) => options.bounds.set(bound)?,
                KernelOption::Cluster(cluster) => options.bounds.set_cluster(cluster)?,
            }
        }
        options.bounds.check()?;
        Ok(options)
    }
}

/// The names of the launch bounds, and the largest value of each.
const BOUNDS: [(&str, u32); 3] = [
    ("max_threads", 1024),
    ("min_blocks", 32),
    ("max_registers", 255),
];

/// One of [`BOUNDS`].
pub struct Bound {
    name: Ident,
    /// The place in [`BOUNDS`].
    place: usize,
    value: u32,
}

impl Bound {
    fn parse(name: Ident, place: usize, input: ParseStream) -> Result<Self> {
        input.parse::<Token![=]>()?;
        let most = BOUNDS[place].1;
        let given: Lit = input.parse().map_err(|error| {
            let message = format!("`{name}` must be a whole number from 1 to {most}");
            Error::new(error.span(), message)
        })?;
        let value = match &given {
            Lit::Int(number) => number.base10_parse().ok(),
            _ => None,
        };
        let value = value
            .filter(|value| (1..=most).contains(value))
            .ok_or_else(|| {
                let given = given.to_token_stream();
                let message =
                    format!("`{name}` is `{given}`, but must be a whole number from 1 to {most}");
                Error::new_spanned(&given, message)
            })?;
        Ok(Self { name, place, value })
    }
}

/// The most blocks of a cluster on every GPU that has clusters.
const MAX_CLUSTER: u32 = 8;

/// The blocks of a cluster, as CUDA C++'s `__cluster_dims__` gives them.
pub struct Cluster {
    name: Ident,
    blocks: [u32; 3],
}

impl Cluster {
    fn parse(name: Ident, input: ParseStream) -> Result<Self> {
        input.parse::<Token![=]>()?;
        let numbers: Vec<LitInt> = if input.peek(syn::token::Paren) {
            let list;
            parenthesized!(list in input);
            Punctuated::<LitInt, Token![,]>::parse_terminated(&list)?
                .into_iter()
                .collect()
        } else {
            vec![input.parse()?]
        };
        let mut blocks = [1; 3];
        let sizes: Result<Vec<u32>> = numbers.iter().map(LitInt::base10_parse).collect();
        let sizes = sizes?;
        let count = sizes.iter().try_fold(1u32, |all, &n| all.checked_mul(n));
        if !(1..=3).contains(&sizes.len())
            || !count.is_some_and(|count| (1..=MAX_CLUSTER).contains(&count))
        {
            let message = format!(
                "`{name}` must have one to three numbers whose product is 1 to {MAX_CLUSTER}: the blocks along x, y and z"
            );
            return Err(Error::new_spanned(&name, message));
        }
        blocks[..sizes.len()].copy_from_slice(&sizes);
        Ok(Self { name, blocks })
    }
}

/// The limits within which a kernel is compiled, as CUDA C++'s `__launch_bounds__` and `__maxnreg__` give them, and its clusters.
#[derive(Default)]
pub struct Bounds([Option<Bound>; BOUNDS.len()], Option<Cluster>);

impl Bounds {
    fn set(&mut self, bound: Bound) -> Result<()> {
        let place = &mut self.0[bound.place];
        if place.is_some() {
            let message = format!("`{}` is given twice", bound.name);
            return Err(Error::new_spanned(&bound.name, message));
        }
        *place = Some(bound);
        Ok(())
    }

    fn set_cluster(&mut self, cluster: Cluster) -> Result<()> {
        if self.1.is_some() {
            let message = format!("`{}` is given twice", cluster.name);
            return Err(Error::new_spanned(&cluster.name, message));
        }
        self.1 = Some(cluster);
        Ok(())
    }

    /// The blocks of a cluster along x, y and z.
    pub fn cluster(&self) -> Option<[u32; 3]> {
        self.1.as_ref().map(|cluster| cluster.blocks)
    }

    fn check(&self) -> Result<()> {
        let [threads, blocks, registers] = &self.0;
        match (threads, blocks, registers) {
            (None, Some(blocks), _) => Err(Error::new_spanned(
                &blocks.name,
                "`min_blocks` needs `max_threads`: it counts blocks of so many threads",
            )),
            (_, Some(_), Some(registers)) => Err(Error::new_spanned(
                &registers.name,
                "`max_registers` and `min_blocks` exclude each other: both limit the registers of a thread",
            )),
            _ => Ok(()),
        }
    }

    /// The largest number of threads of a block.
    pub fn max_threads(&self) -> Option<u32> {
        self.0[0].as_ref().map(|bound| bound.value)
    }

    /// What the PTX entry says of itself: a comment from which `cuda_builder` reads the package and the entry's directives.
    pub fn marker(&self) -> String {
        let names = [".maxntid", ".minnctapersm", ".maxnreg"];
        let given = self.0.iter().zip(names).filter_map(|(bound, name)| {
            let value = bound.as_ref()?.value;
            Some(format!(" {name} {value}"))
        });
        let cluster = self
            .cluster()
            .map(|[x, y, z]| format!(" .reqnctapercluster {x}, {y}, {z}"));
        let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
        let text: String = given.chain(cluster).collect();
        format!("// cuda_std kernel {package}:{text}")
    }
}

impl Parse for KernelOption {
    fn parse(input: ParseStream) -> Result<Self> {
        let name: Ident = input.parse()?;
        if name == "instances" {
            let list;
            parenthesized!(list in input);
            let instances = Punctuated::<Instance, Token![,]>::parse_terminated(&list)?;
            if instances.is_empty() {
                return Err(Error::new_spanned(&name, "no instance is listed"));
            }
            return Ok(Self::Instances(instances.into_iter().collect()));
        }
        if let Some(place) = BOUNDS.iter().position(|(bound, _)| name == bound) {
            return Bound::parse(name, place, input).map(Self::Bound);
        }
        if name == "cluster" {
            return Cluster::parse(name, input).map(Self::Cluster);
        }
        if name != "grid_dim" && name != "block_dim" {
            return Err(Error::new_spanned(
                &name,
                format!(
                    "unknown option `{name}`: #[kernel] knows `instances(…)`, `max_threads`, `min_blocks`, `max_registers`, \
                     `cluster`, `grid_dim` and `block_dim`"
                ),
            ));
        }
        input.parse::<Token![=]>()?;
        let value: Lit = input.parse()?;
        match value
            .to_token_stream()
            .to_string()
            .to_ascii_lowercase()
            .as_str()
        {
            "1d" | "2d" | "3d" => Ok(Self::Hint),
            other => Err(Error::new_spanned(
                &value,
                format!("`{name}` is `{other}`, but must be 1d, 2d or 3d"),
            )),
        }
    }
}

/// An instance of a generic kernel: the suffix of its entry's name, and its generic arguments.
pub struct Instance {
    /// The suffix without the underscore before it. It may begin with a digit.
    pub suffix: TokenStream,
    /// The arguments in the order of the generic parameters.
    pub arguments: Vec<GenericArgument>,
}

impl Parse for Instance {
    /// `suffix: Type` or `suffix: <Type, 4>`.
    fn parse(input: ParseStream) -> Result<Self> {
        let suffix = if input.peek(LitInt) {
            input.parse::<LitInt>()?.into_token_stream()
        } else {
            input.parse::<Ident>()?.into_token_stream()
        };
        input.parse::<Token![:]>()?;
        let arguments = if input.peek(Token![<]) {
            let list: AngleBracketedGenericArguments = input.parse()?;
            list.args.into_iter().collect()
        } else {
            vec![GenericArgument::Type(input.parse::<Type>()?)]
        };
        Ok(Self { suffix, arguments })
    }
}

impl Instance {
    /// The name of its PTX entry. These names are made only here.
    pub fn entry(&self, kernel: &Ident) -> Ident {
        Ident::new(&format!("{kernel}_{}", self.suffix), kernel.span())
    }

    /// Returns declarations that make the generic parameters aliases of its arguments, and the parameters' names.
    pub fn aliases(&self, generics: &Generics) -> (Vec<TokenStream>, Vec<Ident>) {
        let parameters = generics
            .params
            .iter()
            .filter(|parameter| !matches!(parameter, GenericParam::Lifetime(_)));
        let alias = |(parameter, argument): (&GenericParam, &GenericArgument)| match parameter {
            GenericParam::Const(constant) => {
                let (name, ty) = (&constant.ident, &constant.ty);
                (quote!(const #name: #ty = #argument;), name.clone())
            }
            GenericParam::Type(ty) => {
                let name = &ty.ident;
                (quote!(type #name = #argument;), name.clone())
            }
            GenericParam::Lifetime(_) => unreachable!("filtered out"),
        };
        parameters.zip(&self.arguments).map(alias).unzip()
    }
}
