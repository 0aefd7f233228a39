//! Whether a page gives its layout what that takes. PostgreSQL would say that there is no such function, and not what is wrong.

use crate::fault::{FaultList, PageFault};
use crate::lexer;
use crate::library::PageLibrary;
use crate::page::PageFile;
use crate::parts;

/// Faults of what a page gives to a layout that is a page of the library: slots and arguments that it does not have, and those that are missing.
pub fn layout_faults(page: &PageFile, library: &PageLibrary) -> Vec<PageFault> {
    let mut faults = FaultList::default();
    if let Some((_, call)) = &page.layout
        && page.tokens[call.tokens.start + 1].is(b'(')
        && let Some(layout) = library.get(&lexer::name(&page.file.text, &page.tokens[call.tokens.start]))
    {
        let mut given: Vec<String> = page.slots.iter().map(|slot| slot.name.clone()).collect();
        let mut named: Vec<(usize, String)> =
            page.slots.iter().map(|slot| (slot.written.start, slot.name.clone())).collect();
        for (place, written) in parts::written(page, &call.tokens).into_iter().enumerate() {
            match parts::name_of_argument(page, &written) {
                Some(name) => named.push((page.tokens[written.start].span.start, name)),
                None => given.extend(layout.arguments.get(place).map(|argument| argument.name.clone())),
            }
        }
        let name = &layout.name.function;
        let all: Vec<&str> = layout.arguments.iter().map(|argument| &*argument.name).collect();
        let has = format!("it has {}", all.join(", "));
        for (place, argument) in named {
            if layout.argument(&argument).is_none() {
                faults.add(place, format!("the layout {name} has no argument {argument}"), &has);
            }
            given.push(argument);
        }
        let place = call.span.start;
        if layout.argument("body").is_none() {
            let hint = "write {{ arguments: …, body http.html }} in it, and {{ body }} where the page goes";
            faults.add(place, format!("the layout {name} has no argument body"), hint);
        }
        for argument in &layout.arguments {
            let is_given = argument.name == "body" || given.contains(&argument.name);
            if !is_given && argument.default_span.is_none() {
                let hint =
                    format!("write {name}({} => …), or give it a default in the layout", argument.name);
                faults.add(place, format!("the layout {name} needs {}", argument.name), &hint);
            }
        }
    }
    faults.told(page.text())
}
