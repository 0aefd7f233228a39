//! What messages say, as it stands between the quotes of a JSON string.

use crate::random::Random;

const ENGLISH: &[&str] = &[
    "the",
    "and",
    "to",
    "of",
    "in",
    "is",
    "it",
    "you",
    "that",
    "was",
    "for",
    "on",
    "are",
    "with",
    "this",
    "have",
    "from",
    "they",
    "be",
    "at",
    "one",
    "we",
    "can",
    "out",
    "other",
    "were",
    "all",
    "there",
    "when",
    "up",
    "use",
    "your",
    "how",
    "said",
    "an",
    "each",
    "she",
    "which",
    "do",
    "their",
    "time",
    "if",
    "will",
    "way",
    "about",
    "many",
    "then",
    "them",
    "write",
    "would",
    "like",
    "so",
    "these",
    "her",
    "long",
    "make",
    "thing",
    "see",
    "him",
    "two",
    "has",
    "look",
    "more",
    "day",
    "could",
    "go",
    "come",
    "did",
    "number",
    "sound",
    "no",
    "most",
    "people",
    "my",
    "over",
    "know",
    "water",
    "than",
    "call",
    "first",
    "who",
    "may",
    "down",
    "side",
    "been",
    "now",
    "find",
    "morning",
    "coffee",
    "train",
    "elephant",
    "database",
    "weather",
    "tomorrow",
    "birthday",
    "beautiful",
    "music",
    "I'm",
    "don't",
    "can't",
    "it's",
    "what's",
    "let's",
    "haha",
    "lol",
    "omg",
    "wow",
    "really",
    "awesome",
];
/// Words with letters that take two bytes or more.
const ACCENTED: &[&str] = &[
    "café",
    "mañana",
    "naïve",
    "über",
    "straße",
    "déjà",
    "coração",
    "señor",
    "garçon",
    "smörgås",
    "žena",
    "łódź",
    "está",
    "também",
    "çok",
    "güzel",
    "İstanbul",
    "größe",
    "été",
    "où",
    "não",
    "você",
    "año",
    "für",
    "mère",
];
const OTHER_SCRIPTS: &[&str] = &[
    "こんにちは",
    "ありがとう",
    "今日の",
    "天気",
    "東京",
    "ラーメン",
    "привет",
    "спасибо",
    "сегодня",
    "погода",
    "مرحبا",
    "شكرا",
    "اليوم",
    "안녕하세요",
    "감사합니다",
    "오늘",
    "你好",
    "谢谢",
    "明天",
    "สวัสดี",
    "ขอบคุณ",
    "नमस्ते",
    "धन्यवाद",
    "γεια",
    "שלום",
];
const EMOJI: &[&str] =
    &["😂", "❤️", "😍", "🙏", "😊", "🔥", "👍", "😭", "🎉", "✨", "🐘", "☕", "👩‍💻", "🇧🇷", "👋🏽", "💯"];
/// The same kind of thing as many programs write it.
const ESCAPED: &[&str] = &[
    "\\ud83d\\ude02",
    "\\ud83d\\ude0d",
    "\\u2764\\ufe0f",
    "caf\\u00e9",
    "\\u2026",
    "ma\\u00f1ana",
    "\\u3053\\u3093",
    "\\u201chello\\u201d",
    "\\ud83d\\udc18",
];
/// What JSON, or HTML before it, needs an escape for.
const MARKS: &[&str] = &[
    "\\\"quote\\\"",
    "\\n",
    "\\n\\n",
    "&amp;",
    "&lt;3",
    "C:\\\\temp",
    "\\t",
    "-",
    "...",
    "!!",
    "?",
    ":)",
    ";-)",
    "100%",
    "$20",
    "24\\/7",
];
const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const SYLLABLES: &[&str] = &[
    "an", "be", "co", "da", "el", "fi", "go", "ha", "is", "jo", "ka", "lu", "mi", "no", "ra", "su", "to",
    "vi",
];

/// Appends a text of at least so many bytes, and of at most 40 more.
pub(crate) fn append(random: &mut Random, length: usize, line: &mut Vec<u8>) {
    let end = line.len() + length;
    // A writer has a language: most write English, some a language with accents, some another script.
    let language = match random.below(10) {
        0..7 => ENGLISH,
        7 => ACCENTED,
        _ => OTHER_SCRIPTS,
    };
    loop {
        append_word(random, language, line);
        if line.len() >= end {
            return;
        }
        line.push(b' ');
    }
}

/// A screen name: letters, digits and underscores, 4 to 15 of them.
pub(crate) fn append_name(random: &mut Random, line: &mut Vec<u8>) {
    for _ in 0..2 + random.below(4) {
        line.extend_from_slice(random.one_of(SYLLABLES).as_bytes());
    }
    if random.below(2) == 0 {
        line.push(b'_');
        let mut digits = itoa::Buffer::new();
        line.extend_from_slice(digits.format(random.below(10_000)).as_bytes());
    }
}

fn append_word(random: &mut Random, language: &[&str], line: &mut Vec<u8>) {
    match random.below(64) {
        0 | 1 => append_link(random, line),
        2 => {
            line.push(b'@');
            append_name(random, line);
        }
        3 => {
            line.push(b'#');
            line.extend_from_slice(random.one_of(ENGLISH).as_bytes());
        }
        4..7 => line.extend_from_slice(random.one_of(MARKS).as_bytes()),
        7 | 8 => line.extend_from_slice(random.one_of(EMOJI).as_bytes()),
        9 => line.extend_from_slice(random.one_of(ESCAPED).as_bytes()),
        10 => line.extend_from_slice(random.one_of(ACCENTED).as_bytes()),
        _ => line.extend_from_slice(random.one_of(language).as_bytes()),
    }
}

/// A short link; many programs escape the slash.
fn append_link(random: &mut Random, line: &mut Vec<u8>) {
    line.extend_from_slice(b"https:\\/\\/t.co\\/");
    for _ in 0..10 {
        line.push(LETTERS[random.below(62) as usize]);
    }
}
