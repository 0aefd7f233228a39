//! What a browser does with pages: values that would break out of their place, and requests that one site's pages send to another's.

use std::process::Command;

use howdah_tests::application::Application;
use howdah_tests::https::Https;
use howdah_tests::wait_for;

/// The document that a page has become after its scripts have run.
fn shown(url: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let profile = format!("--user-data-dir={}", home.path().display());
    // In containers there is no place for a sandbox, nor for much shared memory. Names of this test's are this machine.
    let settings = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--ignore-certificate-errors",
        "--host-resolver-rules=MAP *.example 127.0.0.1",
        "--virtual-time-budget=10000",
        "--dump-dom",
    ];
    let mut chromium = Command::new("timeout");
    chromium.args(["60", "chromium"]).args(settings).args([&profile, url]).env("HOME", home.path());
    String::from_utf8_lossy(&chromium.output().unwrap().stdout).into_owned()
}

/// Values that run `!` if they break out of their place.
const HOSTILE: [&str; 50] = [
    "</script><script>!</script>",
    "<script>!</script>",
    "<img src=x onerror=!>",
    "<svg onload=!>",
    "<svg/onload=!>",
    "\"><script>!</script>",
    "'><script>!</script>",
    "\" onmouseover=\"!\" x=\"",
    "' onmouseover='!' x='",
    "\" autofocus onfocus=\"!\" x=\"",
    "x onmouseover=!",
    "x>y<img src=x onerror=!>",
    "/x><svg/onload=!>",
    "</title><script>!</script>",
    "</textarea><script>!</script>",
    "</style><script>!</script>",
    "</xmp></iframe></noscript></noembed></noframes><img src=x onerror=!>",
    "--><script>!</script><!--",
    "--!><script>!</script>",
    "<!--<script>!",
    "]]><script>!</script>",
    "<![CDATA[<script>!</script>]]>",
    "<math><mtext><script>!</script></mtext></math>",
    "<svg><script>!</script></svg>",
    "<svg><animate onbegin=! attributeName=x>",
    "<iframe srcdoc=\"<script>parent.!</script>\">",
    "<iframe src=javascript:parent.!>",
    "<object data=javascript:!>",
    "<embed src=javascript:!>",
    "<details open ontoggle=!>",
    "<video><source onerror=!>",
    "<audio src=x onerror=!>",
    "<body onload=!>",
    "<input autofocus onfocus=!>",
    "<select autofocus onfocus=!>",
    "<marquee onstart=!>",
    "<meta http-equiv=refresh content=0;url=javascript:!>",
    "<base href=javascript:/a/+!//>",
    "<form><button formaction=javascript:!>x",
    "<template><script>!</script></template>",
    "javascript:!",
    "JaVaScRiPt:!",
    "java\tscript:!",
    "\u{1}javascript:!",
    "  javascript:!",
    "javascript&colon;!",
    "&#106;avascript:!",
    "data:text/html,<script>parent.!</script>",
    "vbscript:!",
    "&lt;script&gt;!&lt;/script&gt;",
];

/// Whoever gets out leaves a mark at the root; so does what was made of a value and would run later.
const LOOK: &str = "<script>
addEventListener('load', () => setTimeout(() => {
  const all = [...document.querySelectorAll('*')]
  const runs = e => [...e.attributes].some(a => a.name.startsWith('on') || /^\\s*(javascript|vbscript|data):/i.test(a.value) && ['href', 'src', 'action', 'formaction'].includes(a.name))
  const made = all.filter(e => ['IMG', 'SVG', 'svg', 'IFRAME', 'OBJECT', 'EMBED', 'MATH', 'math', 'DETAILS', 'VIDEO', 'AUDIO', 'BASE', 'FORM', 'TEMPLATE', 'MARQUEE'].includes(e.tagName))
  const links = [...document.links].filter(a => !['http:', 'https:', 'mailto:', 'tel:', 'about:'].includes(a.protocol))
  if (all.some(runs) || made.length || links.length) document.documentElement.setAttribute('broken', 'later')
  document.documentElement.setAttribute('looked', document.querySelectorAll('p').length)
}, 200))
</script>";

const PAGE: &str = "<!doctype html><title>{{ (select string_agg(value, ' ') from payload) }}</title>
{{ for select value from payload order by number }}
<p title=\"{{ value }}\">{{ value }}</p><b title='{{ value }}' data-x=\"a{{ value }}\"></b><a href=\"{{ value }}\">x</a><a href=\"/x?{{ value }}\">y</a>
<textarea>{{ value }}</textarea><script type=\"application/json\">{{ json: to_json(value) }}</script><a href=\"{{ http.url('/x/{v}', value) }}\">z</a>
{{ end }}
";

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn no_value_gets_out_of_its_place_in_a_browser() {
    let rows = HOSTILE.iter().enumerate().map(|(number, value)| {
        let value = value.replace('!', &format!("document.documentElement.setAttribute('broken',{number})"));
        format!("({number}, '{}')", value.replace('\'', "''"))
    });
    let shop = Application::of(&[
        (
            "migrations/001-payload.sql",
            &format!(
                "create table payload (number integer, value text); grant select on payload to howdah_web; insert into payload values {};",
                rows.collect::<Vec<_>>().join(", ")
            ),
        ),
        ("pages/payloads.html", &format!("{PAGE}{LOOK}\n")),
        (
            "functions/unescaped.sql",
            "create function unescaped() returns http.html language sql stable return (select string_agg(value, '' order by number)::http.html from payload);",
        ),
        (
            "routes.sql",
            "select http.route('GET', '/values', 'payloads'), http.route('GET', '/unescaped', 'unescaped');",
        ),
    ]);
    shop.ok("deploy");
    let port = shop.platform.port;
    wait_for("the page", || shop.platform.get("/values").status == 200);
    let document = shown(&format!("http://localhost:{port}/values"));
    assert!(document.contains(&format!("looked=\"{}\"", HOSTILE.len())), "{document}");
    assert!(!document.contains("<html broken") && !document.contains(" broken=\"later\""), "{document}");
    // The browser would have told.
    assert!(shown(&format!("http://localhost:{port}/unescaped")).contains("broken="));
}

/// A page that sends requests to a site in all ways that a page has, each with its name.
const ATTACK: &str = r#"<!doctype html><iframe name=sink></iframe>
<form id=form method=post action="TARGET/notes?text=form" target=sink></form>
<form id=multipart method=post enctype=multipart/form-data action="TARGET/notes?text=multipart" target=sink></form>
<form id=plain method=post enctype=text/plain action="TARGET/notes?text=plain" target=sink></form>
<form id=bounced method=post action="/bounce?to=TARGET/notes%3Ftext%3Dbounced" target=sink></form>
<a id=ping ping="TARGET/notes?text=ping" href="/nothing" target=sink>x</a>
<script>
  const send = text => 'TARGET/notes?text=' + text
  fetch(send('fetch'), { method: 'POST', mode: 'no-cors', credentials: 'include', body: 'x' }).catch(() => 0)
  fetch(send('cors'), { method: 'POST', credentials: 'include', body: 'x' }).catch(() => 0)
  fetch(send('put'), { method: 'PUT', headers: { 'x-own': '1' } }).catch(() => 0)
  fetch('/bounce?to=' + encodeURIComponent(send('fetched')), { method: 'POST', mode: 'no-cors' }).catch(() => 0)
  navigator.sendBeacon(send('beacon'), 'x')
  const request = new XMLHttpRequest(); request.open('POST', send('xhr')); request.send('x')
  const frame = (sandbox, inner, by) => {
    const made = document.createElement('iframe')
    if (sandbox) made.sandbox = sandbox
    if (by === 'data') made.src = 'data:text/html,' + encodeURIComponent(inner); else made.srcdoc = inner
    document.body.append(made)
  }
  const submits = text => `<form method=post action="${send(text)}"></form><script>document.forms[0].submit()<\/script>`
  frame('allow-scripts allow-forms', submits('sandboxed'))
  frame('', submits('data'), 'data')
  frame('', '<meta name=referrer content=no-referrer>' + submits('silent'))
  const ids = ['form', 'multipart', 'plain', 'bounced']
  ids.forEach((id, at) => setTimeout(() => document.getElementById(id).submit(), 300 * at))
  setTimeout(() => document.getElementById('ping').click(), 300 * ids.length)
</script>"#;

/// Ways in which a site's own pages change something. A sandboxed frame and a data: URL are nobody's own.
const OWN: &str = "beacon,bounced,cors,fetch,fetched,form,multipart,ping,plain,put,silent,xhr";

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn a_browser_sends_what_changes_something_from_own_pages_alone() {
    let https = Https::serving();
    let platform = &https.platform;
    platform.sql(&format!(
        "create table note (text text);
         grant select, insert on note to howdah_web;
         create function written(text text) returns text language sql volatile begin atomic insert into note values (text) returning text; end;
         create function attack(target text) returns http.html language sql stable return replace($html${ATTACK}$html$, 'TARGET', target)::http.html;
         create function bounce(\"to\" text) returns http.response language sql stable return http.redirect(\"to\", 307);
         select http.route('POST', '/notes', 'written'), http.route('PUT', '/notes', 'written'), http.route('GET', '/attack', 'attack'),
           http.route('POST', '/bounce', 'bounce'), http.cross_site('POST', '/bounce')"
    ));
    wait_for("the page", || platform.get("/attack?target=x").status == 200);
    let (clear, tls) = (platform.port, https.port);
    for (shop, other) in [
        (format!("http://localhost:{clear}"), format!("http://127.0.0.1:{clear}")),
        // Without TLS, and not at home, browsers say nothing but Origin.
        (format!("http://shop.example:{clear}"), format!("http://evil.example:{clear}")),
        (format!("http://shop.example:{clear}"), format!("http://sub.shop.example:{clear}")),
        (format!("https://shop.example:{tls}"), format!("https://evil.example:{tls}")),
        (format!("https://shop.example:{tls}"), format!("http://shop.example:{clear}")),
        (format!("https://shop.example:{tls}"), format!("http://evil.example:{clear}")),
    ] {
        let written = |from: &str| {
            platform.sql("truncate note");
            let document = shown(&format!("{from}/attack?target={shop}"));
            assert!(document.contains("sink"), "{document}");
            platform
                .value("select coalesce(string_agg(distinct text, ',' order by text), '') from note")
                .unwrap()
        };
        assert_eq!(written(&other), "", "{other} to {shop}");
        // A page that has its browser say nothing of where it is from is nobody's where that is all that browsers say.
        let says_origin_alone = shop.starts_with("http:") && !shop.contains("localhost");
        let own = if says_origin_alone { OWN.replace("silent,", "") } else { OWN.to_owned() };
        assert_eq!(written(&shop), own, "{shop} to itself");
    }
}
