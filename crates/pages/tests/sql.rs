//! The SQL of small pages, in full.

use pages::{PageFile, PageLibrary, compile, read};

pub(crate) fn page(path: &str, text: &str) -> PageFile {
    match read(path, text) {
        Ok(page) => page,
        Err(faults) => {
            let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
            panic!("{path}: {text}\n{}", told.join("\n"))
        }
    }
}

#[test]
fn show() {
    for text in [
        "<h1>Hi</h1>",
        "{{ arguments: q text default '', page integer = 1 }}\n{{ layout: layout(title => 'Catalogue') }}\n<h1>Catalogue</h1>\n<ul>\n{{ for p in select * from product where name ilike '%' || q || '%' order by name limit 6 offset (args.page - 1) * 6 }}\n  <li><a href=\"/products/{{ p.slug }}\">{{ name }}</a> {{ if stock = 0 }}<em>sold out</em>{{ elsif stock < 5 }}few{{ else }}yes{{ end }}\n{{ else }}\n  <li>Nothing found for “{{ q }}”.\n{{ end }}\n</ul>\n{{ slot head }}<link rel=\"stylesheet\" href=\"/x.css\">{{ end }}\n",
        "{{ layout: layout() }}{{ with p in select * from product where id = 1 }}<p>{{ p.name }}{{ end }}",
        "<a href=\"{{ if x }}/y/{{ end }}{{ url }}&amp;a\">",
        "<input {{ if a }}checked{{ else }}disabled{{ end }} value='{{ x }}'>",
        "<script type=\"application/json\">{{ json: x }}</script>",
        "<textarea>{{ x }}</textarea>",
        "\\ {{ for select 1 }}x{{ end }}",
    ] {
        let page = page("pages/x.html", text);
        let compiled = compile(&page, &PageLibrary::default());
        println!("{}\n   {:?}", compiled.plain.text, page.values());
        assert_eq!(compiled.plain.text, compiled.expanded.text);
    }
    let library: PageLibrary = [
        page("pages/layout.html", "{{ arguments: title text, body http.html, head http.html = '' }}<title>{{ title }}</title>{{ head }}<body>{{ args.body }}{{ menu() }}"),
        page("pages/menu.html", "<nav>{{ for m in select * from menu }}<a href='{{ m.href }}'>{{ m.name }}</a>{{ end }}</nav>"),
        page("pages/card.html", "{{ arguments: p product, n int = 3 }}<b>{{ p.slug }}{{ args.p.x }}{{ n }}</b>"),
    ].into_iter().collect();
    let p = page(
        "pages/top.html",
        "{{ arguments: q text }}{{ layout: layout('t') }}{{ for p in select * from product where x = args.q }}{{ card(p) || card(p, n => 2) }}{{ end }}",
    );
    let c = compile(&p, &library);
    println!("{}\n{}\n{:?}", c.plain.text, c.expanded.text, c.expands);
}
