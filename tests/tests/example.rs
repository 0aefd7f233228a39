//! The published example answers as published.

use howdah_tests::Platform;

const SCHEMA: &str = include_str!("../../examples/users/schema.sql");
const WEB: &str = include_str!("../../examples/users/web.sql");

#[test]
fn the_published_example_answers_as_published() {
    let platform = Platform::start();
    platform.sql(SCHEMA);
    platform.sql(WEB);

    let hello = platform.get("/users/johndoe");
    assert_eq!((hello.status, hello.text()), (200, "Hello, <b>John</b>!".into()));
    assert_eq!(hello.header("content-type"), Some("text/html"));

    let missing = platform.post("/test?q", "text/plain", b"");
    assert_eq!(missing.status, 404);
    assert_eq!(missing.json(), serde_json::json!({"method": "POST", "path": "/test", "query_string": "q"}));

    let card = platform.get("/users/maryjane/card");
    assert_eq!((card.status, card.text()), (200, "<b>Mary &lt;Jane&gt;</b>".into()));
    assert_eq!(card.header("content-type"), Some("text/html; charset=utf-8"));
}
