//! Removing clients: with the token goes what was done in the client's name.
//!
//! Its grants are taken back and its open questions are denied, by whichever process removes it. Its calls are cancelled by the
//! server that runs them, when it looks ([`cancel_strays`]). Should some of it be left, it is no one's: no other client ever is the
//! same caller.

use toolcrib::Crib;
use toolcrib::approval::ApprovalResponse;
use toolcrib::approval::queue::Status;
use toolcrib::model::caller::Caller;

use super::clients::{Clients, ClientsError};

/// The name that denies the questions of a removed client.
const BY: &str = "client removed";

/// Removes clients, all or none if one of them is unknown, with their grants and their open questions.
pub fn remove_clients(
    crib: &Crib,
    clients: &Clients,
    names: &[String],
) -> Result<(), ClientsError> {
    let gone = clients.remove_all(names)?;
    let is_gone =
        |caller: &Caller| matches!(caller.outermost(), Caller::Client(name) if gone.contains(name));
    match crib.grants().list_all() {
        Ok(list) => {
            for grant in list.grants.iter().filter(|grant| is_gone(&grant.caller)) {
                // Someone else may have been faster.
                let _ = crib.grants().revoke(&grant.id);
            }
        }
        Err(error) => left("grants", &error),
    }
    match crib.approvals().list(Some(Status::Pending)) {
        Ok(list) => {
            for asked in list
                .requests
                .iter()
                .filter(|asked| is_gone(&asked.request.caller))
            {
                let denied = ApprovalResponse::deny(BY, "the client that asked was removed");
                let _ = crib
                    .approvals()
                    .answer(&asked.request.id, None, denied, |_, _| Ok(()));
            }
        }
        Err(error) => left("questions", &error),
    }
    Ok(())
}

fn left(what: &str, error: &dyn std::fmt::Display) {
    eprintln!("toolcrib: {what} of a removed client are left, for nobody's use: {error}");
}

/// Cancels what runs for clients that are not there any more; returns how many calls.
pub(crate) fn cancel_strays(crib: &Crib, clients: &Clients) -> usize {
    let running = crib.registry().running().into_iter();
    let strays = running
        .filter(|call| matches!(&call.caller, Caller::Client(caller) if !clients.stands(caller)));
    strays
        .filter(|call| crib.registry().cancel(&call.call_id))
        .count()
}
