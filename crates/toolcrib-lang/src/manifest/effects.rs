//! What the requests of a tool do at the other end: by its tags, and by its methods where those say nothing or too little.

use http::Method;

use super::HttpDefinition;
use crate::model::effects::Effects;

/// Whether requests with this method change nothing at the other end.
pub fn reads(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// The effects of a tool with these tags. Without one its methods say it; `read` alone says nothing if a method writes.
pub fn effects_of(declared: Effects, only_reads: bool) -> Effects {
    match (declared.is_unknown(), only_reads) {
        (true, true) => Effects::READ,
        (true, false) => Effects::WRITE,
        (false, false) if declared.is_read_only() => Effects::WRITE,
        (false, _) => declared,
    }
}

impl HttpDefinition {
    /// What its tags say that it does.
    pub fn declared_effects(&self) -> Effects {
        Effects::from_tags(self.tags.iter().map(String::as_str))
    }

    /// What it does at the other end.
    pub fn effects(&self) -> Effects {
        let only_reads = self.requests.iter().all(|request| reads(&request.method));
        effects_of(self.declared_effects(), only_reads)
    }

    /// The first method that writes although no tag says that the tool does.
    pub fn undeclared_method(&self) -> Option<&Method> {
        let declared = self.declared_effects();
        if !declared.is_unknown() && !declared.is_read_only() {
            return None;
        }
        let mut methods = self.requests.iter().map(|request| &request.method);
        methods.find(|method| !reads(method))
    }
}
