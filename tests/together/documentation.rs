//! The documentation tells the truth: its examples are run, its lists compared with the server.
//!
//! - [`markdown`]: the parts of a document that are checked.
//! - [`examples`]: runs fenced blocks. `sql` blocks are executed in their order in one database. In a `console`
//!   block each line that begins with `$ ` is run by a shell, and what stands below it is compared with what
//!   came; `…` stands for what varies. A block whose fence names a file, such as `html pages/one.html`, is saved as that. Other blocks are only
//!   shown.
//! - [`reference`]: settings, functions, views, errors and limits.

mod examples;
pub(super) mod markdown;
mod reference;

use std::path::Path;

use examples::Reader;
use howdah_tests::Platform;
use markdown::Document;

/// A platform as `make run` gives it: the example `users` is loaded.
fn platform() -> Platform {
    let platform = Platform::start();
    examples::load(&platform, "users");
    platform
}

/// Runs the examples of pages, one after the other, as whoever reads them in this order would.
fn run_examples(names: &[&str]) {
    let platform = platform();
    let mut reader = Reader::new(&platform);
    for name in names {
        let ran = reader.run(&Document::read(name));
        assert!(ran > 0, "{name} has no example that can be run");
    }
    reader.finish();
}

#[test]
fn the_examples_of_the_readme_answer_as_it_says() {
    run_examples(&["README.md"]);
}

#[test]
fn the_examples_of_the_pages_on_http_answer_as_they_say() {
    run_examples(&ON_HTTP);
}

#[test]
fn the_examples_of_the_pages_on_applications_answer_as_they_say() {
    run_examples(&["docs/start.md", "docs/testing.md", "docs/applications.md", "docs/migrations.md"]);
}

#[test]
fn the_examples_of_the_page_on_pages_answer_as_it_says() {
    run_examples(&["docs/pages.md"]);
}

#[test]
fn the_examples_of_the_page_on_files_answer_as_it_says() {
    run_examples(&["docs/files.md"]);
}

#[test]
fn the_examples_of_the_pages_on_queues_answer_as_they_say() {
    run_examples(&["docs/queue.md", "docs/lines.md", "docs/queue-reference.md"]);
}

#[test]
fn the_examples_of_the_pages_on_jobs_answer_as_they_say() {
    run_examples(&["docs/jobs.md", "docs/jobs-reference.md"]);
}

#[test]
fn the_examples_of_the_page_on_schedules_answer_as_it_says() {
    run_examples(&["docs/schedules.md"]);
}

#[test]
fn the_examples_for_those_who_come_from_elsewhere_answer_as_they_say() {
    for name in coming_from() {
        run_examples(&[&name]);
    }
}

#[test]
fn the_suggestions_of_every_example_application_are_served() {
    for application in examples::applications() {
        let platform = Platform::start();
        // Twice: an application is loaded again whenever one of its files changes.
        examples::load(&platform, &application);
        examples::load(&platform, &application);
        let suggestions = examples::suggestions(&application);
        assert!(!suggestions.is_empty(), "examples/{application} has nothing to try");
        // What is not a request, as of queues, is run where they are tested.
        for command in suggestions.iter().filter(|command| command.starts_with("curl ")) {
            let command = command.replace("localhost:9000", &format!("127.0.0.1:{}", platform.port));
            let answer = examples::shell(Path::new("."), &format!("{command} --include --silent"));
            let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
            assert!((200..500).contains(&status), "{command}\n{answer}");
        }
    }
}

/// The pages on what is in the schema `job`.
const OF_JOBS: [&str; 3] = ["docs/jobs.md", "docs/jobs-reference.md", "docs/schedules.md"];

/// The pages on HTTP, each of which may go on from those before.
const ON_HTTP: [&str; 12] = [
    "docs/routes.md",
    "docs/query-handlers.md",
    "docs/functions.md",
    "docs/roles.md",
    "docs/errors.md",
    "docs/compression.md",
    "docs/caching.md",
    "docs/tuning.md",
    "docs/https.md",
    "docs/watching.md",
    "docs/views.md",
    "docs/settings.md",
];

#[test]
fn every_setting_is_documented_with_its_unit_and_default() {
    let platform = platform();
    reference::compare_settings(&Document::read("docs/settings.md"), "All settings", &platform, r"^howdah\.");
    let of_queues = r"^howdah\.(queue_(?!timeout)|.*(ingest|inflated|queues))";
    reference::compare_settings(&Document::read("docs/queue-reference.md"), "Settings", &platform, of_queues);
}

#[test]
fn every_function_is_documented_as_it_is_declared() {
    let platform = platform();
    reference::compare_headings(&Document::read("docs/functions.md"), &platform);
    reference::compare_rows(&Document::read("docs/queue-reference.md"), &platform, "queue");
    reference::compare_rows(&Document::read_together(&OF_JOBS), &platform, "job");
}

#[test]
fn every_column_of_every_view_and_type_is_documented() {
    let platform = platform();
    reference::compare_columns(&Document::read("docs/views.md"), &platform, "http", &["v"]);
    reference::compare_columns(&Document::read("docs/queue-reference.md"), &platform, "queue", &["v", "c"]);
    reference::compare_columns(&Document::read_together(&OF_JOBS), &platform, "job", &["v"]);
}

#[test]
fn every_sqlstate_becomes_the_documented_status() {
    reference::compare_errors(&Document::read("docs/errors.md"), &platform());
}

#[test]
fn every_limit_names_a_default_that_is_so_and_a_test_that_is_there() {
    reference::compare_limits(&Document::read("docs/limits.md"), &Platform::start());
}

#[test]
fn every_setting_that_is_a_limit_is_among_the_limits() {
    let of_limits = r"^howdah\.(.*max_.*|.*_(timeout|memory)|route_share|log_rate|queue_(longest_line|dead_letters|segment_size))$";
    reference::compare_settings_of_limits(&Document::read("docs/limits.md"), &Platform::start(), of_limits);
}

#[test]
fn links_between_documents_lead_somewhere() {
    for name in of_the_project().into_iter().chain(pages()).chain(coming_from()) {
        let document = Document::read(&name);
        for target in document.links() {
            assert!(document.leads_somewhere(&target), "{name} links to {target}, which is not there");
        }
    }
}

#[test]
fn the_list_of_pages_has_each_of_them() {
    let list = Document::read("docs/README.md").links();
    for page in pages().into_iter().chain(coming_from()) {
        let target = page.trim_start_matches("docs/");
        assert!(
            target == "README.md" || list.iter().any(|link| link == target),
            "docs/README.md lacks {page}"
        );
    }
}

/// No page is longer than what is read at one sitting, and each begins with an example.
#[test]
fn pages_are_short_and_begin_with_an_example() {
    for page in pages().into_iter().filter(|page| page != "docs/README.md") {
        let document = Document::read(&page);
        assert!(document.words() <= MOST_WORDS, "{page} has {} words", document.words());
        assert!(document.shows_something_within(LINES_TO_EXAMPLE), "{page} begins without an example");
    }
}

#[test]
fn the_page_on_the_architecture_is_read_at_one_sitting() {
    let words = Document::read("ARCHITECTURE.md").words();
    assert!(
        words <= 4000,
        "ARCHITECTURE.md has {words} words: what is about one crate stands in its README.md"
    );
}

/// The words of a page, at most.
const MOST_WORDS: usize = 5000;
/// The lines of a page within which its first example begins.
const LINES_TO_EXAMPLE: usize = 30;

fn of_the_project() -> Vec<String> {
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"].map(str::to_owned).to_vec()
}

/// The pages of docs/.
fn pages() -> Vec<String> {
    let pages = documents_in("docs");
    assert!(pages.len() > 25, "{pages:?}");
    pages
}

/// The pages for those who come from another system.
fn coming_from() -> Vec<String> {
    let pages = documents_in("docs/coming-from");
    assert!(pages.len() >= 4, "{pages:?}");
    pages
}

/// The documents of a folder of the project, in the order of their names.
fn documents_in(folder: &str) -> Vec<String> {
    let files = std::fs::read_dir(markdown::project().join(folder)).expect("a folder");
    let names = files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned());
    let mut documents: Vec<String> =
        names.filter(|name| name.ends_with(".md")).map(|name| format!("{folder}/{name}")).collect();
    documents.sort_unstable();
    documents
}
