use error_pages::marks::{PageMarks, Unmarked, template};
use error_pages::{PageHole, PageTemplate, PageValues};

/// Makes the page of a function, which gets the three values.
fn made(function: impl Fn(&str, &str, &str) -> String) -> Result<PageTemplate, Unmarked> {
    let mut count = 0;
    let marks = PageMarks::two(|| {
        count += 1;
        format!("word{count}word")
    });
    let call = |marks: &PageMarks| {
        let [detail, id, path] = PageHole::ALL.map(|hole| marks.of(hole));
        function(&detail, &id, &path)
    };
    template(&marks, [&call(&marks[0]), &call(&marks[1])])
}

fn html(text: &str) -> String {
    form::escape::html(text).into_owned()
}

#[test]
fn a_page_is_cut_at_its_values_and_put_together_with_others() {
    let page = made(|detail, id, path| {
        format!("<p title=\"{}\">{}{}</p>é{}", html(path), html(detail), html(detail), html(id))
    });
    let page = page.unwrap();
    let pieces: Vec<&str> = page.pieces().collect();
    assert_eq!(pieces, ["<p title=\"", "path", "\">", "detail", "", "detail", "</p>é", "request_id", ""]);
    assert_eq!(PageTemplate::of(pieces.iter().copied()).unwrap(), page);
    let mut out = b"before ".to_vec();
    page.write(&PageValues { detail: "<b>&", request_id: "'1'", path: "/\"é\r" }, &mut out);
    let written = String::from_utf8(out).unwrap();
    assert_eq!(written, "before <p title=\"/&quot;é&#13;\">&lt;b&gt;&amp;&lt;b&gt;&amp;</p>é&#39;1&#39;");
    assert_eq!(made(|_, _, _| "<h1>Gone".into()).unwrap().pieces().collect::<Vec<_>>(), ["<h1>Gone"]);
}

#[test]
fn a_page_that_does_more_with_a_value_than_put_it_out_is_refused() {
    let safe =
        |url: &str| if url.starts_with("javascript:") { "about:invalid".to_owned() } else { html(url) };
    assert_eq!(made(|detail, _, _| detail.to_owned()), Err(Unmarked::Unescaped(PageHole::Detail)));
    assert_eq!(made(|_, id, _| format!("{id:?}")), Err(Unmarked::Unescaped(PageHole::RequestId)));
    assert_eq!(
        made(|_, _, path| path.trim_end_matches('"').to_owned()),
        Err(Unmarked::Unescaped(PageHole::Path))
    );
    assert_eq!(made(|_, _, path| format!("<a href=\"{}\">", safe(path))), Err(Unmarked::Computed));
    assert_eq!(made(|detail, _, _| html(&detail.to_uppercase())), Err(Unmarked::Computed));
    assert_eq!(made(|detail, _, _| detail.len().to_string()), Err(Unmarked::Computed));
    assert_eq!(made(|detail, _, _| html(&detail[3..])).map_err(|_| ()), Err(()));
    let calls = std::cell::Cell::new(0);
    let differs = made(|_, _, _| {
        calls.set(calls.get() + 1);
        calls.get().to_string()
    });
    assert_eq!(differs, Err(Unmarked::Computed));
    assert!(Unmarked::Computed.message().contains("at each call"));
}

#[test]
fn pieces_that_are_no_page_are_refused() {
    for bad in [&[][..], &["a", "detail"], &["a", "title", "b"], &["a", "", "b"]] {
        assert!(PageTemplate::of(bad.iter().copied()).is_err(), "{bad:?}");
    }
}
