//! Character references in attributes, decoded as far as URLs need it.

/// Names of the characters from U+00A0 on, which are read without a semicolon, too.
const LATIN: &str = "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro \
    para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc \
    Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig \
    agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc \
    otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml";
/// The others that are.
const WITHOUT_SEMICOLON: [(&str, char); 10] = [
    ("amp", '&'),
    ("AMP", '&'),
    ("lt", '<'),
    ("LT", '<'),
    ("gt", '>'),
    ("GT", '>'),
    ("quot", '"'),
    ("QUOT", '"'),
    ("COPY", '\u{a9}'),
    ("REG", '\u{ae}'),
];
/// Those of characters that URLs are made of. All others have to be written as characters.
const WITH_SEMICOLON: [(&str, char); 22] = [
    ("apos", '\''),
    ("colon", ':'),
    ("sol", '/'),
    ("bsol", '\\'),
    ("Tab", '\t'),
    ("NewLine", '\n'),
    ("num", '#'),
    ("quest", '?'),
    ("period", '.'),
    ("commat", '@'),
    ("equals", '='),
    ("percnt", '%'),
    ("plus", '+'),
    ("lowbar", '_'),
    ("excl", '!'),
    ("dollar", '$'),
    ("ast", '*'),
    ("comma", ','),
    ("semi", ';'),
    ("lpar", '('),
    ("rpar", ')'),
    ("hyphen", '\u{2010}'),
];

/// The value of an attribute as a parser reads it. The error is a reference that is not known here.
pub(crate) fn decoded(value: &str) -> Result<String, &str> {
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(place) = rest.find('&') {
        text.push_str(&rest[..place]);
        let reference = &rest[place + 1..];
        let (character, length) = match reference.strip_prefix('#') {
            Some(number) => number_at(number),
            None => named(reference).map_err(|length| &rest[place..place + 1 + length])?,
        };
        text.push(character);
        rest = &reference[length..];
    }
    text.push_str(rest);
    // A carriage return that is no reference is a line end.
    Ok(text)
}

/// The character of a number, and the length of all behind the ampersand. An ampersand where there is none.
fn number_at(text: &str) -> (char, usize) {
    let (digits, radix, ahead) = match text.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16, 2),
        None => (text, 10, 1),
    };
    let length = digits.bytes().take_while(|byte| char::from(*byte).is_digit(radix)).count();
    if length == 0 {
        return ('&', 0);
    }
    let number = u32::from_str_radix(&digits[..length], radix).unwrap_or(u32::MAX);
    let end = length + usize::from(digits[length..].starts_with(';'));
    (of_number(number), ahead + end)
}

/// Numbers from 0x80 to 0x9f mean what they mean in Windows' code page.
fn of_number(number: u32) -> char {
    const WINDOWS: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
        '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    match number {
        0 => '\u{fffd}',
        0x80..=0x9f => WINDOWS[number as usize - 0x80],
        _ => char::from_u32(number).unwrap_or('\u{fffd}'),
    }
}

/// The character of a name, and the length of the reference behind the ampersand. The error is the length of one that is not known.
fn named(text: &str) -> Result<(char, usize), usize> {
    let length = text.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let (name, behind) = text.split_at(length);
    let latin = || LATIN.split_whitespace().position(|known| known == name);
    let find = |table: &[(&str, char)]| {
        table.iter().find(|(known, _)| *known == name).map(|(_, character)| *character)
    };
    let of_latin = || latin().and_then(|place| char::from_u32(0xa0 + u32::try_from(place).ok()?));
    let loose = find(&WITHOUT_SEMICOLON).or_else(of_latin);
    match (loose, behind.starts_with(';'), behind.starts_with('=')) {
        (Some(character), true, _) => Ok((character, length + 1)),
        // `&copy=` in a URL is a parameter.
        (Some(character), false, false) => Ok((character, length)),
        (None, true, _) if length > 0 => {
            find(&WITH_SEMICOLON).map(|character| (character, length + 1)).ok_or(length + 1)
        }
        _ => Ok(('&', 0)),
    }
}
