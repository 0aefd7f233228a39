//! Attributes that a value may not simply be put into: one table.

/// The ways in which browsers and libraries take a value in an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttributeClass {
    /// Text.
    Plain,
    /// Something that no escape makes safe; what to write instead.
    Refused(&'static str),
    /// A URL that browsers load, or go to.
    Load,
    /// A URL of code, or one to which data is sent.
    Code,
    /// The value that an animation of SVG's gives another attribute.
    Animated,
    /// The content of a `meta`, which is a command if it has `http-equiv`.
    MetaContent,
}

use AttributeClass::{Animated, Code, Load, MetaContent, Refused};

/// One line of the table.
struct AttributeRule {
    /// The tags; all of them if there are none.
    tags: &'static [&'static str],
    /// The name, or how it begins, followed by a star.
    name: &'static str,
    class: AttributeClass,
}

const fn any(name: &'static str, class: AttributeClass) -> AttributeRule {
    AttributeRule { tags: &[], name, class }
}

const fn of(tags: &'static [&'static str], name: &'static str, class: AttributeClass) -> AttributeRule {
    AttributeRule { tags, name, class }
}

const SCRIPT: &str = "put the value into a data attribute, and let a script read it";
const LIBRARY: &str =
    "a library runs this attribute as code: put the value into a data attribute or a hidden field";
const FIXED: &str = "write the attribute without holes, each case in an if of its own";
const STYLE: &str = "choose a class, or put the value into a data attribute";
const ANIMATIONS: &[&str] = &["set", "animate", "animatetransform", "animatemotion", "animatecolor"];
const MEDIA: &[&str] = &["img", "image", "audio", "video", "source", "track", "input"];
const LINKS: &[&str] = &["a", "area", "image", "feimage"];

/// The first line that fits says what an attribute is.
const TABLE: &[AttributeRule] = &[
    any("on*", Refused(SCRIPT)),
    any("style", Refused(STYLE)),
    any("srcdoc", Refused("give the frame a page of its own, by src")),
    any("hx-get", Code),
    any("hx-post", Code),
    any("hx-put", Code),
    any("hx-patch", Code),
    any("hx-delete", Code),
    any("data-hx-get", Code),
    any("data-hx-post", Code),
    any("data-hx-put", Code),
    any("data-hx-patch", Code),
    any("data-hx-delete", Code),
    any("hx-ws", Code),
    any("hx-sse", Code),
    any("ws-connect", Code),
    any("sse-connect", Code),
    any("up-href", Code),
    any("hx-on*", Refused(LIBRARY)),
    any("hx-vals", Refused(LIBRARY)),
    any("hx-vars", Refused(LIBRARY)),
    any("hx-headers", Refused(LIBRARY)),
    any("hx-request", Refused(LIBRARY)),
    any("hx-trigger", Refused(LIBRARY)),
    any("data-hx-on*", Refused(LIBRARY)),
    any("data-hx-vals", Refused(LIBRARY)),
    any("data-hx-vars", Refused(LIBRARY)),
    any("data-hx-headers", Refused(LIBRARY)),
    any("data-hx-request", Refused(LIBRARY)),
    any("data-hx-trigger", Refused(LIBRARY)),
    any("x-*", Refused(LIBRARY)),
    any("@*", Refused(LIBRARY)),
    any(":*", Refused(LIBRARY)),
    any("(*", Refused(LIBRARY)),
    any("[*", Refused(LIBRARY)),
    any("**", Refused(LIBRARY)),
    any("#*", Refused(LIBRARY)),
    any("v-*", Refused(LIBRARY)),
    any("ng-*", Refused(LIBRARY)),
    any("data-ng-*", Refused(LIBRARY)),
    any("_", Refused(LIBRARY)),
    any("data-on*", Refused(LIBRARY)),
    any("data-bind*", Refused(LIBRARY)),
    any("data-signals*", Refused(LIBRARY)),
    any("data-script", Refused(LIBRARY)),
    any("wire:*", Refused(LIBRARY)),
    any("bind:*", Refused(LIBRARY)),
    any("up-on*", Refused(LIBRARY)),
    any("target", Refused(FIXED)),
    any("formtarget", Refused(FIXED)),
    any("http-equiv", Refused(FIXED)),
    any("charset", Refused(FIXED)),
    any("sandbox", Refused(FIXED)),
    any("xml:base", Refused(FIXED)),
    any("attributename", Refused(FIXED)),
    of(&["script"], "type", Refused(FIXED)),
    of(&["script"], "language", Refused(FIXED)),
    of(&["link"], "rel", Refused(FIXED)),
    of(&["meta"], "content", MetaContent),
    of(ANIMATIONS, "to", Animated),
    of(ANIMATIONS, "from", Animated),
    of(ANIMATIONS, "values", Animated),
    of(ANIMATIONS, "by", Animated),
    of(LINKS, "href", Load),
    of(LINKS, "xlink:href", Load),
    of(MEDIA, "src", Load),
    any("poster", Load),
    any("ping", Load),
    any("cite", Load),
    any("srcset", Load),
    any("imagesrcset", Load),
    any("background", Load),
    any("longdesc", Load),
    any("lowsrc", Load),
    any("dynsrc", Load),
    any("href", Code),
    any("xlink:href", Code),
    any("src", Code),
    any("action", Code),
    any("formaction", Code),
    any("manifest", Code),
    any("codebase", Code),
    any("classid", Code),
    any("archive", Code),
    any("profile", Code),
    of(&["object"], "data", Code),
    of(&["object", "applet"], "code", Code),
    of(&["param"], "value", Code),
];

/// The class of an attribute. Both names are in lower case.
pub(crate) fn class(tag: &str, name: &str) -> AttributeClass {
    let fits = |rule: &&AttributeRule| {
        let by_name = match rule.name.strip_suffix('*') {
            Some(begin) => name.starts_with(begin),
            None => rule.name == name,
        };
        by_name && (rule.tags.is_empty() || rule.tags.contains(&tag))
    };
    TABLE.iter().find(fits).map_or(AttributeClass::Plain, |rule| rule.class)
}

/// Attributes that decide what others of their tag are, and so are the same in each case.
pub(crate) fn is_decisive(tag: &str, name: &str) -> bool {
    match name {
        "type" | "language" => tag == "script",
        "http-equiv" | "attributename" => true,
        "rel" => tag == "link",
        _ => false,
    }
}

/// Whether an animation may set this attribute to a value.
pub(crate) fn may_be_animated(name: &str) -> bool {
    let name = name.trim_ascii().to_ascii_lowercase();
    !name.is_empty() && class("animated", &name) == AttributeClass::Plain
}
