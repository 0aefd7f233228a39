//! The examples of docs/queue.md run.

use howdah_tests::free_port;
use howdah_tests::queues::Queues;

#[test]
fn every_example_of_the_page_runs() {
    let queues = Queues::empty(&[]);
    queues.sql("create extension howdah");
    let page = std::fs::read_to_string("../docs/queue.md").unwrap();
    let examples: Vec<&str> =
        page.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(examples.len(), 11, "the page has other examples than this test knows");
    for example in examples {
        for statement in example.split(";\n").filter(|statement| !statement.trim().is_empty()) {
            // Whatever listens on this machine.
            let ports =
                [4000, 4001].map(|port| (format!("listen({port}"), format!("listen({}", free_port())));
            let renamed = ports.iter().fold(statement.to_owned(), |text, (from, to)| text.replace(from, to));
            queues.sql(&renamed);
        }
    }
}
