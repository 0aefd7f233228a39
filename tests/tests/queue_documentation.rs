//! The examples of docs/queue.md run.

use howdah_tests::queues::Queues;

#[test]
fn every_example_of_the_page_runs() {
    let queues = Queues::empty(&[]);
    queues.sql("create extension howdah");
    let page = std::fs::read_to_string("../docs/queue.md").unwrap();
    let examples: Vec<&str> =
        page.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(examples.len(), 6, "the page has other examples than this test knows");
    for example in examples {
        for statement in example.split(";\n").filter(|statement| !statement.trim().is_empty()) {
            queues.sql(statement);
        }
    }
}
