//! Finds the mutations of a source file, each a place and its replacement.

use std::collections::BTreeMap;
use std::ops::Range;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Expr, Item, Lit, Meta, Pat, ReturnType, Stmt, Type, UnOp};

/// One change to a source.
pub struct Mutation {
    /// The bytes that are replaced; empty for an insertion.
    pub range: Range<usize>,
    pub change: Change,
    /// The enclosing function, with its type.
    pub function: String,
    /// A description of the replacement for people. With the file and the function, it names the mutation.
    pub what: String,
}

/// How a mutation is inserted into the source, so that it can be switched on while the program runs.
#[derive(Clone)]
pub enum Change {
    /// Replaces the expression with this one.
    Expression(String),
    /// Replaces the statement with this one, or removes it if empty.
    Statement(String),
    /// Makes the function return this value at once.
    Body(String),
    /// Skips the arm of a `match`.
    Arm,
}

/// Calls and their replacements.
const CALLS: [(&str, &str); 34] = [
    ("all", "any"),
    ("any", "all"),
    ("checked_add", "checked_sub"),
    ("checked_mul", "checked_add"),
    ("checked_sub", "checked_add"),
    ("ends_with", "starts_with"),
    ("first", "last"),
    ("from_be_bytes", "from_le_bytes"),
    ("from_le_bytes", "from_be_bytes"),
    ("is_err", "is_ok"),
    ("is_none", "is_some"),
    ("is_none_or", "is_some_and"),
    ("is_ok", "is_err"),
    ("is_some", "is_none"),
    ("is_some_and", "is_none_or"),
    ("last", "first"),
    ("leading_ones", "trailing_ones"),
    ("leading_zeros", "trailing_zeros"),
    ("max", "min"),
    ("min", "max"),
    ("or", "and"),
    ("saturating_add", "saturating_sub"),
    ("saturating_mul", "saturating_add"),
    ("saturating_sub", "saturating_add"),
    ("starts_with", "ends_with"),
    ("swap_bytes", "reverse_bits"),
    ("to_be_bytes", "to_le_bytes"),
    ("to_le_bytes", "to_be_bytes"),
    ("trailing_ones", "leading_ones"),
    ("trailing_zeros", "leading_zeros"),
    ("wrapping_add", "wrapping_sub"),
    ("wrapping_mul", "wrapping_add"),
    ("wrapping_shl", "wrapping_shr"),
    ("wrapping_sub", "wrapping_add"),
];

/// A function that may be evaluated at compile time, when no mutation can be switched on.
pub struct ConstFn {
    /// The word `const`.
    pub word: Range<usize>,
    pub body: Range<usize>,
    pub name: String,
}

/// Returns all mutations of a source, ordered by place, and its `const` functions. `is_on` returns whether code with a
/// condition is compiled.
pub fn of(source: &str, is_on: &dyn Fn(&Meta) -> bool) -> syn::Result<(Vec<Mutation>, Vec<ConstFn>)> {
    let file = syn::parse_file(source)?;
    let mut sites = Sites { source, is_on, function: Vec::new(), all: Vec::new(), consts: Vec::new() };
    sites.visit_file(&file);
    let mut all = sites.all;
    all.sort_by_key(|mutation| (mutation.range.start, std::cmp::Reverse(mutation.range.end)));
    // Repeated changes in a function get numbers, so that their names differ.
    let mut counts = BTreeMap::new();
    for mutation in &mut all {
        let count = counts.entry((mutation.function.clone(), mutation.what.clone())).or_insert(0);
        *count += 1;
        if *count > 1 {
            mutation.what = format!("{} (number {count})", mutation.what);
        }
    }
    Ok((all, sites.consts))
}

struct Sites<'s> {
    source: &'s str,
    is_on: &'s dyn Fn(&Meta) -> bool,
    /// The names of the enclosing types and functions.
    function: Vec<String>,
    all: Vec<Mutation>,
    consts: Vec<ConstFn>,
}

impl Sites<'_> {
    fn text(&self, span: Span) -> &str {
        &self.source[span.byte_range()]
    }

    fn add(&mut self, range: Range<usize>, change: Change, what: String) {
        self.all.push(Mutation { range, change, function: self.function.join("::"), what });
    }

    /// Adds the mutation of `expression` to `instead`.
    fn replace(&mut self, expression: &Expr, instead: &str) {
        let what = format!("{} => {}", short(self.text(expression.span())), short(instead));
        self.add(expression.span().byte_range(), Change::Expression(instead.into()), what);
    }

    /// Adds the mutation of the part of `expression` at `part` to `instead`.
    fn replace_part(&mut self, expression: &Expr, part: Span, instead: &str) {
        let (whole, part) = (expression.span().byte_range(), part.byte_range());
        let text = [&self.source[whole.start..part.start], instead, &self.source[part.end..whole.end]].concat();
        self.replace(expression, &text);
    }

    /// Adds the mutations of a condition: `true` and `false`.
    fn condition(&mut self, condition: &Expr, with_true: bool) {
        match condition {
            Expr::Let(_) => {}
            Expr::Binary(binary) if has_let(condition) => {
                self.condition(&binary.left, true);
                self.condition(&binary.right, true);
            }
            _ => {
                let known = self.known(condition);
                if with_true && known != Some(true) {
                    self.replace(condition, "true");
                }
                if known != Some(false) {
                    self.replace(condition, "false");
                }
            }
        }
    }

    /// Returns the value of a `cfg!` in this build; `None` for other expressions.
    fn known(&self, expression: &Expr) -> Option<bool> {
        let Expr::Macro(call) = expression else { return None };
        let condition = call.mac.path.is_ident("cfg").then(|| call.mac.parse_body::<Meta>().ok())??;
        Some((self.is_on)(&condition))
    }

    /// Adds the mutations of a function: values that it may return at once, and the mutations of its body.
    fn body(&mut self, signature: &syn::Signature, block: &syn::Block) {
        if let Some(word) = &signature.constness {
            let (word, body) = (word.span().byte_range(), block.span().byte_range());
            self.consts.push(ConstFn { word, body, name: signature.ident.to_string() });
        }
        let values: &[&str] = match &signature.output {
            ReturnType::Default => &[""],
            ReturnType::Type(_, ty) => match &**ty {
                Type::Path(path) => {
                    let name = path.path.segments.last().map(|segment| segment.ident.to_string());
                    let text = self.text(ty.span());
                    match name.as_deref() {
                        Some("bool") => &["true", "false"],
                        Some("Option") if text.contains("<()>") => &["None", "Some(())"],
                        Some("Option") => &["None"],
                        Some("Result") if text.contains("<()") => &["Ok(())"],
                        Some("Result") if text.contains("<bool") => &["Ok(true)", "Ok(false)"],
                        Some("u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64") => &["0", "1"],
                        Some("f32" | "f64") => &["0.0", "1.0"],
                        _ => &[],
                    }
                }
                _ => &[],
            },
        };
        let start = block.brace_token.span.open().byte_range().end;
        let end = block.brace_token.span.close().byte_range().start;
        let whole = self.source[start..end].trim();
        // Skip a value if the body already consists of only that value.
        let values: Vec<&str> = values.iter().copied().filter(|value| *value != whole).collect();
        for value in values {
            self.add(start..start, Change::Body(value.into()), format!("returns {value} at once").replace("  ", " "));
        }
        self.visit_block(block);
    }

    fn function(&mut self, name: String, attributes: &[Attribute], visit: impl FnOnce(&mut Self)) {
        if self.is_compiled(attributes) {
            self.function.push(name);
            visit(self);
            self.function.pop();
        }
    }

    fn is_compiled(&self, attributes: &[Attribute]) -> bool {
        attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("cfg"))
            .all(|attribute| attribute.parse_args().is_ok_and(|condition: Meta| (self.is_on)(&condition)))
    }
}

impl<'ast> Visit<'ast> for Sites<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Fn(item) => self.function(item.sig.ident.to_string(), &item.attrs, |sites| {
                sites.body(&item.sig, &item.block);
            }),
            Item::Impl(item) => {
                let name = self.text(item.self_ty.span()).to_owned();
                self.function(name, &item.attrs, |sites| visit::visit_item_impl(sites, item));
            }
            Item::Trait(item) => {
                self.function(item.ident.to_string(), &item.attrs, |sites| visit::visit_item_trait(sites, item));
            }
            Item::Mod(item) => {
                self.function(item.ident.to_string(), &item.attrs, |sites| visit::visit_item_mod(sites, item));
            }
            _ => {} // constants: code that runs at compile time cannot be switched at run time
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(item.sig.ident.to_string(), &item.attrs, |sites| sites.body(&item.sig, &item.block));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(item.sig.ident.to_string(), &item.attrs, |sites| sites.body(&item.sig, block));
        }
    }

    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}

    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}

    fn visit_type(&mut self, _: &'ast Type) {}

    fn visit_pat(&mut self, _: &'ast Pat) {}

    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}

    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        let attributes: &[Attribute] = match statement {
            Stmt::Local(local) => &local.attrs,
            Stmt::Expr(expression, _) => attributes_of(expression),
            _ => &[],
        };
        if !self.is_compiled(attributes) {
            return;
        }
        if let Stmt::Expr(expression, Some(_)) = statement
            && !matches!(expression, Expr::Const(_))
        {
            let range = statement.span().byte_range();
            let start = expression.span().byte_range().start.max(after(attributes)); // after its attributes
            let text = self.source[start..range.end].to_owned();
            if let Expr::Binary(binary) = expression
                && let Some(other) = compound(&binary.op)
            {
                let operator = binary.op.span().byte_range();
                let text =
                    [&self.source[start..operator.start], other, &self.source[operator.end..range.end]].concat();
                let what = format!("{} => {}", short(&self.source[start..range.end]), short(&text));
                self.add(start..range.end, Change::Statement(text), what);
            }
            self.add(start..range.end, Change::Statement(String::new()), format!("{} left out", short(&text)));
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if !self.is_compiled(&arm.attrs) {
            return;
        }
        if let Some((_, guard)) = &arm.guard {
            self.condition(guard, true);
            self.visit_expr(guard);
        }
        self.visit_expr(&arm.body);
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        if !self.is_compiled(attributes_of(expression)) {
            return;
        }
        match expression {
            Expr::If(branch) => self.condition(&branch.cond, true),
            Expr::While(repeat) => self.condition(&repeat.cond, false),
            Expr::Match(choice) => {
                // An arm can be skipped if the last arm matches everything.
                let arms: Vec<_> = choice.arms.iter().filter(|arm| self.is_compiled(&arm.attrs)).collect();
                if let Some((last, arms)) = arms.split_last()
                    && last.guard.is_none()
                    && (matches!(last.pat, Pat::Wild(_)) || is_name(&last.pat))
                {
                    for arm in arms.iter().filter(|arm| arm.guard.is_none()) {
                        let end = arm.pat.span().byte_range().end;
                        let what = format!("arm {} passed over", short(self.text(arm.pat.span())));
                        self.add(end..end, Change::Arm, what);
                    }
                }
            }
            Expr::Binary(binary) if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) && !has_let(expression) => {
                let neutral = matches!(binary.op, BinOp::And(_));
                for (kept, other) in [(&binary.left, &binary.right), (&binary.right, &binary.left)] {
                    // Removing a `cfg!` that is neutral here changes nothing.
                    if self.known(other) != Some(neutral) {
                        let text = self.text(kept.span()).to_owned();
                        self.replace(expression, &text);
                    }
                }
            }
            Expr::Binary(binary) => {
                if let Some(other) = operator(&binary.op) {
                    self.replace_part(expression, binary.op.span(), other);
                }
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => {
                let text = self.text(unary.expr.span()).to_owned();
                self.replace(expression, &text);
            }
            Expr::MethodCall(call) => {
                let name = call.method.to_string();
                if let Some((_, other)) = CALLS.iter().find(|(from, _)| *from == name) {
                    self.replace_part(expression, call.method.span(), other);
                }
            }
            Expr::Call(call) => {
                if let Expr::Path(path) = &*call.func
                    && let Some(segment) = path.path.segments.last()
                    && let Some((_, other)) = CALLS.iter().find(|(from, _)| segment.ident == from)
                {
                    self.replace_part(expression, segment.ident.span(), other);
                }
            }
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) => {
                    let text = number.to_string();
                    let whole = number.base10_parse::<u128>().unwrap_or(0);
                    let most = [u8::MAX.into(), u16::MAX.into(), u32::MAX.into(), u64::MAX.into()];
                    // Zeros are mostly initial values. A comparison with zero is mutated as a comparison.
                    if whole > 0 {
                        let sign = if most.contains(&whole) { '-' } else { '+' };
                        self.replace(expression, &format!("{text} {sign} 1"));
                    }
                }
                Lit::Bool(value) => self.replace(expression, if value.value { "false" } else { "true" }),
                _ => {}
            },
            _ => {}
        }
        visit::visit_expr(self, expression);
    }
}

fn operator(operator: &BinOp) -> Option<&'static str> {
    Some(match operator {
        BinOp::Add(_) => "-",
        BinOp::Sub(_) => "+",
        BinOp::Mul(_) => "+",
        BinOp::Div(_) | BinOp::Rem(_) => "*",
        BinOp::BitXor(_) | BinOp::BitAnd(_) => "|",
        BinOp::BitOr(_) => "&",
        BinOp::Shl(_) => ">>",
        BinOp::Shr(_) => "<<",
        BinOp::Eq(_) => "!=",
        BinOp::Ne(_) => "==",
        BinOp::Lt(_) => "<=",
        BinOp::Le(_) => "<",
        BinOp::Gt(_) => ">=",
        BinOp::Ge(_) => ">",
        _ => return None,
    })
}

/// Returns the replacement of an assignment operator.
fn compound(operator: &BinOp) -> Option<&'static str> {
    Some(match operator {
        BinOp::AddAssign(_) => "-=",
        BinOp::SubAssign(_) => "+=",
        BinOp::MulAssign(_) => "+=",
        BinOp::BitXorAssign(_) | BinOp::BitAndAssign(_) => "|=",
        BinOp::BitOrAssign(_) => "&=",
        BinOp::ShlAssign(_) => ">>=",
        BinOp::ShrAssign(_) => "<<=",
        _ => return None,
    })
}

fn has_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => {
            matches!(binary.op, BinOp::And(_)) && (has_let(&binary.left) || has_let(&binary.right))
        }
        _ => false,
    }
}

/// Returns whether a pattern is a variable, and so matches everything. Names of constants and variants begin with a
/// capital.
fn is_name(pattern: &Pat) -> bool {
    matches!(pattern, Pat::Ident(name) if name.subpat.is_none() && name.ident.to_string().starts_with(char::is_lowercase))
}

fn attributes_of(expression: &Expr) -> &[Attribute] {
    match expression {
        Expr::Block(inner) => &inner.attrs,
        Expr::Call(inner) => &inner.attrs,
        Expr::If(inner) => &inner.attrs,
        Expr::Match(inner) => &inner.attrs,
        Expr::MethodCall(inner) => &inner.attrs,
        Expr::Assign(inner) => &inner.attrs,
        Expr::Return(inner) => &inner.attrs,
        Expr::Loop(inner) => &inner.attrs,
        Expr::While(inner) => &inner.attrs,
        Expr::ForLoop(inner) => &inner.attrs,
        Expr::Unsafe(inner) => &inner.attrs,
        _ => &[],
    }
}

/// Returns the position after the attributes.
fn after(attributes: &[Attribute]) -> usize {
    attributes.last().map_or(0, |attribute| attribute.span().byte_range().end)
}

/// Returns the text on one line. The middle of a long text is cut out.
fn short(text: &str) -> String {
    const MOST: usize = 72;
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let count = line.chars().count();
    if count <= MOST {
        return line;
    }
    let head: String = line.chars().take(MOST / 2).collect();
    let tail: String = line.chars().skip(count - MOST / 2).collect();
    format!("{head} ... {tail}")
}
