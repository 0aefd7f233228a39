//! Fields, read back by a parser of HTML.

use fields::{Choice, Control, FormField, Rules, TypeClass};
use html5ever::tendril::TendrilSink;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

/// Elements with their attributes, and all text, in order.
#[derive(Default, Debug)]
struct Seen {
    elements: Vec<(String, Vec<(String, String)>)>,
    texts: Vec<String>,
}

impl Seen {
    fn of(html: &str) -> Seen {
        let dom = parse_document(RcDom::default(), ParseOpts::default())
            .one(format!("<!doctype html><body>{html}"));
        assert_eq!(dom.errors.borrow().len(), 0, "{html}: {:?}", dom.errors.borrow());
        let mut seen = Seen::default();
        seen.look(&dom.document);
        seen
    }

    fn look(&mut self, node: &Handle) {
        match &node.data {
            NodeData::Element { name, attrs, .. } => {
                let attributes = attrs.borrow();
                let attributes =
                    attributes.iter().map(|it| (it.name.local.to_string(), it.value.to_string()));
                self.elements.push((name.local.to_string(), attributes.collect()));
            }
            NodeData::Text { contents } => self.texts.push(contents.borrow().to_string()),
            _ => {}
        }
        node.children.borrow().iter().for_each(|child| self.look(child));
    }

    fn attribute(&self, element: &str, name: &str) -> Option<&str> {
        let (_, attributes) = self.elements.iter().find(|(known, _)| known == element)?;
        attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn count(&self, element: &str, attribute: &str) -> usize {
        let has = |(known, attributes): &&(String, Vec<(String, String)>)| {
            known == element && attributes.iter().any(|(name, _)| name == attribute)
        };
        self.elements.iter().filter(has).count()
    }
}

fn field<'a>(kind: Control, values: &'a [String], choices: &'a [Choice], rules: &'a Rules) -> FormField<'a> {
    FormField {
        name: "n",
        label: "Label",
        kind,
        id: "field-n",
        values,
        choices,
        hint: None,
        error: None,
        has_focus: false,
        is_many: false,
        rules,
    }
}

fn chosen(values: &[&str]) -> Vec<Choice> {
    values.iter().map(|value| Choice { value: (*value).into(), text: format!("{value} <text>") }).collect()
}

#[test]
fn each_text_comes_back_as_it_was_and_makes_no_element() {
    let mut random = fastrand::Rng::with_seed(57);
    let pieces = [
        "<",
        ">",
        "\"",
        "'",
        "&",
        "&amp;",
        "</textarea>",
        "<script>",
        "\n",
        "ü",
        "a",
        " ",
        "-->",
        "]]>",
        "=",
        "`",
    ];
    let kinds = [
        "text",
        "number",
        "date",
        "textarea",
        "select",
        "radio",
        "checkboxes",
        "select-multiple",
        "hidden",
        "color",
    ];
    for _ in 0..4_000 {
        let mut text =
            || (0..random.usize(1..6)).map(|_| pieces[random.usize(..pieces.len())]).collect::<String>();
        let (value, label, hint, error, name) = (text(), text(), text(), text(), text());
        let kind = Control::named(kinds[random.usize(..kinds.len())]).unwrap();
        let (values, rules) = ([value.clone()], Rules::default());
        let choices = [Choice { value: value.clone(), text: label.clone() }];
        let html = FormField {
            name: &name,
            label: &label,
            hint: Some(&hint),
            error: Some(&error),
            ..field(kind, &values, &choices, &rules)
        }
        .html();
        let seen = Seen::of(&html);
        let known = [
            "html", "head", "body", "p", "label", "input", "textarea", "select", "option", "fieldset",
            "legend", "small", "strong",
        ];
        assert!(seen.elements.iter().all(|(name, _)| known.contains(&name.as_str())), "{html}");
        let element = match kind {
            Control::Textarea => "textarea",
            Control::Select | Control::SelectMany => "select",
            _ => "input",
        };
        assert_eq!(seen.attribute(element, "name"), Some(name.as_str()), "{html}");
        match kind {
            Control::Textarea => assert!(seen.texts.contains(&value), "{html}"),
            Control::Select | Control::SelectMany => {
                let (_, attributes) = seen.elements.iter().rfind(|(name, _)| name == "option").unwrap();
                assert_eq!(attributes[0], ("value".into(), value.clone()), "{html}");
            }
            _ => assert_eq!(seen.attribute("input", "value"), Some(value.as_str()), "{html}"),
        }
        if kind != Control::Hidden {
            for shown in [&label, &hint, &error] {
                assert!(
                    seen.texts.iter().any(|text| text.trim() == shown.trim()) || shown.trim().is_empty(),
                    "{shown:?} in {html}"
                );
            }
        }
    }
}

#[test]
fn passwords_and_files_are_never_filled_in() {
    let (values, rules) = (["secret".to_owned()], Rules::default());
    for kind in [Control::Password, Control::File] {
        let html = field(kind, &values, &[], &rules).html();
        assert!(!html.contains("secret") && !html.contains("value="), "{html}");
    }
    let many = FormField { is_many: true, ..field(Control::File, &[], &[], &rules) }.html();
    assert_eq!(Seen::of(&many).count("input", "multiple"), 1);
}

#[test]
fn choices_show_which_are_chosen() {
    let values = ["b".to_owned(), "c".to_owned()];
    let (rules, choices) = (Rules { required: true, ..Rules::default() }, chosen(&["a", "b", "c"]));
    for (kind, element, attribute, count) in [
        (Control::SelectMany, "option", "selected", 2),
        (Control::Checkboxes, "input", "checked", 2),
        (Control::Select, "option", "selected", 2),
    ] {
        let seen = Seen::of(&field(kind, &values, &choices, &rules).html());
        assert_eq!(seen.count(element, attribute), count, "{seen:?}");
        assert!(seen.texts.iter().any(|text| text.trim() == "a <text>"));
    }
    // An empty choice, where none is chosen or none needs to be.
    let options = |values: &[String], required: bool| {
        let rules = Rules { required, ..Rules::default() };
        Seen::of(&field(Control::Select, values, &choices, &rules).html()).count("option", "value")
    };
    assert_eq!((options(&values, true), options(&[], true), options(&values, false)), (3, 4, 4));
    let radio = Seen::of(&field(Control::Radio, &values[..1], &choices, &rules).html());
    assert_eq!((radio.count("input", "required"), radio.count("input", "checked")), (3, 1));
    let checkbox = |value: &str| {
        let values = [value.to_owned()];
        Seen::of(&field(Control::Checkbox, &values, &[], &Rules::default()).html()).count("input", "checked")
    };
    assert_eq!(["true", "t", "on", "1", "yes"].map(checkbox), [1; 5]);
    assert_eq!(["false", "f", "off", "0", "no", "", "x"].map(checkbox), [0; 7]);
}

#[test]
fn dates_and_times_are_written_as_html_has_them() {
    let rules = Rules { min: Some("2020-01-01 08:00:00".into()), ..Rules::default() };
    for (kind, value, shown) in [
        ("datetime-local", "2026-11-30 12:31:17.123456+01", "2026-11-30T12:31:17.123"),
        ("datetime-local", "2026-11-30T12:31", "2026-11-30T12:31"),
        ("datetime-local", "soon", "soon"),
        ("time", "12:31:17.5+02", "12:31:17.5"),
        ("date", "2026-11-30", "2026-11-30"),
        ("number", "1.50", "1.50"),
    ] {
        let values = [value.to_owned()];
        let seen = Seen::of(&field(Control::named(kind).unwrap(), &values, &[], &rules).html());
        assert_eq!(seen.attribute("input", "value"), Some(shown), "{value}");
    }
    let seen = Seen::of(&field(Control::Input("datetime-local"), &[], &[], &rules).html());
    assert_eq!(seen.attribute("input", "min"), Some("2020-01-01T08:00:00"));
}

#[test]
fn labels_hints_and_errors_belong_to_their_control() {
    let rules =
        Rules { required: true, max_length: Some(9), pattern: Some("[a-z]+".into()), ..Rules::default() };
    let html = FormField {
        hint: Some("Small letters"),
        error: Some("No"),
        has_focus: true,
        name: "email",
        ..field(Control::Input("text"), &[], &[], &rules)
    }
    .html();
    let seen = Seen::of(&html);
    assert_eq!(seen.attribute("label", "for"), Some("field-n"));
    for (name, value) in [
        ("id", "field-n"),
        ("aria-invalid", "true"),
        ("aria-describedby", "field-n-hint field-n-error"),
        ("required", ""),
        ("autofocus", ""),
        ("maxlength", "9"),
        ("pattern", "[a-z]+"),
        ("title", "Small letters"),
        ("autocomplete", "email"),
    ] {
        assert_eq!(seen.attribute("input", name), Some(value), "{name} in {html}");
    }
    assert_eq!(
        (seen.attribute("small", "id"), seen.attribute("strong", "id")),
        (Some("field-n-hint"), Some("field-n-error"))
    );
}

#[test]
fn a_type_has_its_control() {
    for (class, is_array, name, has_choices, kind) in [
        (TypeClass::Text, false, "title", false, Control::Input("text")),
        (TypeClass::Text, false, "email", false, Control::Input("email")),
        (TypeClass::Text, false, "phone_2", false, Control::Input("tel")),
        (TypeClass::Text, false, "title", true, Control::Select),
        (TypeClass::Text, true, "tags", true, Control::Checkboxes),
        (TypeClass::Text, true, "tags", false, Control::Input("text")),
        (TypeClass::Integer, false, "n", false, Control::Input("number")),
        (TypeClass::Integer, false, "n", true, Control::Select),
        (TypeClass::Enum, false, "n", true, Control::Select),
        (TypeClass::Enum, true, "n", true, Control::Checkboxes),
        (TypeClass::Boolean, false, "n", false, Control::Checkbox),
        (TypeClass::DateTime, false, "n", false, Control::Input("datetime-local")),
        (TypeClass::Json, false, "n", false, Control::Textarea),
        (TypeClass::File, true, "n", false, Control::File),
        (TypeClass::Secret, false, "n", true, Control::Password),
    ] {
        assert_eq!(Control::of_type(class, is_array, name, has_choices), kind, "{class:?} {name}");
    }
}
