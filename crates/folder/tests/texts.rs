use folder::text::{of_bytes, without_psql};

#[test]
fn who_has_saved_a_file_does_not_matter() {
    let expected = "select 1;\nselect 'é';\n";
    for bytes in
        ["select 1;\nselect 'é';", "\u{feff}select 1;\r\nselect 'é';\r\n", "select 1;\rselect 'é';\r"]
    {
        assert_eq!(of_bytes("a.sql", bytes.as_bytes()).as_deref(), Ok(expected), "{bytes:?}");
    }
    assert_eq!(of_bytes("a.sql", b"").as_deref(), Ok(""));
}

#[test]
fn what_is_no_utf_8_is_named_with_line_and_byte() {
    for (bytes, line, part) in [
        (&b"select 1;\nselect 'caf\xe9';\n"[..], Some(2), "byte 12 of the line, 0xe9"),
        (b"a\n\nb\0c", Some(3), "byte 2 of the line is 0"),
        (b"\xff\xfes\0", None, "UTF-16"),
        (b"\xfe\xff\0s", None, "UTF-16"),
    ] {
        let fault = of_bytes("a.sql", bytes).expect_err("a fault");
        assert_eq!((fault.line, fault.message.contains(part)), (line, true), "{fault}");
    }
}

#[test]
fn a_dump_is_read_and_another_command_of_psql_is_named() {
    let dump = "--\n-- PostgreSQL database dump\n--\n\n\\restrict abc\nselect 1;\n\\unrestrict abc\n";
    assert_eq!(
        without_psql("a.sql", dump).as_deref(),
        Ok("--\n-- PostgreSQL database dump\n--\n\n\nselect 1;\n\n")
    );
    for (text, line, part) in [
        ("select 1;\n\\i other.sql\n", 2, "\\i is a command of psql"),
        ("  \\copy t from 'x'\n", 1, "INSERT"),
        ("select $$\n\\not\n$$;\n\\connect x\n", 4, "--to"),
    ] {
        let fault = without_psql("a.sql", text).expect_err(text);
        assert_eq!((fault.line, fault.message.contains(part)), (Some(line), true), "{fault}");
    }
}

#[test]
fn a_backslash_within_a_text_is_left_alone() {
    for text in [
        "select '\n\\i x\n';\n",
        "select E'it\\'s\n\\i x\n';\n",
        "select 'ends with \\';\n",
        "select \"a\n\\b\";\n",
        "/* /* \n\\i */ \n\\i x */ select 1;\n",
        "do $body$ begin\n\\i $$ x\nend $body$;\n",
        "select 'it''s\n\\i'; -- don't\nselect 1;\n",
        "select $1, a$b$c\n, $é$\n\\x\n$é$;\n",
    ] {
        assert_eq!(without_psql("a.sql", text).as_deref(), Ok(text));
    }
    assert!(without_psql("a.sql", "select 1; -- it's\n\\i x\n").is_err());
    assert!(without_psql("a.sql", "select a$b, 'c';\n\\i $b x\n").is_err());
}
