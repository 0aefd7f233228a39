//! Large and hostile pages: each comes to an end, on a small stack and in the time of a test.

use std::thread;

use pages::{PageLibrary, compile, read};

/// Reads a page on a stack of 256 kB, and compiles it if nothing is wrong; the number of faults.
fn faults(path: &'static str, text: String) -> usize {
    let run = move || match read(path, &text) {
        Ok(page) => {
            let library: PageLibrary =
                [page.clone(), read("pages/w.html", "{{ arguments: a text = '' }}{{ a }}").expect("a page")]
                    .into_iter()
                    .collect();
            let compiled = compile(&page, &library);
            assert!(!compiled.expanded.map.place(compiled.expanded.text.len() / 2).path.is_empty());
            page.calls();
            page.raws();
            page.url_patterns();
            0
        }
        Err(faults) => {
            assert!(faults.iter().all(|fault| fault.line > 0 && fault.column > 0));
            faults.len()
        }
    };
    thread::Builder::new().stack_size(256 << 10).spawn(run).expect("a thread").join().expect("no overflow")
}

const MEGABYTE: usize = 1 << 20;

#[test]
fn hostile_pages_come_to_an_end() {
    let repeated = [
        "{{",
        "{{ ",
        "}}",
        "{",
        "{{ ( ",
        "{{ ' ",
        "{{ $a$ ",
        "{{ /* ",
        "{{ -- ",
        "{{ \" ",
        "<",
        "<!",
        "<!--",
        "</",
        "<a ",
        "<a b=\"",
        "<svg>",
        "<b>",
        "</b>",
        "&",
        "{{ if a }}",
        "{{ if a }}x{{ end }}",
        "{{ end }}",
        "{{ else }}",
        "{{ if a }}{{ else }}",
        "{{ for select 1 }}",
        "{{ for select 1 }}{{ end }}",
        "{{ with select 1 }}x{{ else }}{{ end }}",
        "{{ verbatim }}",
        "{{ verbatim }}{{ end }}",
        "{{ x }}",
        "{{ w('a') }}",
        "{{ args.a }}",
        "\n",
        "{{ -- x }}\n",
        "{{ if a }}\n",
        "<p {{ if a }}x{{ end }}>",
        "<a href=\"{{ x }}\">",
        "<a href=\"&amp;{{ x }}",
        "\\",
        "'",
        "é",
        "\u{feff}",
        "<title>",
        "<script>",
        "<script><!--",
        "<style>",
        "<![CDATA[",
        "<p title='{{ if a }}'",
        "<svg><style><",
        "{{ layout: l() }}",
        "{{ slot a }}",
        "{{ arguments: a int }}",
        "{{ http.url('/a') }}",
        "<option>",
        "<select>",
        "</svg>",
        "<pre>{{ x }}",
        "{{ /**/ }}",
        "{{ ; }}",
        "{{ $1 }}",
        "{{ a, b }}",
        "{{ E'\\",
        "{{ w(",
        "{{ x }}&",
        "{{ 1 + ",
    ];
    for piece in repeated {
        let text = piece.repeat(MEGABYTE / 64 / piece.len());
        faults("pages/x.html", text.clone());
        faults("pages/x.txt", text);
    }
}

#[test]
fn a_megabyte_comes_to_an_end() {
    for piece in ["{{", "<", "{{ if a }}", "&", "{{ x ", "<!--"] {
        faults("pages/x.html", piece.repeat(MEGABYTE / piece.len()));
    }
    assert_eq!(
        faults("pages/x.html", format!("{{{{ {}x{} }}}}", "(".repeat(200_000), ")".repeat(200_000))),
        0
    );
    assert_eq!(faults("pages/x.html", "<p title='é'>{{ x }}\n".repeat(MEGABYTE / 88)), 0);
}

#[test]
fn hostile_holes_come_to_an_end() {
    let n = 10_000;
    let of = |before: &str, begin: &str, middle: &str, end: &str, behind: &str| {
        format!("{before}{}{middle}{}{behind}", begin.repeat(n), end.repeat(n))
    };
    assert_eq!(faults("pages/x.html", of("{{ ", "(", "x", ")", " }}")), 0);
    assert_eq!(faults("pages/x.html", of("{{ ", "w(", "x", ")", " }}")), 0);
    assert_eq!(faults("pages/x.html", of("{{ (select ", "w(", "x", ")", ") }}")), 0);
    assert_eq!(faults("pages/x.html", of("{{ (select ", "f(w(", "x", "))", ") }}")), 0);
    assert_eq!(faults("pages/x.html", of("{{ x", " || w('a')", "", "", " }}")), 0);
    assert_eq!(faults("pages/x.html", of("{{ ", "[", "x", "]", " }}")), 0);
    assert_eq!(faults("pages/x.html", of("{{ ", "/*", "x", "*/", " y }}")), 0);
    assert_eq!(faults("pages/x.html", of("{{ x", "+ ''", "", "", " }}")), 0);
    assert_eq!(
        faults("pages/x.html", of("{{ for select ", "(select a from (", "b", "))", " }}{{ end }}")),
        0
    );
    assert_eq!(faults("pages/x.html", of("{{ ", "(", "", "", " }}")), 1);
    assert_eq!(faults("pages/x.html", of("{{ ", ")", "", "", " }}")), 100);
    assert_eq!(faults("pages/x.html", of("{{ arguments: a0 int", ", a int", "", "", " }}")), 100);
    assert_eq!(faults("pages/x.html", of("<p ", "a ", "", "", ">")), 100);
    assert_eq!(faults("pages/x.html", of("<p title=\"", "x", "{{ y }}", "x", "\">")), 0);
    assert_eq!(faults("pages/x.html", of("<a href=\"", "&amp;", "{{ y }}", "&amp;", "\">")), 0);
}

#[test]
fn blocks_stand_in_each_other_up_to_a_bound() {
    let nested = |depth: usize| "{{ if a }}<b title='".repeat(depth) + &"'>{{ end }}".repeat(depth);
    let plain =
        |depth: usize| "{{ if a }}<b>".repeat(depth) + "{{ x }}" + &"</b>{{ else }}{{ end }}".repeat(depth);
    assert_eq!(faults("pages/x.html", plain(100)), 0);
    assert_eq!(faults("pages/x.html", plain(101)), 1);
    assert_eq!(faults("pages/x.html", plain(10_000)), 1);
    assert_eq!(faults("pages/x.txt", plain(10_000)), 1);
    assert!(faults("pages/x.html", nested(10_000)) > 0);
}

#[test]
fn many_arguments_of_a_tag_and_of_a_page_come_to_an_end() {
    let attributes: String =
        (0..4_000).map(|number| format!(" {{{{ if a }}}}a{number}='{{{{ x }}}}'{{{{ end }}}}")).collect();
    assert_eq!(faults("pages/x.html", format!("<p{attributes}>")), 0);
    let arguments: Vec<String> = (0..1_000).map(|number| format!("a{number} int = {number}")).collect();
    let uses: String =
        (0..1_000).map(|number| format!("{{{{ args.a{number} }}}}{{{{ a{number} }}}}")).collect();
    assert_eq!(faults("pages/x.html", format!("{{{{ arguments: {} }}}}{uses}", arguments.join(", "))), 0);
}
