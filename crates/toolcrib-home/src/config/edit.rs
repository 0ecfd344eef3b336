//! Changing one setting in a config.toml: everything else in the file stays as it is, comments included.
//!
//! A value is checked by the table of settings before it is written, and the file is read again before it replaces the old one. A file
//! that was wrong before may stay wrong: `config set` is how it gets mended.

use std::path::{Path, PathBuf};

use serde_json::Value;
use toml_edit::{Document, DocumentMut, Item, Table, TableLike};

use super::{Config, MAX_BYTES, Origin, ProjectMay, Setting, upstreams};
use crate::model::error::{ErrorCode, ToolError};
use crate::storage::DurableDir;

/// The file of a home that holds the settings.
pub(super) const FILE: &str = "config.toml";

/// The change to make to a setting.
#[derive(Debug, Clone, PartialEq)]
pub enum SettingChange {
    /// It gets this value.
    Set(Value),
    /// These are added to its list.
    Add(Vec<Value>),
    /// These are taken out of its list.
    Remove(Vec<Value>),
    /// Its line is removed.
    Unset,
}

/// A file with a setting changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    /// The whole file.
    pub text: String,
    /// What the file said before.
    pub before: Option<Value>,
    /// What it says now.
    pub after: Option<Value>,
}

impl Setting {
    /// Reads a value as it is typed: one word, several words of a list, or a list as JSON.
    pub fn read_words(&self, words: &[String]) -> Result<Value, String> {
        match words {
            [one] if self.kind.is_list() && one.trim_start().starts_with('[') => {
                let list = serde_json::from_str(one);
                self.accept(list.map_err(|error| format!("is not a list as JSON: {error}"))?)
            }
            [one] => self.parse(one),
            [] => self.parse(""),
            several if self.kind.is_list() => {
                self.accept(several.iter().map(String::as_str).collect())
            }
            _ => Err("takes one value; quote it if it has spaces".to_owned()),
        }
    }

    /// Whether it holds a list.
    pub fn is_list(&self) -> bool {
        self.kind.is_list()
    }

    /// Whether a project's own file gets this value, where `config` is what holds without that file; the error says why not.
    pub fn may_be_set_by_project(&self, value: &Value, config: &Config) -> Result<(), String> {
        let current = config.value(self.key);
        let tightened = self.tighten(current, value.clone()).map_err(|why| {
            format!("{why}; leave `--project` out to set it for yourself, everywhere")
        })?;
        // A list that is added to is longer than the list asked for.
        if tightened == *value || self.project == ProjectMay::Extend {
            return Ok(());
        }
        let current = match current {
            Value::Null => "unset".to_owned(),
            value => value.to_string(),
        };
        Err(format!(
            "a project may only {} (it is {current}); leave `--project` out to set it for yourself, everywhere",
            self.project_in_words()
        ))
    }
}

/// The text of a config.toml with one setting changed; `file` is its path, for messages.
pub fn change_text(
    text: &str,
    file: &str,
    setting: &Setting,
    change: &SettingChange,
) -> Result<Changed, ToolError> {
    let mut document = parsed(text, file)?;
    let before = value_in(&document, setting.key);
    let list = |before: &Option<Value>| {
        let list = before.as_ref().or(Some(&setting.default));
        list.and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let wanted = match change {
        SettingChange::Set(value) => Some(value.clone()),
        SettingChange::Unset => None,
        SettingChange::Add(more) => {
            let mut all = list(&before);
            for word in more {
                if !all.contains(word) {
                    all.push(word.clone());
                }
            }
            Some(Value::Array(all))
        }
        SettingChange::Remove(gone) => {
            let mut all = list(&before);
            if let Some(absent) = gone.iter().find(|word| !all.contains(word)) {
                let message = format!("`{}` does not list {absent}", setting.key);
                return Err(ToolError::new(ErrorCode::InvalidArguments, message));
            }
            all.retain(|word| !gone.contains(word));
            Some(Value::Array(all))
        }
    };
    if wanted == before {
        let text = text.to_owned();
        return Ok(Changed {
            text,
            after: wanted,
            before,
        });
    }
    let new = match &wanted {
        Some(value) => {
            let value = upstreams::toml_value(value).ok_or_else(|| wrong("nothing to write"))?;
            put(&mut document, file, setting.key, value)?;
            document.to_string()
        }
        None => without(text, &document, setting.key)?,
    };
    let after = value_in(&parsed(&new, file)?, setting.key);
    let is_fine = |text: &str| Config::defaults().read_text(text, file, Origin::Home);
    if is_fine(text).is_ok() {
        is_fine(&new).map_err(|error| wrong(&error.to_string()))?;
    }
    Ok(Changed {
        text: new,
        before,
        after,
    })
}

/// Changes one setting in the config.toml of a home.
pub fn change_home(
    home: &Path,
    setting: &Setting,
    change: &SettingChange,
) -> Result<Changed, ToolError> {
    let mut changed = None;
    edit_home(home, |text, file| {
        let new = change_text(text, file, setting, change)?;
        let is_other = new.text != text;
        let text = new.text.clone();
        changed = Some(new);
        Ok(is_other.then_some(text))
    })?;
    changed.ok_or_else(|| wrong("nothing was read"))
}

/// Replaces the config.toml of a home as a whole, if it still says what it said; the error says what is wrong with the new text.
pub fn replace_home(home: &Path, before: &str, after: &str) -> Result<(), ToolError> {
    check_text(after, &home.join(FILE).display().to_string())?;
    edit_home(home, |text, file| {
        if text != before {
            let message = format!("{file} changed meanwhile");
            return Err(ToolError::new(ErrorCode::Conflict, message));
        }
        Ok(Some(after.to_owned()))
    })
    .map(drop)
}

impl Config {
    /// Whether a text could be the file of a project, where this is what holds without it.
    pub fn check_project_text(&self, text: &str) -> Result<(), super::ConfigError> {
        self.clone()
            .read_text(text, super::PROJECT_FILE, Origin::Project)
    }
}

/// Whether a text could be the config.toml of a home; `file` is its path, for messages.
pub fn check_text(text: &str, file: &str) -> Result<(), ToolError> {
    let checked = Config::defaults().read_text(text, file, Origin::Home);
    checked.map_err(|error| wrong(&error.to_string()))
}

/// Edits the file under the lock of the home; it is written if `change`, which gets the text and the file's path, gives a new text.
pub(super) fn edit_home(
    home: &Path,
    change: impl FnOnce(&str, &str) -> Result<Option<String>, ToolError>,
) -> Result<bool, ToolError> {
    let home_dir = DurableDir::create(home)?;
    // A link to a file elsewhere is followed, not replaced.
    let real = home
        .join(FILE)
        .canonicalize()
        .unwrap_or_else(|_| home.join(FILE));
    let (place, file) = split(&real);
    let _all = home_dir.lock()?;
    let elsewhere = match place == home.canonicalize().unwrap_or_else(|_| home.to_owned()) {
        true => None,
        false => Some(DurableDir::create(&place)?),
    };
    let elsewhere_lock = elsewhere.as_ref().map(DurableDir::lock).transpose()?;
    let (dir, lock) = match (&elsewhere, &elsewhere_lock) {
        (Some(dir), Some(lock)) => (dir, lock),
        _ => (&home_dir, &_all),
    };
    let before = dir.read(&file, MAX_BYTES)?.unwrap_or_default();
    let text = String::from_utf8(before)
        .map_err(|_| wrong(&format!("`{}` is not UTF-8 text", real.display())))?;
    let Some(new) = change(&text, &home.join(FILE).display().to_string())? else {
        return Ok(false);
    };
    dir.write(lock, &file, new.as_bytes())?;
    Ok(true)
}

/// The text as a document that can be changed.
pub(super) fn parsed(text: &str, file: &str) -> Result<DocumentMut, ToolError> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        wrong(&format!(
            "{file} is not TOML: {}",
            error.to_string().trim_end()
        ))
    })
}

/// Puts a value at a dotted key; tables on the way are made.
pub(super) fn put(
    document: &mut DocumentMut,
    file: &str,
    key: &str,
    mut value: toml_edit::Value,
) -> Result<(), ToolError> {
    let (tables, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for part in tables.split('.').filter(|part| !part.is_empty()) {
        let item = table
            .entry(part)
            .or_insert_with(|| Item::Table(Table::new()));
        table = item
            .as_table_like_mut()
            .ok_or_else(|| wrong(&format!("`{part}` is not a table in {file}")))?;
    }
    match table.get_mut(name) {
        Some(Item::Value(old)) => {
            // A comment behind the value is kept with it.
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        _ => {
            table.insert(name, Item::Value(value));
        }
    }
    Ok(())
}

/// What a document has at a dotted key.
fn value_in(document: &DocumentMut, key: &str) -> Option<Value> {
    let mut item = document.as_item();
    for part in key.split('.') {
        item = item.as_table_like()?.get(part)?;
    }
    let value = item.as_value()?;
    // TOML has no documents of a single value; as the value of a key it can be read.
    let alone = format!("v = {}", value.clone().decorated("", ""));
    let table: toml::Table = alone.parse().ok()?;
    serde_json::to_value(table.get("v")?).ok()
}

/// The text without a key. Its line goes; comments above it stay, which is why the text is cut and the document is not asked.
fn without(text: &str, document: &DocumentMut, key: &str) -> Result<String, ToolError> {
    let mut expected = document.clone();
    let (tables, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut table: &mut dyn TableLike = expected.as_table_mut();
    for part in tables.split('.').filter(|part| !part.is_empty()) {
        let found = table.get_mut(part).and_then(Item::as_table_like_mut);
        let Some(found) = found else {
            return Ok(text.to_owned());
        };
        table = found;
    }
    table.remove(name);
    let expected = expected.to_string();
    let same = |one: &str, other: &str| {
        let read = |text: &str| text.parse::<toml::Table>().ok();
        matches!((read(one), read(other)), (Some(one), Some(other)) if one == other)
    };
    let cut = cut_line(text, key).filter(|cut| same(cut, &expected));
    Ok(cut.unwrap_or(expected))
}

/// The text without the line of a key; `None` where other keys share its line.
fn cut_line(text: &str, key: &str) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let (tables, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut table: &dyn TableLike = document.as_table();
    for part in tables.split('.').filter(|part| !part.is_empty()) {
        table = table.get(part)?.as_table_like()?;
    }
    let (found, item) = table.get_key_value(name)?;
    let (start, end) = (found.span()?.start, item.span()?.end);
    let start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[end..].find('\n').map_or(text.len(), |at| end + at + 1);
    Some(format!("{}{}", &text[..start], &text[end..]))
}

fn split(path: &Path) -> (PathBuf, String) {
    let directory = path.parent().unwrap_or(Path::new("/")).to_owned();
    let file = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    (directory, file)
}

pub(super) fn wrong(message: &str) -> ToolError {
    ToolError::new(ErrorCode::Usage, message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changed(text: &str, key: &str, change: SettingChange) -> String {
        let setting = Setting::find(key).unwrap();
        change_text(text, FILE, setting, &change).unwrap().text
    }

    const MINE: &str = "# mine\ndisabledTools = [ 'x' ] # why not\n\n# limits of this machine\n[limits]\n# slow disk\ntimeoutMs = 5000 # five\n";

    #[test]
    fn one_value_changes_and_every_comment_stays() {
        assert_eq!(
            changed(MINE, "limits.timeoutMs", SettingChange::Set(json!(7000))),
            MINE.replace("5000", "7000")
        );
        let new = changed(MINE, "limits.listEntries", SettingChange::Set(json!(3)));
        assert_eq!(new, format!("{MINE}listEntries = 3\n"));
        let new = changed("", "sandbox.network", SettingChange::Set(json!("listed")));
        assert_eq!(new, "[sandbox]\nnetwork = \"listed\"\n");
        let new = changed(
            MINE,
            "allowedHosts",
            SettingChange::Add(vec![json!("a.test")]),
        );
        for line in MINE.lines() {
            assert!(new.contains(line), "{new}");
        }
        assert!(new.contains("allowedHosts = [\"a.test\"]\n"), "{new}");
        assert!(new.parse::<toml::Table>().is_ok(), "{new}");
    }

    #[test]
    fn a_line_is_removed_and_the_comments_above_it_stay() {
        assert_eq!(
            changed(MINE, "limits.timeoutMs", SettingChange::Unset),
            MINE.replace("timeoutMs = 5000 # five\n", "")
        );
        for (text, left) in [
            (
                "limits.timeoutMs = 5\nlimits.listEntries = 6\n",
                "limits.listEntries = 6\n",
            ),
            (
                "limits = { timeoutMs = 5, listEntries = 6 } # x\n",
                "limits = { listEntries = 6 } # x\n",
            ),
        ] {
            let new = changed(text, "limits.timeoutMs", SettingChange::Unset);
            let read = |text: &str| text.parse::<toml::Table>().unwrap();
            assert_eq!(read(&new), read(left), "{new}");
        }
        assert_eq!(
            changed("# a\n", "limits.timeoutMs", SettingChange::Unset),
            "# a\n"
        );
    }

    #[test]
    fn words_are_added_to_a_list_and_taken_out_of_it() {
        let add = |text: &str, word: &str| {
            changed(text, "disabledTools", SettingChange::Add(vec![json!(word)]))
        };
        let two = add("disabledTools = ['x']\n", "y");
        assert_eq!(two, "disabledTools = [\"x\", \"y\"]\n");
        assert_eq!(add(&two, "y"), two, "it is there already");
        let one = changed(
            &two,
            "disabledTools",
            SettingChange::Remove(vec![json!("x")]),
        );
        assert_eq!(one, "disabledTools = [\"y\"]\n");
        let setting = Setting::find("disabledTools").unwrap();
        let absent = change_text(
            &one,
            FILE,
            setting,
            &SettingChange::Remove(vec![json!("x")]),
        )
        .unwrap_err();
        assert_eq!(absent.message(), "`disabledTools` does not list \"x\"");
    }

    #[test]
    fn words_are_read_as_they_are_typed() {
        let read = |key: &str, words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            Setting::find(key).unwrap().read_words(&words)
        };
        let both = Ok(json!(["a.test", "b.test:8443"]));
        assert_eq!(read("allowedHosts", &["a.test", "b.test:8443"]), both);
        assert_eq!(read("allowedHosts", &["a.test,b.test:8443"]), both);
        assert_eq!(
            read("allowedHosts", &["[\"a.test\", \"b.test:8443\"]"]),
            both
        );
        assert_eq!(read("limits.timeoutMs", &["5000"]), Ok(json!(5000)));
        assert_eq!(read("mcp.elicitation", &["false"]), Ok(json!(false)));
        assert!(
            read("limits.timeoutMs", &["soon"])
                .unwrap_err()
                .contains("whole number")
        );
        assert!(
            read("limits.timeoutMs", &["5", "6"])
                .unwrap_err()
                .contains("one value")
        );
        assert!(read("allowedHosts", &["http://a.test/x y"]).is_err());
    }

    #[test]
    fn a_project_may_set_only_what_tightens() {
        let config = Config::defaults();
        let may = |key: &str, value: Value| {
            Setting::find(key)
                .unwrap()
                .may_be_set_by_project(&value, &config)
        };
        assert_eq!(may("limits.timeoutMs", json!(1000)), Ok(()));
        assert_eq!(may("disabledTools", json!(["x"])), Ok(()));
        let looser = may("limits.timeoutMs", json!(100_000)).unwrap_err();
        assert!(
            looser.starts_with("a project may only lower it (it is 60000)"),
            "{looser}"
        );
        let never = may("workspace", json!("/")).unwrap_err();
        assert!(
            never.starts_with("a project may not set this; leave"),
            "{never}"
        );
        assert!(may("allowedHosts", json!(["a.test"])).is_err());
    }

    #[test]
    fn a_file_that_was_wrong_can_be_mended_and_no_other_is_made_wrong() {
        let broken = "limits.timeoutMs = 'x'\n";
        assert_eq!(
            changed(broken, "limits.timeoutMs", SettingChange::Set(json!(5000))),
            "limits.timeoutMs = 5000\n"
        );
        assert!(
            change_text(
                "[limits\n",
                FILE,
                Setting::find("limits.timeoutMs").unwrap(),
                &SettingChange::Unset
            )
            .is_err()
        );
        assert!(check_text("limits.timeoutMs = 'x'", FILE).is_err());
    }

    #[test]
    fn the_file_of_a_home_is_replaced_only_if_it_still_says_the_same() {
        let home = tempfile::tempdir().unwrap();
        let setting = Setting::find("limits.timeoutMs").unwrap();
        change_home(home.path(), setting, &SettingChange::Set(json!(5000))).unwrap();
        let text = std::fs::read_to_string(home.path().join(FILE)).unwrap();
        assert_eq!(text, "[limits]\ntimeoutMs = 5000\n");
        let conflict = replace_home(home.path(), "other", "").unwrap_err();
        assert_eq!(conflict.code(), ErrorCode::Conflict);
        replace_home(home.path(), &text, "# none\n").unwrap();
        assert!(replace_home(home.path(), "# none\n", "x = 1").is_err());
    }
}
