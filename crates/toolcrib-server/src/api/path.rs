//! From a request's path to its route: a tree of segments, built once.
//!
//! A path is read strictly, so that no two spellings of it mean different things to us and to a proxy in front of us: each segment
//! is percent-decoded once and by itself; what would be another segment, a step up or nothing when decoded again is refused.

use std::borrow::Cow;

use http::Method;
use toolcrib::ErrorCode;

use super::refusal::Refusal;
use super::request::PathValues;
use super::route::Route;

/// The longest path that is looked at, in bytes.
const MAX_PATH: usize = 4096;

/// Finds routes. Positions are those of the table it was built from.
#[derive(Debug, Default)]
pub(crate) struct PathTree {
    root: Node,
}

#[derive(Debug, Default)]
struct Node {
    fixed: Vec<(&'static str, Node)>,
    value: Option<Box<Node>>,
    /// Routes that end here, with the names of their values.
    routes: Vec<Ending>,
}

#[derive(Debug)]
struct Ending {
    method: Method,
    position: usize,
    names: Vec<&'static str>,
}

/// What a path leads to.
#[derive(Debug)]
pub(crate) enum RouteMatch {
    /// A route, with the values of its path.
    Route(usize, PathValues),
    /// Something, but not for this method.
    OtherMethods(Vec<Method>),
    /// Nothing.
    Nothing,
}

impl PathTree {
    pub(crate) fn of(routes: &[Route]) -> Self {
        let mut root = Node::default();
        for (position, route) in routes.iter().enumerate() {
            let mut node = &mut root;
            let mut names = Vec::new();
            for segment in route.path.split('/').skip(1) {
                node = match value_name(segment) {
                    Some(name) => {
                        names.push(name);
                        &mut **node.value.get_or_insert_default()
                    }
                    None => {
                        let known = node.fixed.iter().position(|(text, _)| *text == segment);
                        let place = known.unwrap_or_else(|| {
                            node.fixed.push((segment, Node::default()));
                            node.fixed.len() - 1
                        });
                        &mut node.fixed[place].1
                    }
                };
            }
            node.routes.push(Ending {
                method: route.method.clone(),
                position,
                names,
            });
        }
        PathTree { root }
    }

    /// Finds the route for a method and a path. `HEAD` is looked up like `GET`.
    pub(crate) fn find(&self, method: &Method, path: &str) -> Result<RouteMatch, Refusal> {
        let method = match *method {
            Method::HEAD => &Method::GET,
            _ => method,
        };
        let segments = Segments::of(path)?;
        let mut values = Vec::new();
        let mut others = Vec::new();
        let ending = self
            .root
            .find(&segments.0, method, &mut values, &mut others);
        Ok(match ending {
            Some(ending) => {
                let names = ending.names.iter().copied();
                let values = values.into_iter().map(str::to_owned);
                RouteMatch::Route(ending.position, PathValues(names.zip(values).collect()))
            }
            None if others.is_empty() => RouteMatch::Nothing,
            None => RouteMatch::OtherMethods(others),
        })
    }
}

impl Node {
    /// Fixed segments before values; where that is a dead end, the other way is tried.
    fn find<'t, 'p>(
        &'t self,
        segments: &'p [Cow<'p, str>],
        method: &Method,
        values: &mut Vec<&'p str>,
        others: &mut Vec<Method>,
    ) -> Option<&'t Ending> {
        let Some((segment, rest)) = segments.split_first() else {
            let ending = self.routes.iter().find(|ending| ending.method == *method);
            if ending.is_none() {
                others.extend(self.routes.iter().map(|ending| ending.method.clone()));
            }
            return ending;
        };
        let fixed = self.fixed.iter().find(|(text, _)| text == segment);
        if let Some((_, node)) = fixed
            && let Some(ending) = node.find(rest, method, values, others)
        {
            return Some(ending);
        }
        let node = self.value.as_deref().filter(|_| !segment.is_empty())?;
        values.push(segment);
        let ending = node.find(rest, method, values, others);
        if ending.is_none() {
            values.pop();
        }
        ending
    }
}

/// The name in `{name}`.
pub(crate) fn value_name(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

/// The decoded segments of a path.
struct Segments<'p>(Vec<Cow<'p, str>>);

impl<'p> Segments<'p> {
    fn of(path: &'p str) -> Result<Self, Refusal> {
        if path.len() > MAX_PATH {
            return Err(Refusal::usage(format!(
                "the path is longer than {MAX_PATH} bytes"
            )));
        }
        let Some(below) = path.strip_prefix('/') else {
            return Err(Refusal::usage("the path must begin with `/`"));
        };
        let mut segments = Vec::with_capacity(10);
        let mut given = below.split('/').peekable();
        while let Some(segment) = given.next() {
            // `/` itself and a slash at the end are separate spellings.
            if segment.is_empty() && given.peek().is_some() {
                return Err(Refusal::usage("the path has an empty segment (`//`)"));
            }
            segments.push(decode_segment(segment)?);
        }
        Ok(Segments(segments))
    }
}

fn decode_segment(segment: &str) -> Result<Cow<'_, str>, Refusal> {
    let decoded = match segment.contains('%') {
        false => Cow::Borrowed(segment),
        true => {
            let bytes = decode_percent(segment.as_bytes(), Plus::IsPlus)
                .map_err(|problem| Refusal::usage(format!("the path has {problem}")))?;
            Cow::Owned(
                String::from_utf8(bytes)
                    .map_err(|_| Refusal::usage("a segment of the path is not UTF-8"))?,
            )
        }
    };
    if matches!(&*decoded, "." | "..") {
        return Err(Refusal::usage(format!(
            "`{decoded}` is not a valid path segment"
        )));
    }
    let odd = decoded
        .chars()
        .find(|char| matches!(char, '/' | '\\') || char.is_control());
    if let Some(odd) = odd {
        return Err(Refusal::new(
            ErrorCode::Usage,
            format!("U+{:04X} may not be in a segment of a path", odd as u32),
        ));
    }
    Ok(decoded)
}

/// What `+` stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plus {
    /// Itself, as in paths.
    IsPlus,
    /// A space, as in queries.
    IsSpace,
}

/// Decodes `%XX`; what is not a hexadecimal number is an error.
pub(crate) fn decode_percent(text: &[u8], plus: Plus) -> Result<Vec<u8>, &'static str> {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b'%' => {
                let (Some(high), Some(low)) = (digit(text.get(at)), digit(text.get(at + 1))) else {
                    return Err("a `%` without two hexadecimal digits");
                };
                decoded.push((high * 16 + low) as u8);
                at += 2;
            }
            b'+' if plus == Plus::IsSpace => decoded.push(b' '),
            byte => decoded.push(*byte),
        }
    }
    Ok(decoded)
}
