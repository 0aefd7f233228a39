//! Functions of numbers, by their names.

/// What a function of numbers does, as far as digits go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Its outcome has no more digits than its arguments together.
    Sum,
    /// It multiplies its arguments.
    Product,
    /// It divides one by the other.
    Quotient,
    /// It divides by the distance of the second and the third.
    Bucket,
    /// It multiplies its argument by itself.
    Square,
    /// It cuts digits off, or adds as many zeros as it is told to.
    Rounded,
    /// It makes a number of something, with a precision if it is told one.
    Cast,
    /// It does what a JSON path says.
    Path,
    /// Its outcome is short.
    Short,
    /// Nothing is known.
    Other,
}

impl Arithmetic {
    /// Whether a call may cost more than its arguments are long.
    pub fn is_costly(self) -> bool {
        use Arithmetic::{Bucket, Path, Product, Quotient, Square};
        matches!(self, Product | Quotient | Bucket | Square | Path)
    }

    /// What PostgreSQL's function of this name does. Functions of that name for other types are of no account: their values have few digits.
    /// Power, roots and logarithms are none of these; no gateway calls them at all.
    pub fn of(name: &str) -> Arithmetic {
        match name {
            "abs" | "ceil" | "ceiling" | "floor" | "max" | "min" | "numeric_abs" | "numeric_add"
            | "numeric_inc" | "numeric_larger" | "numeric_smaller" | "numeric_sub" | "numeric_uminus"
            | "numeric_uplus" | "sum" | "trim_scale" => Arithmetic::Sum,
            "lcm" | "numeric_mul" => Arithmetic::Product,
            "avg" | "div" | "gcd" | "mod" | "numeric_div" | "numeric_div_trunc" | "numeric_mod" => {
                Arithmetic::Quotient
            }
            "width_bucket" => Arithmetic::Bucket,
            "numeric_accum" | "stddev" | "stddev_pop" | "stddev_samp" | "var_pop" | "var_samp"
            | "variance" => Arithmetic::Square,
            "round" | "trunc" => Arithmetic::Rounded,
            "numeric" => Arithmetic::Cast,
            "extract" | "sign" => Arithmetic::Short,
            _ if name.starts_with("jsonb_path_") => Arithmetic::Path,
            _ => Arithmetic::Other,
        }
    }
}
