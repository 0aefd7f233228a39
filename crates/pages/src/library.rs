//! Pages that may stand in the place of their calls.

use std::collections::HashMap;

use crate::page::PageFile;

/// Pages by the names of their functions.
#[derive(Clone, Debug, Default)]
pub struct PageLibrary {
    pages: HashMap<String, PageFile>,
}

impl PageLibrary {
    /// Adds a page, in the place of one of the same name.
    pub fn insert(&mut self, page: PageFile) {
        self.pages.insert(page.name.function.clone(), page);
    }

    /// All pages.
    pub fn pages(&self) -> impl Iterator<Item = &PageFile> {
        self.pages.values()
    }

    /// The page that is called so.
    pub fn get(&self, name: &str) -> Option<&PageFile> {
        self.pages.get(name)
    }
}

impl FromIterator<PageFile> for PageLibrary {
    fn from_iter<Pages: IntoIterator<Item = PageFile>>(pages: Pages) -> PageLibrary {
        let mut library = PageLibrary::default();
        pages.into_iter().for_each(|page| library.insert(page));
        library
    }
}
