//! The one table of what the file of an HTTP tool may hold: [`HTTP_FIELDS`], which is `fields.toml`.
//!
//! The shape check, "did you mean", the published JSON Schema, the reference in the documentation and `toolcrib explain <field>` all come
//! from it, and the reader can only ask for what is in it.

use std::sync::LazyLock;

use crate::definition::fields::{Dialect, Field, Shape, Syntax, fields, foreign};
use crate::table::Row;

const TABLE: &str = include_str!("fields.toml");

/// How long a request may take when its file does not say, in milliseconds: what S4's example has.
pub const DEFAULT_TIMEOUT_MS: u64 = 10_000;

/// Every field of an HTTP tool's file.
pub static HTTP_FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| fields(TABLE));

static FOREIGN: LazyLock<Row> = LazyLock::new(|| foreign(TABLE));

/// HTTP tools.
pub(crate) static DIALECT: Dialect = Dialect {
    syntax: Syntax::Json,
    fields: &HTTP_FIELDS,
    foreign: &FOREIGN,
};

/// HTTP tools, as a tree.
pub(crate) static FORMAT: LazyLock<Shape> = LazyLock::new(|| Shape::of(&HTTP_FIELDS));

/// Whether a field is one of an HTTP tool's file.
pub fn is_http(field: &Field) -> bool {
    HTTP_FIELDS.iter().any(|own| std::ptr::eq(own, field))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_row_of_the_catalogue_is_read_in_full() {
        crate::definition::fields::tests::assert_catalogue(super::TABLE);
    }
}
