//! Toolcrib's own data: nothing that a tool runs reads or changes it, whatever the tool's permissions name.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::harness::{Ran, Test};

/// A home two directories beneath one that tools are given, with a secret in it.
struct Scene {
    test: Test,
    root: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("share/data/home")).unwrap();
        let scene = Scene {
            test: Test::new(),
            root,
        };
        fs::create_dir(scene.home().join("secrets")).unwrap();
        fs::write(scene.home().join("secrets/x.json"), "SENTINEL").unwrap();
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    fn home(&self) -> PathBuf {
        self.path("share/data/home")
    }

    fn run(&self, home: &Path, words: &[&str]) -> Ran {
        let mut command = self.test.command();
        command.env("TOOLCRIB_HOME", home).args(words);
        Ran::of(command.output().unwrap())
    }

    /// Runs a tool that has this permission, with a person's consent.
    fn attack(&self, home: &Path, permission: &str, level: &str, script: &str) -> Ran {
        let file = self.test.workspace().join(".toolcrib/tools/a.yaml");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let script = script.replace('\n', "\n  ");
        let tool = format!(
            "description: d\ntags: [write]\nbash: |\n  {script}\nsecurity:\n  isolation: {level}\n  \
             required-permissions: ['filesystem:{permission}']\n"
        );
        fs::write(file, tool).unwrap();
        self.run(home, &["trust", "--yes"]).exits(0);
        self.run(home, &["run", "a", "--yes"])
    }
}

#[test]
fn a_permission_for_toolcribs_own_data_is_refused_however_it_is_written() {
    let scene = Scene::new();
    let home = scene.home();
    symlink(&home, scene.path("by-link")).unwrap();
    symlink(
        scene.path("share"),
        scene.test.workspace().join("in-workspace"),
    )
    .unwrap();
    fs::create_dir(scene.path("beside")).unwrap();
    for place in [
        home.clone(),
        home.join("secrets"),
        home.join("secrets/x.json"),
        scene.path("beside/../share/data/home"),
        scene.path("by-link"),
        scene.path("by-link/secrets"),
        PathBuf::from("in-workspace/data/home"),
    ] {
        for access in ["read", "write"] {
            for level in ["process", "none"] {
                let permission = format!("{access}:{}", place.display());
                let ran = scene.attack(&home, &permission, level, "cat");
                ran.exits(1).says("Toolcrib's own data");
            }
        }
    }
}

#[test]
fn toolcribs_own_data_is_left_out_of_a_directory_above_it() {
    for level in ["process", "container"] {
        for above in ["share", "."] {
            for access in ["read", "write"] {
                let scene = Scene::new();
                let home = scene.home();
                let granted = scene.path(above).canonicalize().unwrap();
                let script = format!(
                    "cd '{0}'\ncp secrets/x.json stolen; cp -r '{0}' . ; cat '{0}'/secrets/* && echo READ\n\
                     echo evil > '{0}/config.toml'; mv '{0}' '{0}.old'\nmv '{1}' '{1}.old'; mkdir -p '{0}/rules'\necho done",
                    home.display(),
                    scene.path("share/data").display(),
                );
                let permission = format!("{access}:{}", granted.display());
                let ran = scene.attack(&home, &permission, level, &script).exits(0);
                let what = format!("{level} {above} {access}: {ran:?}");
                assert!(!ran.stdout.contains("READ"), "{what}");
                assert!(ran.stdout.contains("done"), "{what}");
                let kept = fs::read_to_string(home.join("secrets/x.json"));
                assert_eq!(kept.unwrap(), "SENTINEL", "{what}");
                assert!(!home.join("config.toml").exists(), "{what}");
                assert!(!home.join("rules").exists(), "{what}");
                let found = fs::read_dir(scene.test.workspace()).unwrap();
                let found: Vec<_> = found.map(|entry| entry.unwrap().file_name()).collect();
                assert!(!found.iter().any(|name| name == "stolen"), "{what}");
            }
        }
    }
}

#[test]
fn a_link_that_leads_to_toolcribs_own_data_is_not_a_tools_to_replace() {
    let scene = Scene::new();
    fs::create_dir(scene.path("links")).unwrap();
    let link = scene.path("links/home");
    symlink(scene.home(), &link).unwrap();
    let permission = format!("write:{}", scene.path("links").display());
    scene
        .attack(&link, &permission, "process", "true")
        .exits(1)
        .says("a link that leads to Toolcrib's own data");
    let permission = format!("read:{}", scene.path("links").display());
    scene
        .attack(
            &link,
            &permission,
            "process",
            "cat home/secrets/x.json; true",
        )
        .exits(0);
}

#[test]
fn the_plan_says_that_toolcribs_own_data_is_left_out() {
    let scene = Scene::new();
    let home = scene.home();
    let permission = format!("read:{}", scene.path("share").display());
    scene.attack(&home, &permission, "process", "true").exits(0);
    let ran = scene.run(&home, &["explain", "a"]).exits(0);
    assert!(
        ran.stdout.contains("Toolcrib's own data is left out of"),
        "{ran:?}"
    );
    let permission = format!("read:{}", home.display());
    scene.attack(&home, &permission, "process", "true");
    let ran = scene.run(&home, &["explain", "a"]);
    assert!(ran.stdout.contains("is Toolcrib's own data"), "{ran:?}");
}

#[test]
fn a_home_among_the_programs_that_everybody_may_read_is_left_out_of_them() {
    let scene = Scene::new();
    let share = scene.path("share");
    fs::write(
        scene.home().join("config.toml"),
        format!("readable = [\"{}\"]\n", share.display()),
    )
    .unwrap();
    let secret = scene.home().join("secrets/x.json");
    let command = format!(
        "command=cat '{}'; ls '{}'",
        secret.display(),
        share.display()
    );
    let ran = scene.run(&scene.home(), &["run", "shell", &command, "--yes"]);
    assert!(!ran.stdout.contains("SENTINEL"), "{ran:?}");
    assert!(ran.stdout.contains("data"), "{ran:?}");
}
