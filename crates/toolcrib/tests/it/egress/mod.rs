//! The way out, end to end: real servers on loopback, names and other addresses by doubles. Nothing here dials anything else.

mod calls;
mod hostile;
mod proxy;
mod redirects;
mod reuse;
mod ssrf;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use toolcrib::egress::{
    AllowedHosts, Dial, Egress, EgressError, EgressOptions, Request, Resolve, Response, Target,
};
use toolcrib::testing::{NameTable, RecordingDialler, ScriptedServer};

/// A way out to these hosts.
pub(crate) fn egress(allowed: &[&str]) -> Egress {
    Egress::new(options(allowed)).unwrap()
}

fn options(allowed: &[&str]) -> EgressOptions {
    EgressOptions {
        allowed_hosts: AllowedHosts::parse(allowed.iter().copied()).unwrap(),
        ..EgressOptions::default()
    }
}

/// A way out to these hosts, by names of a table and a dialler that remembers.
fn doubled(allowed: &[&str], names: &NameTable, dialler: &RecordingDialler) -> Egress {
    Egress::new(EgressOptions {
        resolver: Some(Arc::new(names.clone()) as Arc<dyn Resolve>),
        dialler: Some(Arc::new(dialler.clone()) as Arc<dyn Dial>),
        ..options(allowed)
    })
    .unwrap()
}

/// A way out to this server alone.
fn to(server: &ScriptedServer) -> Egress {
    egress(&[&server.host()])
}

/// A GET that is done soon.
fn get(url: &str) -> Request {
    let (url, _) = Target::parse(url).unwrap();
    let mut request = Request::get(url);
    request.timeout = Duration::from_secs(10);
    request
}

async fn fetch(egress: &Egress, url: &str) -> Result<Response, EgressError> {
    let (url, _) = Target::parse(url)?;
    egress.send(get(url.as_str())).await
}

fn is_refused<T>(result: &Result<T, EgressError>) -> bool {
    matches!(result, Err(EgressError::Refused(_)))
}

/// The text of the error there has to be.
fn error(result: Result<Response, EgressError>) -> String {
    match result {
        Ok(response) => panic!("{} {:?}", response.status, response.body),
        Err(error) => format!("{}: {error}", error.code().as_str()),
    }
}
