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

fn run_examples(name: &str) {
    let document = Document::read(name);
    let platform = platform();
    let ran = Reader::new(&platform).run(&document);
    assert!(ran > 0, "{name} has no example that can be run");
}

#[test]
fn the_examples_of_the_readme_answer_as_it_says() {
    run_examples("README.md");
}

#[test]
fn the_examples_of_the_http_page_answer_as_it_says() {
    run_examples("docs/http.md");
}

#[test]
fn the_examples_of_the_page_on_applications_answer_as_it_says() {
    run_examples("docs/applications.md");
}

#[test]
fn the_examples_of_the_page_on_pages_answer_as_it_says() {
    run_examples("docs/pages.md");
}

#[test]
fn the_examples_of_the_page_on_files_answer_as_it_says() {
    run_examples("docs/files.md");
}

#[test]
fn the_examples_of_the_queue_page_answer_as_it_says() {
    run_examples("docs/queue.md");
}

#[test]
fn the_examples_of_the_page_on_jobs_answer_as_it_says() {
    run_examples("docs/jobs.md");
}

#[test]
fn the_examples_of_the_page_on_schedules_answer_as_it_says() {
    run_examples("docs/schedules.md");
}

#[test]
fn the_examples_for_those_who_come_from_elsewhere_answer_as_they_say() {
    for name in coming_from() {
        run_examples(&name);
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
const OF_JOBS: [&str; 2] = ["docs/jobs.md", "docs/schedules.md"];

#[test]
fn every_setting_is_documented_with_its_unit_and_default() {
    let platform = platform();
    reference::compare_settings(&Document::read("docs/http.md"), "All settings", &platform, r"^howdah\.");
    let of_queues = r"^howdah\.(queue_(?!timeout)|.*(ingest|inflated|queues))";
    reference::compare_settings(&Document::read("docs/queue-reference.md"), "Settings", &platform, of_queues);
}

#[test]
fn every_function_is_documented_as_it_is_declared() {
    let platform = platform();
    reference::compare_headings(&Document::read("docs/http.md"), &platform);
    reference::compare_rows(&Document::read("docs/queue-reference.md"), &platform, "queue");
    reference::compare_rows(&Document::read_together(&OF_JOBS), &platform, "job");
}

#[test]
fn every_column_of_every_view_and_type_is_documented() {
    let platform = platform();
    reference::compare_columns(&Document::read("docs/http.md"), &platform, "http", &["v"]);
    reference::compare_columns(&Document::read("docs/queue-reference.md"), &platform, "queue", &["v", "c"]);
    reference::compare_columns(&Document::read_together(&OF_JOBS), &platform, "job", &["v"]);
}

#[test]
fn every_sqlstate_becomes_the_documented_status() {
    reference::compare_errors(&Document::read("docs/http.md"), &platform());
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
    let pages = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "docs/http.md",
        "docs/jobs.md",
        "docs/limits.md",
        "docs/pages.md",
        "docs/files.md",
        "docs/queue.md",
        "docs/queue-reference.md",
        "docs/schedules.md",
    ];
    for name in pages.into_iter().map(str::to_owned).chain(coming_from()) {
        let document = Document::read(&name);
        for target in document.links() {
            assert!(document.leads_somewhere(&target), "{name} links to {target}, which is not there");
        }
    }
}

/// The pages for those who come from another system.
fn coming_from() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/coming-from");
    let pages = std::fs::read_dir(folder).expect("pages");
    let mut names: Vec<String> = pages
        .map(|page| format!("docs/coming-from/{}", page.expect("a page").file_name().to_string_lossy()))
        .collect();
    names.sort_unstable();
    assert!(names.len() >= 4, "{names:?}");
    names
}
