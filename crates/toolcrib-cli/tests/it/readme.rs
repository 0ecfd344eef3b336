//! The commands shown in the README and the documentation run, and print what is shown.
//!
//! A block of YAML that begins with `# .toolcrib/tools/NAME.yaml`, or of JSON that begins with `// .toolcrib/tools/NAME.json`, is written to that
//! file and trusted (a name without a directory is a file of the directory itself), unless the commands after it begin with `toolcrib trust`; these run in a directory that is thrown away, which is shown as `/home/ada/project`. A block of
//! TOML that begins with `# config.toml` is the home's settings. What the pages call `127.0.0.1:18080` is a server of the test
//! (`example_server`), on whatever port is free. What they call `127.0.0.1:7410` is `toolcrib serve`, in the same home and workspace,
//! for pages that need it. The README runs in a clone, and trusts what it shows itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use toolcrib::testing::ScriptedServer;

use crate::example_server;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// A block of code in a page.
struct Block {
    /// The line it starts on.
    line: usize,
    language: String,
    text: String,
}

impl Block {
    /// The path of the tool's file that it shows, by its first line.
    fn file(&self) -> Option<&str> {
        let comment = match self.language.as_str() {
            "yaml" => "# ",
            "jsonc" => "// ",
            _ => return None,
        };
        let path = self.text.lines().next()?.strip_prefix(comment)?;
        let is_plain = !path.contains(['/', ' ']) && path.contains('.');
        (path.starts_with(".toolcrib/tools/") || is_plain).then_some(path)
    }

    /// The settings that it shows.
    fn settings(&self) -> Option<&str> {
        let shows = self.language == "toml";
        shows.then(|| self.text.strip_prefix("# config.toml\n"))?
    }
}

fn blocks(text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, Some(fence)) => {
                open = Some(Block {
                    line: number + 2,
                    language: fence.to_owned(),
                    text: String::new(),
                });
            }
            (None, None) => {}
        }
    }
    found
}

fn is_number(word: Option<&str>) -> bool {
    word.is_some_and(|word| word.parse::<f64>().is_ok())
}

/// The words of a line, with those that differ from run to run replaced by what they are.
fn words(line: &str) -> Vec<&str> {
    let kind = |word| match word {
        word if is_id(word) => "ID",
        word if word.parse::<jiff::Timestamp>().is_ok() => "TIMESTAMP",
        word if word.parse::<f64>().is_ok() => "NUMBER",
        word if word.starts_with("20") && word.len() == 10 => "DATE",
        word if word.len() == 8 && word.matches(':').count() == 2 => "TIME",
        "ms)" | "s)" => "UNIT)",
        word if is_number(word.strip_prefix('(')) => "(NUMBER",
        word => word,
    };
    line.split_whitespace().map(kind).collect()
}

fn is_id(word: &str) -> bool {
    toolcrib::ToolId::parse(word.trim_matches(['(', ')', '`', ',', ';'])).is_ok()
}

/// A line of JSON or of events, with what differs from run to run replaced by what it is.
fn kinds(line: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_.:+".contains(letter);
    let kind = |word: &str| {
        let is_hex = word.chars().all(|letter| letter.is_ascii_hexdigit());
        match word {
            word if toolcrib::ToolId::parse(word).is_ok() => "ID".to_owned(),
            word if word.parse::<jiff::Timestamp>().is_ok() => "TIMESTAMP".to_owned(),
            word if word.len() == 64 && is_hex => "DIGEST".to_owned(),
            word if word.trim_start_matches(':').parse::<f64>().is_ok() && word.contains('.') => {
                "NUMBER".to_owned()
            }
            word => word.to_owned(),
        }
    };
    let (mut made, mut word) = (String::new(), String::new());
    for letter in line.chars() {
        if is_part(letter) {
            word.push(letter);
        } else {
            made.push_str(&kind(&std::mem::take(&mut word)));
            made.push(letter);
        }
    }
    made + &kind(&word)
}

/// Whether a line is as expected: the same, or the same but for times, ids and figures.
fn fits(expected: &str, actual: &str) -> bool {
    expected == actual
        || (expected.contains("\":") && kinds(expected) == kinds(actual))
        || (expected.contains("20") && words(expected) == words(actual))
        || (expected.ends_with("s)") && words(expected) == words(actual))
        || (expected.split_whitespace().any(is_id) && words(expected) == words(actual))
        || is_heading(expected, actual)
}

/// The columns under a heading may be wider or narrower by a figure.
fn is_heading(expected: &str, actual: &str) -> bool {
    expected.starts_with("TIME ") && words(expected) == words(actual)
}

/// The server's address, as pages have it. As long as any that the test may get, so that columns stay where they are.
const ADDRESS: &str = "127.0.0.1:18080";

/// Where the commands of a page run.
struct Place {
    dir: tempfile::TempDir,
    /// The project's own directory, or one that is thrown away.
    directory: PathBuf,
    server: ScriptedServer,
    /// `toolcrib serve`, if the page needs it.
    serving: Option<Serving>,
    trust: Trust,
}

/// When the files that a page shows are trusted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// As soon as commands follow them, unless these begin with `toolcrib trust`.
    Assumed,
    /// When the page does it.
    Shown,
}

/// The address that `toolcrib serve` has by default, as pages have it.
const SERVED: &str = "127.0.0.1:7410";

/// A real server of the place's home and workspace.
struct Serving {
    process: std::process::Child,
    address: String,
    /// What it said when it started.
    greeting: Vec<String>,
    /// Kept open: a writer may write to the end.
    _stderr: std::io::BufReader<std::process::ChildStderr>,
}

impl Serving {
    fn start(dir: &Path, directory: &Path) -> Self {
        use std::io::{BufRead as _, Read as _};
        let binary = Path::new(env!("CARGO_BIN_EXE_toolcrib"));
        let mut process = Command::new(binary)
            .args(["serve", "--addr", "127.0.0.1:0", "--socket", "crib.sock"])
            .current_dir(directory)
            .env_clear()
            // The PATH of the commands, since it starts what they name.
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", binary.parent().unwrap().display()),
            )
            .env("HOME", dir)
            .env("TOOLCRIB_HOME", dir.join("home"))
            .env("TOOLCRIB_SERVER_ACCESS_LOG", "off")
            .stdin(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = std::io::BufReader::new(process.stderr.take().unwrap());
        let mut greeting = Vec::new();
        for line in stderr.by_ref().lines() {
            let line = line.unwrap();
            let is_last = line == "Ctrl-C stops it";
            greeting.push(line);
            if is_last {
                break;
            }
        }
        let address = greeting
            .iter()
            .find_map(|line| line.strip_prefix("listening on http://"))
            .unwrap_or_else(|| panic!("it does not listen: {greeting:?}"))
            .to_owned();
        Serving {
            process,
            address,
            greeting,
            _stderr: stderr,
        }
    }

    /// Asks it to stop, and sees that it ends well.
    fn stop(mut self) {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Place {
    /// Where a server is.
    fn served() -> Self {
        let mut place = Place::thrown_away();
        place.serving = Some(Serving::start(place.dir.path(), &place.directory));
        place
    }

    fn project() -> Self {
        Place {
            dir: tempfile::tempdir().unwrap(),
            directory: root(),
            server: example_server::start(),
            serving: None,
            trust: Trust::Assumed,
        }
    }

    /// A fresh clone of the project: the files that git knows, as they are now.
    fn clone_of_project() -> Self {
        let place = Place::thrown_away();
        let git = |words: &[&str], directory: &Path| {
            let ran = Command::new("git")
                .args(words)
                .current_dir(directory)
                .output()
                .unwrap();
            assert!(
                ran.status.success(),
                "{}",
                String::from_utf8_lossy(&ran.stderr)
            );
            String::from_utf8(ran.stdout).unwrap()
        };
        git(&["init", "--quiet"], &place.directory);
        let files = git(&["ls-files", "-z"], &root());
        for file in files.split('\0').filter(|file| !file.is_empty()) {
            let (from, to) = (root().join(file), place.directory.join(file));
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            // One that is deleted and not committed is not in a clone soon.
            if from.exists() {
                std::fs::copy(from, to).unwrap();
            }
        }
        Place {
            trust: Trust::Shown,
            ..place
        }
    }

    fn thrown_away() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let directory = dir.path().join("project");
        std::fs::create_dir(&directory).unwrap();
        Place {
            dir,
            directory,
            server: example_server::start(),
            serving: None,
            trust: Trust::Assumed,
        }
    }

    /// A page's text with the address that the server really has.
    fn with_address(&self, text: &str) -> String {
        let text = text.replace(ADDRESS, &self.server.host());
        match &self.serving {
            Some(serving) => text.replace(SERVED, &serving.address),
            None => text,
        }
    }

    /// Writes the home's settings.
    fn settle(&self, settings: &str) {
        let home = self.dir.path().join("home");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("config.toml"), self.with_address(settings)).unwrap();
    }

    /// What a command prints on both streams.
    fn prints(&self, command: &str) -> String {
        let command = self.with_address(command);
        let binary = Path::new(env!("CARGO_BIN_EXE_toolcrib"));
        let path = format!("{}:/usr/bin:/bin", binary.parent().unwrap().display());
        let ran = Command::new("bash")
            .args(["-c", &format!("{{ {command}\n}} 2>&1")])
            .current_dir(&self.directory)
            .stdin(std::process::Stdio::null())
            .env_clear()
            .env("PATH", &path)
            .env("HOME", self.dir.path())
            .env("TOOLCRIB_HOME", self.dir.path().join("home"))
            .output()
            .unwrap();
        let text = String::from_utf8(ran.stdout).unwrap();
        let (home, above) = (self.dir.path().join("home"), self.dir.path());
        let text = text
            .replace(self.directory.to_str().unwrap(), "/home/ada/project")
            .replace(home.to_str().unwrap(), "/home/ada/.local/share/toolcrib")
            .replace(above.to_str().unwrap(), "/home/ada")
            .replace(&self.server.host(), ADDRESS);
        match &self.serving {
            Some(serving) => text.replace(&serving.address, SERVED),
            None => text,
        }
    }

    /// Writes a tool's file as shown.
    fn write(&self, path: &str, block: &Block) {
        let path = self.directory.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let (_, content) = block.text.split_once('\n').unwrap();
        std::fs::write(path, self.with_address(content)).unwrap();
    }

    /// Runs the commands of a block; what is wrong, and the block as it should be.
    fn run(&self, page: &str, block: &Block) -> (Vec<String>, String) {
        let mut wrong = Vec::new();
        let mut made = String::new();
        let text = format!("\n{}", block.text);
        for part in text.split("\n$ ").skip(1) {
            let (command, expected) = part.split_once('\n').unwrap_or((part, ""));
            let actual: Vec<String> = self
                .prints(command)
                .lines()
                .map(|line| line.trim_end().to_owned())
                .collect();
            let same = expected.lines().count() == actual.len()
                && expected
                    .lines()
                    .zip(&actual)
                    .all(|(expected, actual)| fits(expected, actual));
            made.push_str(&format!("$ {command}\n"));
            if same {
                made.extend(expected.lines().map(|line| format!("{line}\n")));
            } else {
                made.extend(actual.iter().map(|line| format!("{line}\n")));
                wrong.push(format!(
                    "{page}:{}: $ {command}\n--- it says\n{expected}\n--- it prints\n{}\n",
                    block.line,
                    actual.join("\n")
                ));
            }
        }
        (wrong, made)
    }
}

/// Runs a page, or a section of one, in a place. From the first tool's file on, that is a directory that is thrown away.
fn tour(page: &str, text: &str, first_line: usize, place: Place) -> (Vec<String>, String) {
    let tour = tour_at(page, text, first_line, place);
    (tour.wrong, tour.made)
}

/// A tour that is over: what was wrong, the page as it should be, and where it ended.
struct Toured {
    wrong: Vec<String>,
    made: String,
    place: Place,
}

fn tour_at(page: &str, text: &str, first_line: usize, mut place: Place) -> Toured {
    let mut wrong = Vec::new();
    let mut made = text.to_owned();
    let mut is_new = false;
    for mut block in blocks(text) {
        block.line += first_line;
        if let Some(path) = block.file() {
            if place.directory == root() {
                place = Place::thrown_away();
            }
            place.write(path, &block);
            is_new = true;
        } else if let Some(settings) = block.settings() {
            if place.directory == root() {
                place = Place::thrown_away();
            }
            place.settle(settings);
        } else if block.language == "console" {
            let is_shown =
                place.trust == Trust::Shown || block.text.starts_with("$ toolcrib trust");
            if std::mem::take(&mut is_new) && !is_shown {
                place.prints("toolcrib trust --yes --quiet");
            }
            let (found, right) = place.run(page, &block);
            made = made.replace(
                &format!("```console\n{}```", block.text),
                &format!("```console\n{right}```"),
            );
            wrong.extend(found);
        }
    }
    Toured { wrong, made, place }
}

/// `UPDATE_GOLDEN=1` writes what the commands print into the page.
fn settle(page: &str, made: &str, wrong: &[String]) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(root().join(page), made).unwrap();
    } else {
        assert!(wrong.is_empty(), "{}", wrong.concat());
    }
}

#[test]
fn the_tour_prints_what_it_shows_in_a_fresh_clone_and_a_fresh_home() {
    let page = "README.md";
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    assert!(text.matches("\n$ ").count() >= 8, "the tour was not found");
    let (wrong, made) = tour(page, &text, 0, Place::clone_of_project());
    settle(page, &made, &wrong);
}

#[test]
fn the_readme_is_short() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    assert!(text.len() <= 8 * 1024, "{} bytes", text.len());
}

/// Guides of one screen before the references.
#[test]
fn the_examples_of_guides_print_what_they_show() {
    for page in ["docs/first-tool.md", "docs/safety.md"] {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        assert!(text.lines().count() <= 80, "{page} is not a short guide");
        assert!(text.contains("\n$ "), "{page} has no commands");
        let place = Place {
            trust: Trust::Shown,
            ..Place::thrown_away()
        };
        let (wrong, made) = tour(page, &text, 0, place);
        settle(page, &made, &wrong);
    }
}

#[test]
fn the_examples_of_rules_print_what_they_show() {
    let page = "docs/rules.md";
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let (wrong, made) = tour(page, &text, 0, Place::project());
    settle(page, &made, &wrong);
}

#[test]
fn the_examples_of_providers_print_what_they_show() {
    let page = "docs/providers.md";
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    assert!(
        text.matches("\n$ ").count() >= 6,
        "the commands were not found"
    );
    let (wrong, made) = tour(page, &text, 0, Place::thrown_away());
    settle(page, &made, &wrong);
}

#[test]
fn the_examples_of_mcp_print_what_they_show() {
    let page = "docs/mcp.md";
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    assert!(
        text.matches("\n$ ").count() >= 8,
        "the commands were not found"
    );
    let Toured { wrong, made, place } = tour_at(page, &text, 0, Place::served());
    place.serving.unwrap().stop();
    settle(page, &made, &wrong);
}

/// What there is to paste for each client is what `connect --print` prints.
#[test]
fn the_text_to_paste_for_each_client_is_what_connect_prints() {
    let page = std::fs::read_to_string(root().join("docs/mcp.md")).unwrap();
    let golden = root().join("crates/toolcrib-cli/tests/golden/connect_print.txt");
    let golden = std::fs::read_to_string(golden).unwrap();
    let printed: Vec<&str> = golden
        .split("$ toolcrib connect ")
        .filter_map(|part| part.split_once('\n'))
        .map(|(_, printed)| printed.trim_end())
        .filter(|printed| printed.starts_with(['{', '[']))
        .collect();
    assert!(printed.len() >= 12, "the snippets were not found");
    for snippet in printed {
        assert!(
            page.contains(&format!("\n{snippet}\n```")),
            "docs/mcp.md does not have\n{snippet}"
        );
    }
}

#[test]
fn the_examples_of_bundles_print_what_they_show() {
    let page = "docs/bundles.md";
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    assert!(
        text.matches("\n$ ").count() >= 25,
        "the commands were not found"
    );
    let place = Place::thrown_away();
    place.settle("allowedHosts = [\"127.0.0.1:18080\"]\n");
    let (wrong, made) = tour(page, &text, 0, place);
    settle(page, &made, &wrong);
}

/// Each section stands for itself, so that they can run at once; the page's first settings hold in all of them.
fn tour_sections(page: &str, text: &str) -> (Vec<String>, String) {
    let mut sections: Vec<(usize, String)> = vec![(0, String::new())];
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("## ") {
            sections.push((number, String::new()));
        }
        let (_, section) = sections.last_mut().unwrap();
        section.push_str(line);
        section.push('\n');
    }
    assert!(sections.len() > 10, "the sections were not found");
    let blocks = blocks(text);
    let settings = blocks.iter().find_map(Block::settings);
    let place = || {
        let place = Place::thrown_away();
        settings
            .into_iter()
            .for_each(|settings| place.settle(settings));
        place
    };
    let toured: Vec<(Vec<String>, String)> = std::thread::scope(|scope| {
        let running: Vec<_> = sections
            .iter()
            .map(|(line, section)| scope.spawn(move || tour(page, section, *line, place())))
            .collect();
        running
            .into_iter()
            .map(|tour| tour.join().unwrap())
            .collect()
    });
    let made: String = toured.iter().map(|(_, made)| made.as_str()).collect();
    let wrong: Vec<String> = toured.into_iter().flat_map(|(wrong, _)| wrong).collect();
    (wrong, made)
}

#[test]
fn the_examples_of_yaml_tools_print_what_they_show() {
    let page = "docs/yaml-tools.md";
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let (wrong, made) = tour_sections(page, &text);
    settle(page, &made, &wrong);
}

/// Its last part is the table of all fields, made from the one table.
#[test]
fn the_examples_of_http_tools_print_what_they_show() {
    let page = "docs/http-tools.md";
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let heading = "\n## All fields\n\n";
    let (written, table) = text.split_once(heading).expect("a heading for all fields");
    let (mut wrong, made) = tour_sections(page, written);
    let fields = toolcrib::explain::http_reference();
    if table != fields {
        wrong.push(format!("{page}: the table is not what the fields say"));
    }
    settle(page, &format!("{made}{heading}{fields}"), &wrong);
}

/// The table of codes, from the one table there is.
fn table_of_codes() -> String {
    let mut table = "| code | status | when | what to do |\n|---|---|---|---|\n".to_owned();
    for code in toolcrib::ErrorCode::ALL {
        let (status, meaning, remedy) = (code.http_status(), code.meaning(), code.remedy());
        table.push_str(&format!("| `{code}` | {status} | {meaning} | {remedy} |\n"));
    }
    table
}

/// Against `toolcrib serve` as a user starts it. The first block is what it says, and its last part the table of codes.
#[test]
fn the_sessions_with_the_server_print_what_they_show() {
    let page = "docs/rest.md";
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    assert!(text.matches("\n$ ").count() >= 30, "no commands were found");
    let place = Place::served();
    let serving = place.serving.as_ref().unwrap();
    let home = place.dir.path().join("home");
    let greeting: Vec<String> = serving
        .greeting
        .iter()
        .filter(|line| !line.starts_with("listening on unix:"))
        .map(|line| {
            line.replace(&serving.address, SERVED)
                .replace(home.to_str().unwrap(), "/home/ada/.local/share/toolcrib")
                .replace(place.dir.path().to_str().unwrap(), "/home/ada")
        })
        // The code of the link is another one each time.
        .map(|line| match line.split_once("#code=") {
            Some((link, _)) => format!("{link}#code=…"),
            None => line,
        })
        .collect();
    let shown = blocks(&text)
        .into_iter()
        .find(|block| block.language == "text");
    let shown = shown.expect("what it says when it starts").text;
    let said = format!("$ toolcrib serve\n{}\n", greeting.join("\n"));
    let text = text.replace(&shown, &said);
    let heading = "`{\"ok\": false, \"error\": {\"code\", \"message\", \"details\"?}}`.\n\n";
    let (written, table) = text.split_once(heading).expect("a heading for errors");
    let tour = tour_at(page, written, 0, place);
    let (mut wrong, made) = (tour.wrong, tour.made);
    if shown != said {
        wrong.push(format!("{page}: it says at the start\n{said}"));
    }
    let codes = table_of_codes();
    if table != codes {
        wrong.push(format!("{page}: the table is not what the codes say"));
    }
    if let Some(serving) = tour.place.serving {
        serving.stop();
    }
    settle(page, &format!("{made}{heading}{codes}"), &wrong);
}

#[test]
fn the_two_commands_are_what_ci_and_people_run() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let shell: Vec<String> = blocks(&readme)
        .into_iter()
        .filter(|block| block.language == "sh")
        .map(|block| block.text.trim().to_owned())
        .collect();
    let [run, test] = shell.as_slice() else {
        panic!("the README has two commands: {shell:?}")
    };
    // The first, with the binary that is built already.
    let words: Vec<&str> = run
        .strip_prefix("cargo run --release -- ")
        .unwrap()
        .split_whitespace()
        .collect();
    let home = tempfile::tempdir().unwrap();
    assert_eq!(words, ["serve"]);
    let mut server = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
        .args(words)
        .current_dir(root())
        .env("TOOLCRIB_HOME", home.path())
        .env("TOOLCRIB_SERVER_ADDR", "127.0.0.1:0")
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stderr = std::io::BufReader::new(server.stderr.take().unwrap());
    while !line.starts_with("listening on http://127.0.0.1:") {
        line.clear();
        let read = std::io::BufRead::read_line(&mut stderr, &mut line).unwrap();
        assert_ne!(read, 0, "it says where it listens");
    }
    server.kill().unwrap();
    server.wait().unwrap();
    // The second is this very run: CI calls it and nothing else.
    let ci = std::fs::read_to_string(root().join(".ci/run")).unwrap();
    assert!(
        ci.lines().any(|line| line == format!("exec {test}")),
        "{ci}"
    );
}
