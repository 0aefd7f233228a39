//! A control with its label, as HTML.

use form::escape;

use crate::control::autocomplete;
use crate::shown::{is_true, shown};
use crate::{Control, Rules};

/// A value that can be chosen, and its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The value that is sent.
    pub value: String,
    /// The text that people read.
    pub text: String,
}

/// A field of a form.
#[derive(Clone, Debug)]
pub struct FormField<'a> {
    /// The name that is sent.
    pub name: &'a str,
    /// The label; empty for none.
    pub label: &'a str,
    /// The control.
    pub kind: Control,
    /// Its id; those of its hint and error begin with it.
    pub id: &'a str,
    /// Its value, or its values where several may be chosen. Never shown by a password or a file.
    pub values: &'a [String],
    /// The choices that there are.
    pub choices: &'a [Choice],
    /// A help for people.
    pub hint: Option<&'a str>,
    /// Its error.
    pub error: Option<&'a str>,
    /// Whether the cursor is put here.
    pub has_focus: bool,
    /// Whether several files may be sent.
    pub is_many: bool,
    /// The rules that a browser checks.
    pub rules: &'a Rules,
}

impl FormField<'_> {
    /// Its HTML.
    pub fn html(&self) -> String {
        let mut html = Html(String::with_capacity(256));
        match self.kind {
            Control::Hidden => {
                html.push("<input type=\"hidden\"");
                html.attribute("name", self.name);
                html.attribute("value", self.values.first().map_or("", String::as_str));
                html.push(">");
            }
            kind if kind.is_group() => self.group(&mut html),
            Control::Checkbox => {
                html.push("<p class=\"field\">");
                self.checkbox(&mut html);
                self.notes(&mut html);
                html.push("</p>");
            }
            _ => {
                html.push("<p class=\"field\">");
                if !self.label.is_empty() {
                    html.push("<label");
                    html.attribute("for", self.id);
                    html.push(">");
                    html.text(self.label);
                    html.push("</label> ");
                }
                self.control(&mut html);
                self.notes(&mut html);
                html.push("</p>");
            }
        }
        html.0
    }

    /// The control alone.
    fn control(&self, html: &mut Html) {
        let value = self.values.first().map(|value| shown(self.kind, value));
        let value = value.filter(|_| !self.kind.is_never_filled());
        match self.kind {
            Control::Textarea => {
                html.push("<textarea");
                self.attributes(html);
                self.lengths(html);
                // A first line feed is none of the value's.
                html.push(">\n");
                html.text(value.as_deref().unwrap_or_default());
                html.push("</textarea>");
            }
            Control::Select | Control::SelectMany => self.select(html),
            kind => {
                let of_type = match kind {
                    Control::Input(of_type) => of_type,
                    Control::File => "file",
                    _ => "password",
                };
                html.push("<input");
                html.attribute("type", of_type);
                self.attributes(html);
                if let Some(value) = value {
                    html.attribute("value", &value);
                }
                if kind == Control::File && self.is_many {
                    html.push(" multiple");
                }
                self.bounds(of_type, html);
                html.push(">");
            }
        }
    }

    fn select(&self, html: &mut Html) {
        html.push("<select");
        self.attributes(html);
        html.push(if self.kind == Control::SelectMany { " multiple>" } else { ">" });
        let is_chosen = |choice: &Choice| self.values.contains(&choice.value);
        let is_one = self.kind == Control::Select;
        if is_one && !self.choices.iter().any(|choice| choice.value.is_empty()) {
            let may_be_none = !self.rules.required || !self.choices.iter().any(is_chosen);
            html.push(if may_be_none { "<option value=\"\"></option>" } else { "" });
        }
        for choice in self.choices {
            html.push("<option");
            html.attribute("value", &choice.value);
            html.push(if is_chosen(choice) { " selected>" } else { ">" });
            html.text(&choice.text);
            html.push("</option>");
        }
        html.push("</select>");
    }

    fn checkbox(&self, html: &mut Html) {
        html.push("<label><input type=\"checkbox\"");
        self.attributes(html);
        html.push(" value=\"true\"");
        if self.values.first().is_some_and(|value| is_true(value)) {
            html.push(" checked");
        }
        html.push("> ");
        html.text(self.label);
        html.push("</label>");
    }

    /// A control for each choice.
    fn group(&self, html: &mut Html) {
        let of_type = if self.kind == Control::Radio { "radio" } else { "checkbox" };
        html.push("<fieldset class=\"field\"");
        html.attribute("id", self.id);
        self.described(html);
        html.push("><legend>");
        html.text(self.label);
        html.push("</legend>");
        for (place, choice) in self.choices.iter().enumerate() {
            html.push("<label><input");
            html.attribute("type", of_type);
            html.attribute("name", self.name);
            html.attribute("value", &choice.value);
            html.push(if self.values.contains(&choice.value) { " checked" } else { "" });
            html.push(if self.rules.required && self.kind == Control::Radio { " required" } else { "" });
            html.push(if self.error.is_some() { " aria-invalid=\"true\"" } else { "" });
            html.push(if self.has_focus && place == 0 { " autofocus" } else { "" });
            html.push("> ");
            html.text(&choice.text);
            html.push("</label> ");
        }
        self.notes(html);
        html.push("</fieldset>");
    }

    /// Attributes that all controls have.
    fn attributes(&self, html: &mut Html) {
        html.attribute("id", self.id);
        html.attribute("name", self.name);
        // A checkbox that has to be set is a rule of the application's.
        html.push(if self.rules.required && self.kind != Control::Checkbox { " required" } else { "" });
        let takes_text = matches!(self.kind, Control::Input(_) | Control::Textarea | Control::Password);
        if let Some(filled) = autocomplete(self.name).filter(|_| takes_text) {
            html.attribute("autocomplete", filled);
        }
        html.push(if self.error.is_some() { " aria-invalid=\"true\"" } else { "" });
        self.described(html);
        html.push(if self.has_focus { " autofocus" } else { "" });
    }

    /// Names the notes.
    fn described(&self, html: &mut Html) {
        let notes = [(self.hint, "hint"), (self.error, "error")];
        let ids: Vec<String> = notes
            .iter()
            .filter(|(note, _)| note.is_some())
            .map(|(_, name)| format!("{}-{name}", self.id))
            .collect();
        if !ids.is_empty() {
            html.attribute("aria-describedby", &ids.join(" "));
        }
    }

    /// Attributes of an `<input>` of this type.
    fn bounds(&self, of_type: &str, html: &mut Html) {
        let Rules { min, max, step, pattern, .. } = self.rules;
        match of_type {
            "number" | "range" => {
                let bounds = [("min", min), ("max", max), ("step", step)];
                bounds
                    .iter()
                    .for_each(|(name, bound)| bound.iter().for_each(|bound| html.attribute(name, bound)));
            }
            "date" | "month" | "week" | "time" | "datetime-local" => {
                for (name, bound) in [("min", min), ("max", max)] {
                    if let Some(bound) = bound {
                        html.attribute(name, &shown(self.kind, bound));
                    }
                }
                html.push(if matches!(of_type, "time" | "datetime-local") { " step=\"any\"" } else { "" });
            }
            "text" | "search" | "tel" | "url" | "email" | "password" => {
                self.lengths(html);
                if let Some(pattern) = pattern {
                    html.attribute("pattern", pattern);
                    self.hint.iter().for_each(|hint| html.attribute("title", hint));
                }
            }
            _ => {}
        }
    }

    fn lengths(&self, html: &mut Html) {
        if let Some(length) = self.rules.min_length {
            html.attribute("minlength", &length.to_string());
        }
        if let Some(length) = self.rules.max_length {
            html.attribute("maxlength", &length.to_string());
        }
    }

    /// Its hint and its error.
    fn notes(&self, html: &mut Html) {
        for (note, name) in [(self.hint, "hint"), (self.error, "error")] {
            if let Some(note) = note {
                html.push(if name == "hint" { " <small class=\"hint\"" } else { " <strong class=\"error\"" });
                html.attribute("id", &format!("{}-{name}", self.id));
                html.push(">");
                html.text(note);
                html.push(if name == "hint" { "</small>" } else { "</strong>" });
            }
        }
    }
}

/// HTML that grows.
struct Html(String);

impl Html {
    /// As it is.
    fn push(&mut self, html: &str) {
        self.0.push_str(html);
    }

    /// A text, escaped.
    fn text(&mut self, text: &str) {
        escape::each_html_piece(text, |piece| self.0.push_str(piece));
    }

    fn attribute(&mut self, name: &str, value: &str) {
        self.push(" ");
        self.push(name);
        self.push("=\"");
        self.text(value);
        self.push("\"");
    }
}
