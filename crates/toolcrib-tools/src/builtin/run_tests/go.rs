//! `go test -json`: one event a line. What tests print comes as events, too, so that it cannot be taken for one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::results::{Failure, MAX_MESSAGE, Results, Spot};
use super::watch::{Ended, Reader};
use crate::call::event::OutputStream;

/// How many tests are followed at once, and how long their names can be; of others only the counts are known.
const MAX_OPEN: usize = 5000;
const MAX_NAME: usize = 1000;

/// Reads the events of go.
#[derive(Debug, Default)]
pub(super) struct Go {
    /// The path of the module, which the names of its packages begin with.
    module: String,
    results: Results,
    /// What tests have printed so far, and whether they have others in them: by package and name.
    tests: BTreeMap<(String, String), Open>,
    /// What packages have printed, outside of tests.
    packages: BTreeMap<String, Open>,
}

#[derive(Debug, Default)]
struct Open {
    output: String,
    has_inner: bool,
    inner_failed: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    import_path: String,
    #[serde(default)]
    test: String,
    #[serde(default)]
    output: String,
    #[serde(default)]
    failed_build: String,
}

impl Go {
    pub(super) fn new(module: &str) -> Self {
        Go {
            module: module.to_owned(),
            ..Go::default()
        }
    }

    fn take(&mut self, event: &Event) {
        let key = (event.package.clone(), event.test.clone());
        match event.action.as_str() {
            "run" if self.tests.len() < MAX_OPEN && event.test.len() <= MAX_NAME => {
                if let Some(parent) = self.parent(&key) {
                    parent.has_inner = true;
                }
                self.tests.insert(key, Open::default());
            }
            "output" => {
                let open = match event.test.as_str() {
                    "" if self.packages.len() < MAX_OPEN => {
                        Some(self.packages.entry(event.package.clone()).or_default())
                    }
                    "" => None,
                    _ => self.tests.get_mut(&key),
                };
                if let Some(open) = open {
                    keep(&mut open.output, &event.output);
                }
            }
            "pass" | "fail" | "skip" if !event.test.is_empty() => self.end_test(&event.action, key),
            "fail" if event.failed_build.is_empty() => self.end_package(&event.package),
            "build-output" => self.compiler_says(event.output.trim_end(), &event.import_path),
            _ => {}
        }
    }

    fn parent(&mut self, (package, test): &(String, String)) -> Option<&mut Open> {
        let (parent, _) = test.rsplit_once('/')?;
        self.tests.get_mut(&(package.clone(), parent.to_owned()))
    }

    fn end_test(&mut self, action: &str, key: (String, String)) {
        let open = self.tests.remove(&key).unwrap_or_default();
        if action == "fail"
            && let Some(parent) = self.parent(&key)
        {
            parent.inner_failed = true;
        }
        let (package, test) = key;
        match action {
            "skip" => self.results.skip(&test),
            "pass" if !open.has_inner => self.results.pass(),
            "fail" if !open.inner_failed => {
                let failure = self.failure(&package, test, &open.output);
                self.packages.entry(package).or_default().inner_failed = true;
                self.results.fail(failure);
            }
            _ => {}
        }
    }

    /// A package that failed without a test that did: it did not build, crashed, or ended itself.
    fn end_package(&mut self, package: &str) {
        let open = self.packages.remove(package).unwrap_or_default();
        let running: Vec<(String, String)> = self
            .tests
            .keys()
            .filter(|(of, _)| of == package)
            .cloned()
            .collect();
        let is_told = open.inner_failed;
        for key in &running {
            self.tests.remove(key);
        }
        if open.output.contains("[build failed]") || open.output.contains("[setup failed]") {
            self.results
                .note(&format!("the tests of `{package}` could not be built"));
        } else if !is_told {
            let failure = self.failure(package, package.to_owned(), &open.output);
            self.results.fail(failure);
        }
    }

    fn failure(&self, package: &str, name: String, output: &str) -> Failure {
        let mut at = None;
        let mut message = String::new();
        for line in output.lines() {
            if line.starts_with("=== ") || line.trim_start().starts_with("--- ") {
                continue;
            }
            if at.is_none() && line.starts_with('\t') && line.contains("_test.go:") {
                // A line of a panic's stack: `/w/adder_test.go:5 +0x27`.
                at = line.split_whitespace().next().and_then(go_spot);
            } else if at.is_none()
                && let Some(spot) = line
                    .trim_start()
                    .split_once(": ")
                    .and_then(|(place, _)| go_spot(place))
            {
                at = Some(Spot::new(self.path(package, &spot.file), spot.line));
            }
            message.push_str(line);
            message.push('\n');
        }
        Failure {
            name,
            suite: Some(package.to_owned()),
            at,
            message,
        }
    }

    /// Where a file of a package is, relative to the module.
    fn path(&self, package: &str, file: &str) -> String {
        let directory = package
            .strip_prefix(&self.module)
            .map_or("", |directory| directory.trim_start_matches('/'));
        match directory {
            "" => file.to_owned(),
            directory => format!("{directory}/{file}"),
        }
    }

    /// `./adder_test.go:12:3: undefined: x`, below a line `# package`.
    fn compiler_says(&mut self, line: &str, _package: &str) {
        let place = line
            .split_once(": ")
            .and_then(|(place, what)| Some((go_spot(place)?, what)));
        if let Some((spot, what)) = place {
            let file = spot.file.trim_start_matches("./");
            self.results.problem(what, Some(Spot::new(file, spot.line)));
        }
    }
}

/// `adder_test.go:12`, `./adder_test.go:12:3`
fn go_spot(place: &str) -> Option<Spot> {
    Spot::parse(place).filter(|spot| spot.file.ends_with(".go"))
}

fn keep(text: &mut String, more: &str) {
    let room = (2 * MAX_MESSAGE).saturating_sub(text.len());
    text.push_str(&more[..more.floor_char_boundary(room)]);
}

impl Reader for Go {
    fn line<'a>(&mut self, stream: OutputStream, line: &'a str) -> Option<Cow<'a, str>> {
        if stream == OutputStream::Stdout
            && line.starts_with('{')
            && let Ok(event) = serde_json::from_str::<Event>(line)
        {
            self.take(&event);
            return (!event.output.is_empty()).then_some(Cow::Owned(event.output));
        }
        self.compiler_says(line, "");
        Some(line.into())
    }

    fn progress(&self) -> Option<(u64, Option<u64>)> {
        let done = self.results.total();
        (done > 0).then_some((done, None))
    }

    fn results(self: Box<Self>, _ended: Ended) -> Results {
        self.results
    }
}
