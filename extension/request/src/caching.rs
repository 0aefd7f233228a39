//! What a route says of its answers that may be kept.

use std::time::Duration;

use super::read_inputs::ReadInput;

/// Bytes of a request that its gateway keeps while it runs.
pub const LONGEST_KEPT: usize = 4 << 10;

/// A route whose answers are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caching {
    /// What they depend on beside path and arguments: headers and cookies.
    pub vary: Vec<ReadInput>,
    /// How many each gateway keeps.
    pub most: usize,
    /// How long an answer is kept that depends on the time; none if it is not.
    pub max_age: Option<Duration>,
    /// Whether they may be packed.
    pub packs: bool,
    /// What they say to others who may keep them.
    pub outward: Outward,
    /// The same of those for which a guard has let pass who asks.
    pub guarded: Outward,
}

/// What an answer says to browsers and proxies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outward {
    /// The value of `Cache-Control`.
    pub cache_control: String,
    /// The same of an answer that is the same for whoever asks so, where it may be old.
    pub lasting: Option<String>,
    /// The value of `Vary`, if it depends on a header.
    pub vary: Option<String>,
}

impl Caching {
    /// Of what is stored: names as [`ReadInput::of_vary`] takes them, of which others are left out.
    pub(crate) fn of(names: &[String], most: usize, max_age: Option<Duration>, packs: bool) -> Caching {
        let vary: Vec<ReadInput> = names.iter().filter_map(|name| ReadInput::of_vary(name)).collect();
        let outward = Outward::of(&vary, max_age);
        let guarded = outward.guarded();
        Caching { vary, most, max_age, packs, outward, guarded }
    }
}

impl Outward {
    /// Nobody between keeps it, and nobody for long: who may have it now may not have it then. Guards go by cookies, mostly.
    fn guarded(&self) -> Outward {
        let names = self.vary.as_deref().unwrap_or_default();
        let has_cookie = names.split(", ").any(|name| name == "cookie");
        let cookie = (!has_cookie).then_some("cookie");
        let names: Vec<&str> = self.vary.as_deref().into_iter().chain(cookie).collect();
        Outward { cache_control: "private, no-cache".into(), lasting: None, vary: Some(names.join(", ")) }
    }

    /// Nobody outside hears of a commit: whoever keeps an answer has to ask whether it still holds, unless it may be so old. What depends on who
    /// asks is kept by nobody between. Of an answer that may depend on what `vary` does not name nobody outside is told that it may be old: another
    /// client would get it.
    fn of(vary: &[ReadInput], max_age: Option<Duration>) -> Outward {
        let mut names: Vec<&str> = Vec::new();
        for input in vary {
            let name = match input {
                ReadInput::Header(name) => name,
                ReadInput::Cookie(_) => "cookie",
                ReadInput::Query(_) | ReadInput::WholeQuery | ReadInput::Flash => continue,
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let is_of_one = names.iter().any(|name| matches!(*name, "cookie" | "authorization"));
        let said = |how_long: String| if is_of_one { format!("private, {how_long}") } else { how_long };
        Outward {
            cache_control: said("no-cache".into()),
            lasting: max_age.map(|most| said(format!("max-age={}", most.as_secs()))),
            vary: (!names.is_empty()).then(|| names.join(", ")),
        }
    }
}
