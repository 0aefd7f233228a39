//! Controls of HTML.

/// A control, by the name that `http.field` knows it by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// `<input>` of this type, whose value is a text.
    Input(&'static str),
    /// `<textarea>`.
    Textarea,
    /// One checkbox, which sends `true`.
    Checkbox,
    /// `<select>`.
    Select,
    /// A radio button for each choice.
    Radio,
    /// A checkbox for each choice, of which several may be set.
    Checkboxes,
    /// `<select multiple>`.
    SelectMany,
    /// A file to be sent. It never has a value.
    File,
    /// A password. It never has a value.
    Password,
    /// A value that nobody sees.
    Hidden,
}

/// All names of kinds.
const NAMES: [(&str, Control); 22] = [
    ("text", Control::Input("text")),
    ("number", Control::Input("number")),
    ("range", Control::Input("range")),
    ("date", Control::Input("date")),
    ("time", Control::Input("time")),
    ("datetime-local", Control::Input("datetime-local")),
    ("month", Control::Input("month")),
    ("week", Control::Input("week")),
    ("email", Control::Input("email")),
    ("url", Control::Input("url")),
    ("tel", Control::Input("tel")),
    ("search", Control::Input("search")),
    ("color", Control::Input("color")),
    ("textarea", Control::Textarea),
    ("checkbox", Control::Checkbox),
    ("select", Control::Select),
    ("radio", Control::Radio),
    ("checkboxes", Control::Checkboxes),
    ("select-multiple", Control::SelectMany),
    ("file", Control::File),
    ("password", Control::Password),
    ("hidden", Control::Hidden),
];

/// The type of an argument, as far as it decides about its control.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TypeClass {
    /// A text, or a type of which nothing else is known.
    #[default]
    Text,
    /// A whole number.
    Integer,
    /// Another number.
    Number,
    /// A date.
    Date,
    /// A time of the day.
    Time,
    /// A date and a time of the day, with a zone or without.
    DateTime,
    /// A boolean.
    Boolean,
    /// An enum, or a text of which a check lists the values.
    Enum,
    /// JSON.
    Json,
    /// A file, or bytes.
    File,
    /// A secret.
    Secret,
}

impl Control {
    /// The kind of this name.
    pub fn named(name: &str) -> Option<Control> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// All names, for an error.
    pub fn names() -> String {
        NAMES.map(|(name, _)| name).join(", ")
    }

    /// The kind of an argument's type, of an array of it, by its name where that says more, and with choices or without.
    pub fn of_type(class: TypeClass, is_array: bool, name: &str, has_choices: bool) -> Control {
        match class {
            TypeClass::Secret => Control::Password,
            TypeClass::File => Control::File,
            TypeClass::Enum if is_array => Control::Checkboxes,
            TypeClass::Enum => Control::Select,
            _ if has_choices => {
                if is_array {
                    Control::Checkboxes
                } else {
                    Control::Select
                }
            }
            _ if is_array => Control::Input("text"),
            TypeClass::Text => Control::Input(by_name(name)),
            TypeClass::Integer | TypeClass::Number => Control::Input("number"),
            TypeClass::Date => Control::Input("date"),
            TypeClass::Time => Control::Input("time"),
            TypeClass::DateTime => Control::Input("datetime-local"),
            TypeClass::Boolean => Control::Checkbox,
            TypeClass::Json => Control::Textarea,
        }
    }

    /// Whether it has several controls, which share a name.
    pub(crate) fn is_group(self) -> bool {
        matches!(self, Control::Radio | Control::Checkboxes)
    }

    /// Whether several values may be chosen.
    pub fn is_many(self) -> bool {
        matches!(self, Control::Checkboxes | Control::SelectMany)
    }

    /// Whether it never shows a value.
    pub fn is_never_filled(self) -> bool {
        matches!(self, Control::File | Control::Password)
    }
}

/// The type of an `<input>` for a text of this name.
fn by_name(name: &str) -> &'static str {
    match name.to_lowercase().trim_end_matches(|last: char| last == '_' || last.is_ascii_digit()) {
        "email" | "e_mail" | "email_address" => "email",
        "phone" | "telephone" | "phone_number" | "tel" | "mobile" => "tel",
        "url" | "website" | "homepage" => "url",
        _ => "text",
    }
}

/// The `autocomplete` of a field, by its name; none where nothing is known.
pub(crate) fn autocomplete(name: &str) -> Option<&'static str> {
    Some(match name.to_lowercase().as_str() {
        "name" | "full_name" => "name",
        "first_name" | "given_name" => "given-name",
        "last_name" | "family_name" | "surname" => "family-name",
        "email" | "e_mail" | "email_address" => "email",
        "phone" | "telephone" | "phone_number" | "tel" | "mobile" => "tel",
        "organization" | "company" => "organization",
        "address" | "street_address" => "street-address",
        "street" => "address-line1",
        "city" | "town" => "address-level2",
        "zip" | "postcode" | "postal_code" => "postal-code",
        "country" => "country-name",
        "birthday" | "date_of_birth" => "bday",
        "username" => "username",
        "new_password" => "new-password",
        _ => return None,
    })
}
