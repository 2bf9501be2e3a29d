//! `#[address_space(shared)]`: statics of which every block has its own.
//!
//! rustc cannot place a static in shared memory. Inside a kernel, `static mut NAME: T` becomes a local pointer to shared
//! memory and every `NAME` of the body becomes `(*pointer)`: a place of type `T`, as written. A static elsewhere
//! becomes a zero-sized handle that dereferences to its memory.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, Block, Error, Item, ItemStatic, Meta, Pat, Result, StaticMutability, Stmt};

/// See [`macro@crate::address_space`].
pub fn expand(space: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let place: Ident = syn::parse2(space.clone()).map_err(|_| bad_space(&space))?;
    let declared: ItemStatic = syn::parse2(item).map_err(|error| {
        Error::new(
            error.span(),
            "#[address_space(..)] goes on a `static` with an initial value",
        )
    })?;
    match place.to_string().as_str() {
        "shared" => Ok(handle(&declared)),
        "global" | "constant" => Ok(declared.into_token_stream()),
        "local" => Err(Error::new_spanned(
            &place,
            "a static cannot be local to a thread on the GPU: use a variable of the kernel",
        )),
        _ => Err(bad_space(&space)),
    }
}

fn bad_space(space: &TokenStream) -> Error {
    Error::new_spanned(
        space,
        format!("unknown address space `{space}`: allowed are shared, global and constant"),
    )
}

/// The zero-sized handle.
fn handle(declared: &ItemStatic) -> TokenStream {
    let ItemStatic {
        attrs,
        vis,
        mutability,
        ident,
        ty,
        ..
    } = declared;
    let id = unique_id(ident);
    quote! {
        #(#attrs)*
        #vis static #mutability #ident: ::cuda_std::shared::SharedStatic<#ty, #id> =
            ::cuda_std::shared::SharedStatic::new();
    }
}

/// A number for one declaration, the same in every build of the same source.
fn unique_id(name: &Ident) -> u64 {
    static SEEN: Mutex<Option<HashMap<u64, u64>>> = Mutex::new(None);
    let mut hasher = DefaultHasher::new();
    for variable in ["CARGO_PKG_NAME", "CARGO_PKG_VERSION", "CARGO_CRATE_NAME"] {
        std::env::var(variable)
            .unwrap_or_default()
            .hash(&mut hasher);
    }
    name.to_string().hash(&mut hasher);
    let mut seen = SEEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let count = seen
        .get_or_insert_default()
        .entry(hasher.finish())
        .or_insert(0);
    *count += 1;
    count.hash(&mut hasher);
    hasher.finish()
}

/// Rewrites the shared `static mut`s in the body of a kernel, in whatever block they stand.
pub fn rewrite_statics_of_kernel(body: &mut Block) {
    Rewrite { outermost: true }.visit_block_mut(body);
}

struct Rewrite {
    /// In the kernel's own block, not one within.
    outermost: bool,
}

impl VisitMut for Rewrite {
    fn visit_block_mut(&mut self, block: &mut Block) {
        let outermost = std::mem::replace(&mut self.outermost, false);
        let names: Vec<Ident> = block.stmts.iter().filter_map(shared_static).collect();
        let names: Vec<Ident> = names
            .into_iter()
            .filter(|name| !named_by_an_item(block, name))
            .collect();
        if !names.is_empty() {
            let pointers: HashMap<String, Ident> = names
                .iter()
                .map(|name| {
                    let pointer = format_ident!("shared_{}", name, span = Span::mixed_site());
                    (name.to_string(), pointer)
                })
                .collect();
            let memory = match outermost {
                true => quote!(::cuda_std::__private::kernel_static),
                false => quote!(::cuda_std::shared::static_memory),
            };
            for statement in &mut block.stmts {
                *statement = rewritten(statement, &pointers, &memory);
            }
            // `kernel_static` belongs at the entry's start. (`sort_by_key` keeps the order of equals.)
            let declared = |statement: &Stmt| {
                let Stmt::Local(local) = statement else {
                    return false;
                };
                let Pat::Type(typed) = &local.pat else {
                    return false;
                };
                matches!(&*typed.pat, Pat::Ident(name) if pointers.values().any(|pointer| *pointer == name.ident))
            };
            block.stmts.sort_by_key(|statement| !declared(statement));
        }
        visit_mut::visit_block_mut(self, block);
    }

    // A function inside the kernel cannot see the kernel's variables.
    fn visit_item_mut(&mut self, _item: &mut Item) {}
}

/// The name, if the statement is `#[address_space(shared)] static mut`.
fn shared_static(statement: &Stmt) -> Option<Ident> {
    match statement {
        Stmt::Item(Item::Static(declared))
            if matches!(declared.mutability, StaticMutability::Mut(_))
                && declared.attrs.iter().any(is_shared) =>
        {
            Some(declared.ident.clone())
        }
        _ => None,
    }
}

fn is_shared(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else {
        return false;
    };
    list.path
        .segments
        .last()
        .is_some_and(|last| last.ident == "address_space")
        && list.tokens.to_string() == "shared"
}

/// Whether another item of the block (a nested function) speaks of the static.
fn named_by_an_item(block: &Block, name: &Ident) -> bool {
    struct Items<'a>(&'a Ident, bool);
    impl<'ast> Visit<'ast> for Items<'_> {
        fn visit_item(&mut self, item: &'ast Item) {
            let own = matches!(item, Item::Static(declared) if declared.ident == *self.0);
            self.1 |= !own && mentions(item.to_token_stream(), self.0);
        }
    }
    let mut items = Items(name, false);
    visit::visit_block(&mut items, block);
    items.1
}

fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == *name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        _ => false,
    })
}

fn rewritten(statement: &Stmt, pointers: &HashMap<String, Ident>, memory: &TokenStream) -> Stmt {
    let tokens = match (statement, shared_static(statement)) {
        (Stmt::Item(Item::Static(declared)), Some(name))
            if pointers.contains_key(&name.to_string()) =>
        {
            let (pointer, ty) = (&pointers[&name.to_string()], &declared.ty);
            let attribute = declared
                .attrs
                .iter()
                .find(|attribute| is_shared(attribute))
                .map(Attribute::path);
            quote_spanned! {name.span()=>
                #[allow(unused_variables, non_snake_case)]
                let #pointer: *mut #ty = {
                    // Keeps the import of the attribute in use.
                    #[#attribute(global)]
                    #[allow(dead_code)]
                    static ATTRIBUTE: () = ();
                    struct Site;
                    #memory::<Site, #ty>()
                };
            }
        }
        _ => replace(statement.to_token_stream(), pointers),
    };
    // What comes back is the same statement with a parenthesised place for a name.
    syn::parse::Parser::parse2(Block::parse_within, tokens)
        .ok()
        .and_then(|mut statements| statements.pop())
        .unwrap_or_else(|| statement.clone())
}

/// `NAME` to `(*pointer)`, inside macro calls too, but not where it is a part of a longer path or a field.
fn replace(tokens: TokenStream, pointers: &HashMap<String, Ident>) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |index: Option<usize>, c: char| matches!(index.and_then(|i| tokens.get(i)), Some(TokenTree::Punct(punct)) if punct.as_char() == c);
    let mut out = TokenStream::new();
    for (index, token) in tokens.iter().enumerate() {
        let (before, after) = (index.checked_sub(1), Some(index + 1));
        let before_that = index.checked_sub(2);
        let is_member = is(before, '.') && !is(before_that, '.');
        let is_path = (is(before, ':') && is(before_that, ':'))
            || (is(after, ':') && is(Some(index + 2), ':'));
        match token {
            TokenTree::Ident(ident) => match pointers.get(&ident.to_string()) {
                Some(pointer) if !is_member && !is_path && !is(before, '\'') => {
                    let span = ident.span();
                    let mut place =
                        Group::new(Delimiter::Parenthesis, quote_spanned!(span=> *#pointer));
                    place.set_span(span);
                    out.extend([TokenTree::Group(place)]);
                }
                _ => out.extend([token.clone()]),
            },
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), replace(group.stream(), pointers));
                inner.set_span(group.span());
                out.extend([TokenTree::Group(inner)]);
            }
            _ => out.extend([token.clone()]),
        }
    }
    out
}
