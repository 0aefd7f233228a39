//! The dictionaries that a process has found for one role are not the next one's.

use howdah_tests::Platform;
use howdah_tests::queues::{Queues, number};

/// A thesaurus of `victim` names its dictionary by a name that is another one in the schema of `mallory`; so does the server's
/// `default_text_search_config`.
const DICTIONARIES: &str = "
create role victim; create role mallory;
create schema vic authorization victim; create schema evil authorization mallory;
grant usage on schema vic, evil to public;
create text search dictionary vic.words (template = simple, stopwords = english);
set search_path = vic;
create text search dictionary vic.things (template = thesaurus, dictfile = thesaurus_sample, dictionary = words);
create text search configuration vic.texts (copy = pg_catalog.english);
alter text search configuration vic.texts alter mapping for asciiword with vic.things, vic.words;
reset search_path;
create function vic.words(line text) returns text stable language plpgsql as
  $$ begin return to_tsvector('vic.texts', line)::text || to_tsvector(line); end $$;
set role mallory;
create text search dictionary evil.words (template = snowball, language = english);
create text search configuration evil.english (copy = pg_catalog.simple);
create function evil.arm() returns text stable language plpgsql as
  $$ begin
    perform set_config('search_path', 'evil, pg_catalog', true);
    perform ts_lexize('vic.things', 'stars'), to_tsvector('stars');
    return 'armed';
  end $$;
reset role;";

/// What the victim's function makes of [`LINE`].
const WORDS: &str = "'running':3 'star':2 'supernova':1'run':3 'star':2 'supernova':1";
const LINE: &str = "supernova star running";

#[test]
fn dictionaries_are_not_looked_up_in_the_path_of_another_roles_request() {
    let platform = Platform::with(&[
        ("howdah.gateways", "1"),
        ("howdah.min_executors", "1"),
        ("howdah.max_executors", "1"),
        ("howdah.inline_threshold", "100000"),
        ("howdah.inline_deadline", "1s"),
        ("default_text_search_config", "english"),
    ]);
    platform.sql(DICTIONARIES);
    platform.sql(
        "select http.route(method, '/words', 'vic.words', role => 'victim', search_path => 'vic'), http.route(method, '/arm', 'evil.arm')
         from unnest(array['GET', 'POST']) method",
    );
    let ask = |method: &str, path: &str| platform.connect().request(method, path, &[], b"").text();
    let line = format!("/words?line={}", LINE.replace(' ', "+"));
    for method in ["POST", "GET"] {
        for turn in 0..12 {
            assert_eq!(ask(method, "/arm"), "armed", "{method}, turn {turn}");
            assert_eq!(ask(method, &line), WORDS, "{method}, turn {turn}");
        }
    }
    let inline = platform.value("select min(inline) from http.stats where method = 'GET'");
    assert_ne!(inline.as_deref(), Some("0"), "none ran in the gateway");
}

#[test]
fn dictionaries_are_not_looked_up_for_who_sends_dead_letters_again() {
    let queues = Queues::empty(&[("default_text_search_config", "english")]);
    queues.sql(&format!(
        "create extension howdah; {DICTIONARIES}
         set role mallory;
         create function evil.fits(text) returns boolean language plpgsql as
           $$ begin perform evil.arm(); return $1 <> 'bad' or current_user = 'howdah_nobody'; end $$;
         create domain evil.body as text check (evil.fits(value));
         create type evil.letter as (body evil.body);
         reset role;
         select queue.create('letters', 'evil.letter');
         select queue.put_lines('letters', E'{{\"body\": \"bad\"}}\\n')"
    ));
    let mut session = queues.session();
    session.batch_execute("set search_path = vic").unwrap();
    assert_eq!(number(&mut session, "select queue.redrive('letters', 1)"), 1);
    let words =
        session.query_one("select vic.words($1)", &[&LINE]).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(words.get::<_, &str>(0), WORDS);
}
