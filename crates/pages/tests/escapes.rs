//! The work of the functions that the SQL calls.

use fastrand::Rng;
use pages::escape::{html_pieces, safe_url, script_json_pieces};

#[test]
fn only_links_pass() {
    let safe = [
        "",
        "/",
        "/a:b",
        "a/b:c",
        "?x=javascript:1",
        "#javascript:1",
        "books",
        "//other/x",
        "http://a",
        "HTTPS://a",
        "mailto:a@b",
        "tel:+49",
        "  https://a \n",
        "ht\ttp://a",
        "./javascript:x",
        "\\javascript",
        "é",
        "a b",
    ];
    for url in safe {
        assert_eq!(safe_url(url), url, "{url:?}");
    }
    let unsafe_ones = [
        "javascript:alert(1)",
        "JAVASCRIPT:x",
        " javascript:x",
        "\u{0}javascript:x",
        "\u{1f}javascript:x",
        "java\nscript:x",
        "java\r\tscript:x",
        "javascript\n:x",
        "data:text/html,x",
        "vbscript:x",
        "blob:x",
        "file:///x",
        "ftp://x",
        "x:y",
        ":x",
        "javascript :x",
        "\u{a0}javascript:x",
        "about:blank",
        "view-source:x",
        "http\u{1}:x",
    ];
    for url in unsafe_ones {
        assert_eq!(safe_url(url), "about:invalid", "{url:?}");
    }
}

#[test]
fn no_letters_around_make_a_scheme_pass() {
    let mut random = Rng::with_seed(7);
    let letters = ['j', 'a', ':', '/', '\t', '\n', '\r', ' ', '\u{1}', '#', '?', '\u{1f}', 's'];
    for _ in 0..20_000 {
        let url: String = (0..random.usize(..9)).map(|_| letters[random.usize(..letters.len())]).collect();
        // A slow model of the first steps of the standard of URLs.
        let mut read: Vec<char> = url.chars().collect();
        while read.first().is_some_and(|letter| *letter <= ' ') {
            read.remove(0);
        }
        read.retain(|letter| !"\t\n\r".contains(*letter));
        let is_scheme = |letter: &char| letter.is_ascii_alphabetic();
        let length = read.iter().take_while(|letter| is_scheme(letter)).count();
        let has_scheme = length > 0 && read.get(length) == Some(&':');
        if has_scheme {
            assert_eq!(safe_url(&url), "about:invalid", "{url:?}");
        }
        let is_path = read.iter().all(|letter| *letter != ':')
            || read.first().is_some_and(|letter| "/?#".contains(*letter));
        if is_path {
            assert_eq!(safe_url(&url), url, "{url:?}");
        }
    }
}

#[test]
fn json_in_a_script_is_the_same_json_without_markup() {
    let mut random = Rng::with_seed(8);
    let pieces = [
        "<",
        ">",
        "&",
        "</script",
        "<!--",
        "\u{2028}",
        "\u{2029}",
        "\u{2027}",
        "â",
        "a",
        "\\\"",
        "\u{e2}\u{80}",
    ];
    for _ in 0..2_000 {
        let inside: String = (0..random.usize(..9)).map(|_| *random.choice(&pieces).unwrap()).collect();
        let json = format!("\"{inside}\"");
        let written: String = script_json_pieces(&json).collect();
        assert!(!written.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
        let read = written.replace("\\u003c", "<").replace("\\u003e", ">").replace("\\u0026", "&");
        assert_eq!(read.replace("\\u2028", "\u{2028}").replace("\\u2029", "\u{2029}"), json);
    }
}

#[test]
fn a_carriage_return_is_a_reference() {
    assert_eq!(html_pieces("a\r\n\"<b>'&").collect::<String>(), "a&#13;\n&quot;&lt;b&gt;&#39;&amp;");
}
