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
}

impl KernelOption {
    /// The instances that the option lists.
    pub fn into_instances(self) -> Vec<Instance> {
        match self {
            Self::Hint => Vec::new(),
            Self::Instances(list) => list,
        }
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
        if name != "grid_dim" && name != "block_dim" {
            return Err(Error::new_spanned(
                &name,
                format!(
                    "unknown option `{name}`: #[kernel] knows `instances(…)`, `grid_dim` and `block_dim`"
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
