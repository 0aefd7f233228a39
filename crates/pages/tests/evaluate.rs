//! The SQL of a page, computed as PostgreSQL and the native functions would, for pages whose holes are single names and whose queries are
//! `select NAME`.

use pages::escape;

/// The value of a hole.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Text(String),
    Html(String),
}

impl Value {
    pub(crate) fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    fn printed(&self) -> &str {
        match self {
            Value::Null => "",
            Value::Text(text) | Value::Html(text) => text,
        }
    }
}

/// The meaning of names.
pub(crate) trait Names {
    fn value(&mut self, name: &str) -> Value;
    fn condition(&mut self, name: &str) -> bool;
    fn rows(&mut self, query: &str) -> usize;
}

/// The values of holes by a function; all conditions hold, and all queries have a row.
pub(crate) struct Given<Function>(pub(crate) Function);

impl<Function: FnMut(&str) -> Value> Names for Given<Function> {
    fn value(&mut self, name: &str) -> Value {
        (self.0)(name)
    }

    fn condition(&mut self, _: &str) -> bool {
        true
    }

    fn rows(&mut self, _: &str) -> usize {
        1
    }
}

pub(crate) fn evaluate(sql: &str, names: &mut dyn Names) -> Value {
    let mut evaluator = Evaluator { rest: sql, names };
    let value = evaluator.expression();
    assert_eq!(evaluator.rest, "", "{sql}");
    value
}

pub(crate) fn html(sql: &str, names: &mut dyn Names) -> String {
    evaluate(sql, names).printed().to_owned()
}

struct Evaluator<'a> {
    rest: &'a str,
    names: &'a mut dyn Names,
}

fn json(value: &Value) -> Value {
    let Value::Text(text) = value else { return value.clone() };
    let mut json = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => json.extend(['\\', letter]),
            letter if letter < ' ' => json.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter => json.push(letter),
        }
    }
    Value::Text(json + "\"")
}

fn escaped(text: &str) -> Value {
    Value::Html(escape::html_pieces(text).collect())
}

impl<'a> Evaluator<'a> {
    fn take(&mut self, word: &str) -> bool {
        match self.rest.strip_prefix(word) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn must(&mut self, word: &str) {
        assert!(self.take(word), "{word} should stand before {}", self.rest);
    }

    fn name(&mut self) -> &'a str {
        let end = self
            .rest
            .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        assert!(!name.is_empty(), "a name should stand before {rest}");
        name
    }

    /// A function's value of its one argument.
    fn of(&mut self, function: impl Fn(Value) -> Value) -> Value {
        let value = self.expression();
        self.must(")");
        match value {
            Value::Null => Value::Null,
            value => function(value),
        }
    }

    fn expression(&mut self) -> Value {
        if self.take("http.html_of(") {
            let pieces = self.list().into_iter().map(|value| match value {
                Value::Text(text) => escaped(&text).printed().to_owned(),
                value => value.printed().to_owned(),
            });
            return Value::Html(pieces.collect());
        }
        if self.take("http.text_of(") {
            return Value::Text(self.list().iter().map(Value::printed).collect());
        }
        if self.take("http.attribute(") {
            return self.of(|value| escaped(value.printed()));
        }
        if self.take("http.safe_url(") {
            return self.of(|value| Value::text(&escape::safe_url(value.printed())));
        }
        if self.take("http.script_json(") {
            return self.of(|value| Value::Html(escape::script_json_pieces(value.printed()).collect()));
        }
        if self.take("to_json(") {
            return self.of(|value| json(&value));
        }
        if self.take("http.url(") {
            // A route's URL is a path, whatever is put into it.
            return self.of(|value| {
                Value::text(&format!(
                    "/{}",
                    value.printed().replace(|letter: char| !letter.is_alphanumeric(), "%20")
                ))
            });
        }
        if self.take("coalesce(") {
            let first = self.expression();
            self.must(", ");
            let second = self.expression();
            self.must(")");
            return if first == Value::Null { second } else { first };
        }
        match self.rest.as_bytes()[0] {
            b'\'' | b'E' if self.rest.starts_with('\'') || self.rest.starts_with("E'") => self.string(),
            b'(' => self.rows(),
            _ if self.take("case") => self.choice(),
            _ => {
                let name = self.name();
                self.names.value(name)
            }
        }
    }

    fn list(&mut self) -> Vec<Value> {
        let mut values = Vec::new();
        loop {
            values.push(self.expression());
            if self.take(")") {
                assert!(values.len() <= 100, "PostgreSQL takes no more arguments");
                return values;
            }
            self.must(", ");
        }
    }

    fn string(&mut self) -> Value {
        let has_escapes = self.take("E");
        self.must("'");
        let mut text = String::new();
        loop {
            let next = self.rest.find(['\'', '\\']).expect("the end of a string");
            text.push_str(&self.rest[..next]);
            self.rest = &self.rest[next..];
            if has_escapes && self.take("\\\\") {
                text.push('\\');
            } else if self.take("''") {
                text.push('\'');
            } else if self.take("\\") {
                text.push('\\');
            } else {
                break self.must("'");
            }
        }
        if self.take("::http.html") {
            return Value::Html(text);
        }
        self.must("::text");
        Value::Text(text)
    }

    fn choice(&mut self) -> Value {
        let mut found = None;
        while self.take(" when (") {
            let condition = self.name();
            let holds = self.names.condition(condition);
            self.must(") then ");
            let value = self.expression();
            if holds && found.is_none() {
                found = Some(value);
            }
        }
        let otherwise = if self.take(" else ") { self.expression() } else { Value::Null };
        self.must(" end");
        found.unwrap_or(otherwise)
    }

    /// The body is computed once for each row; its text is read once at least.
    fn rows(&mut self) -> Value {
        self.must("(select ");
        let is_text = self.take("string_agg(");
        let is_single = !is_text && self.take("http.single(");
        if !is_text && !is_single {
            self.must("http.html_agg(");
        }
        self.must("\"row body\".\"body\"");
        let place = self.rest.find(") from (select ").expect("the place of the rows");
        self.rest = &self.rest[place + ") from (select ".len()..];
        let query = self.name();
        self.must(") as ");
        let lateral = ", lateral (select ";
        let place = self.rest.find(lateral).expect("the body of the rows");
        self.rest = &self.rest[place + lateral.len()..];
        let body = self.rest;
        let first = self.expression();
        self.must(" as \"body\") as \"row body\")");
        let count = self.names.rows(query).min(if is_single { 1 } else { usize::MAX });
        if count == 0 {
            return Value::Null;
        }
        let mut text = first.printed().to_owned();
        for _ in 1..count {
            let mut again = Evaluator { rest: body, names: self.names };
            text.push_str(again.expression().printed());
        }
        if matches!(first, Value::Html(_)) { Value::Html(text) } else { Value::Text(text) }
    }
}
