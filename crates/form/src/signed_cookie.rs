//! Values of cookies that nobody else can have made: text, the time until which it counts, and a code of both (HMAC-SHA256).

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The sign that separates the parts. The time and the code have none in them.
const SEPARATOR: char = '.';

/// The key of one owner's cookies.
#[derive(Clone, Copy)]
pub struct SigningKey<'s> {
    /// Bytes that nobody else knows.
    pub secret: &'s [u8],
    /// Whose cookies they are: one owner's are none of another's.
    pub owner: u32,
}

/// A text that was signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed<'v> {
    /// The text.
    pub value: &'v str,
    /// Until when it counts, in seconds since 1970; none if without end.
    pub until: Option<i64>,
}

impl SigningKey<'_> {
    /// A value for the cookie of this name.
    ///
    /// ```
    /// use form::signed_cookie::{SigningKey, Signed};
    ///
    /// let key = SigningKey { secret: b"not known to others", owner: 10 };
    /// let basket = Signed { value: "17", until: None };
    /// let text = key.sign("basket", &basket);
    /// assert_eq!(key.read("basket", &text), Some(basket));
    /// assert_eq!(key.read("basket", &text.replace("17", "18")), None);
    /// assert_eq!(key.read("customer", &text), None);
    /// ```
    pub fn sign(&self, name: &str, signed: &Signed<'_>) -> String {
        let until = signed.until.map(|until| until.to_string()).unwrap_or_default();
        let text = format!("{}{SEPARATOR}{until}", signed.value);
        let code = URL_SAFE_NO_PAD.encode(self.code(name, &text).finalize().into_bytes());
        format!("{text}{SEPARATOR}{code}")
    }

    /// The text that was signed for the cookie of this name; none if it was not, or by another key. It may count no more.
    pub fn read<'v>(&self, name: &str, text: &'v str) -> Option<Signed<'v>> {
        let (text, code) = text.rsplit_once(SEPARATOR)?;
        let code = URL_SAFE_NO_PAD.decode(code).ok()?;
        self.code(name, text).verify_slice(&code).ok()?;
        let (value, until) = text.rsplit_once(SEPARATOR)?;
        let until = if until.is_empty() { None } else { Some(until.parse().ok()?) };
        Some(Signed { value, until })
    }

    /// The code of a text, before its end. The owner and the length of the name are in it, so no two of them are one.
    fn code(&self, name: &str, text: &str) -> Hmac<Sha256> {
        let mut code = Hmac::<Sha256>::new_from_slice(self.secret)
            .unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
        for part in [
            &b"howdah cookie"[..],
            &self.owner.to_le_bytes(),
            &(name.len() as u64).to_le_bytes(),
            name.as_bytes(),
            text.as_bytes(),
        ] {
            code.update(part);
        }
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: SigningKey<'_> = SigningKey { secret: b"secret", owner: 10 };

    #[test]
    fn what_was_signed_comes_back() {
        for value in ["", ".", "a.b.c", "Zoë; \"%\"", "1.2."] {
            for until in [None, Some(0), Some(-5), Some(i64::MAX)] {
                let signed = Signed { value, until };
                assert_eq!(KEY.read("basket", &KEY.sign("basket", &signed)), Some(signed));
            }
        }
    }

    #[test]
    fn nothing_else_does() {
        let text = KEY.sign("basket", &Signed { value: "17", until: Some(1_800_000_000) });
        for place in 0..text.len() {
            for other in ['0', 'A', '.', 'z'] {
                let mut changed: Vec<char> = text.chars().collect();
                changed[place] = other;
                let changed: String = changed.into_iter().collect();
                // The last letter of a code has bits that are none of it, which the decoder wants to be zero.
                assert!(changed == text || KEY.read("basket", &changed).is_none(), "{changed}");
            }
            assert_eq!(KEY.read("basket", &text[..place]), None);
            assert_eq!(KEY.read("basket", &text[place..]).filter(|_| place > 0), None);
        }
        assert_eq!(KEY.read("basket2", &text), None);
        assert_eq!(SigningKey { owner: 11, ..KEY }.read("basket", &text), None);
        assert_eq!(SigningKey { secret: b"other", ..KEY }.read("basket", &text), None);
        // A name that ends as the value begins.
        let joined = KEY.sign("bask", &Signed { value: "et17", until: None });
        let code = joined.rsplit_once('.').unwrap().1;
        assert_eq!(KEY.read("basket", &format!("17..{code}")), None);
    }

    /// As Python's `hmac` has it.
    #[test]
    fn the_code_is_hmac_sha256() {
        let code = KEY.code("a", "b").finalize().into_bytes();
        assert_eq!(URL_SAFE_NO_PAD.encode(code), "10iD_6qVvMl1aHnB22YH-EZJwR8_L09jLLLyia7d0_w");
    }
}
