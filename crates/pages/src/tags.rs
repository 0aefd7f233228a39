//! Tags of which one attribute says what another is.

use crate::attributes::{self, AttributeClass};
use crate::markup::MarkupTag;
use crate::references;

/// Media types of scripts that hold JSON.
const JSON_TYPES: [&str; 4] = ["application/json", "application/ld+json", "importmap", "speculationrules"];

/// Whether a tag is that of a script that holds JSON.
pub(crate) fn is_json(tag: &MarkupTag) -> bool {
    let kind = tag.attributes.iter().find(|attribute| attribute.name == "type");
    let decoded = kind.and_then(|kind| references::decoded(&kind.value).ok()).unwrap_or_default();
    JSON_TYPES.contains(&decoded.trim_ascii().to_ascii_lowercase().as_str())
}

/// Why a value may not stand in an attribute that depends on others of its tag, and what to write.
pub(crate) fn decided(tag: &MarkupTag, class: AttributeClass) -> Option<(&'static str, &'static str)> {
    if class == AttributeClass::MetaContent {
        let hint = "set a header of the response, or answer with a redirect";
        let is_command = tag.names.contains("http-equiv");
        return is_command.then_some(("content of a meta with http-equiv is a command", hint));
    }
    let animated = tag.attributes.iter().find(|attribute| attribute.name == "attributename");
    let is_safe = animated.is_some_and(|attribute| {
        let name = references::decoded(&attribute.value);
        !attribute.has_hole && name.is_ok_and(|name| attributes::may_be_animated(&name))
    });
    let hint = "write attributeName without holes; a value animates no address and no script";
    (!is_safe).then_some(("a value would be set as another attribute", hint))
}
