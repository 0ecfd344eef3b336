//! As whom a database may be asked. A read-only transaction keeps a role from changing tables. It does not keep one from files and programs of the
//! server's machine (`COPY … TO PROGRAM`, `pg_read_file`, `lo_export`), which some roles reach: those are refused, for reading and for writing.

use tokio_postgres::{Client, SimpleQueryMessage};

use super::{DatabaseQuery, fault};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;

/// What the role is or could become. It is also the first statement of the transaction: from then on nothing makes a read-only transaction one that
/// writes.
const LOOK: &str = "\
SELECT CASE WHEN r.rolsuper THEN 'a superuser'
            WHEN r.rolreplication THEN 'a role with REPLICATION'
            ELSE 'a member of ' || r.rolname END
FROM pg_catalog.pg_roles r
WHERE pg_catalog.pg_has_role(session_user, r.oid, 'MEMBER')
  AND (r.rolsuper
       OR (r.rolreplication AND r.rolname = session_user)
       OR r.rolname IN ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files'))
ORDER BY r.rolsuper DESC, r.rolname LIMIT 1";

/// Refuses a role that a transaction does not hold.
pub(super) async fn check(client: &Client, asked: &DatabaseQuery) -> Result<(), ToolError> {
    let rows = client
        .simple_query(LOOK)
        .await
        .map_err(|error| fault::of(&error, asked))?;
    let what = rows.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.try_get(0).ok().flatten(),
        _ => None,
    });
    let Some(what) = what else { return Ok(()) };
    Err(ToolError::new(
        ErrorCode::PermissionDenied,
        format!(
            "the user of the database `{}` is {}: such a role reaches files and programs of the server's machine, from which no transaction keeps it. \
             Make an ordinary role for Toolcrib (`CREATE ROLE toolcrib LOGIN PASSWORD '…'; GRANT …`) and name it in `url`",
            asked.name,
            text::shorten(what, 200)
        ),
    ))
}
