//! Random pages and random SQL.

mod random_pages;
mod random_sql;
