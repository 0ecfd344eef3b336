//! A directory that several runs share: seen at its own path, private, and gone afterwards whatever was done in it.

use crate::stage::{PATH, Stage, as_root, as_root_and_nobody, bash, directory, names};
use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use toolcrib_sandbox::{Level, Status, TemporaryDirectory, User};

/// Every level, and the one without namespaces.
fn stages() -> Vec<(Stage, Level)> {
    let levels = [Level::None, Level::Process, Level::Container];
    let mut stages: Vec<_> = levels
        .into_iter()
        .map(|level| (Stage::new(), level))
        .collect();
    stages.push((Stage::without_namespaces(), Level::Process));
    stages
}

#[test]
fn runs_share_it_at_the_same_path_and_leave_nothing() {
    as_root_and_nobody(|| {
        // The second is covered by the run's own `/tmp`.
        for base in [std::env::temp_dir(), PathBuf::from("/tmp")] {
            for (stage, level) in stages() {
                let shared = TemporaryDirectory::create_in(&base).unwrap();
                let path = shared.path().to_owned();
                let given = shared.write("given", b"given").unwrap();
                let mut policy = stage.policy(level);
                policy.write.push(path.clone());
                let at = path.display();
                let script = format!(
                    "cat {}; cd {at} && mkdir -p a/b && echo x > a/b/c && ln -s / a/root && ln -s {} out && chmod 0 a/b && chmod 500 a && chmod 0 given",
                    given.display(),
                    stage.outside.display()
                );
                let ran = stage.bash(&policy, &script);
                assert_eq!(
                    (&*ran.stdout, ran.report.status),
                    ("given", Status::Exited(0)),
                    "{level}: {ran:?}"
                );
                // In the run's own place for temporary files there is nothing of others.
                let ran = stage.bash(
                    &policy,
                    &format!(
                        "chmod 700 {at}/a/b; cat {at}/a/b/c; ls \"$TMPDIR\"/*.txt 2>&1 | wc -l"
                    ),
                );
                assert!(ran.stdout.starts_with("x\n"), "{level}: {ran:?}");
                let ran = stage.bash(&stage.policy(level), &format!("ls {at}; true"));
                assert_eq!(ran.stdout.is_empty(), level > Level::None, "{level}");
                fs::write(stage.outside.join("mine"), "mine").unwrap();
                drop(shared);
                assert!(!path.exists(), "{level}");
                assert_eq!(names(&stage.outside), ["mine"], "{level}");
            }
        }
    });
}

#[test]
fn another_uid_owns_what_is_in_it_while_it_runs_and_leaves_nothing() {
    as_root(|| {
        for level in [Level::Process, Level::Container] {
            let stage = Stage::new();
            let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(stage.workspace.parent().unwrap(), open).unwrap();
            let shared = TemporaryDirectory::create_in(&std::env::temp_dir()).unwrap();
            let path = shared.path().to_owned();
            shared.write("given", b"given").unwrap();
            let mut policy = stage.policy(level);
            policy.user = User::REDUCED;
            policy.write.push(path.clone());
            let script = format!(
                "cd {} && cat given && mkdir -m 500 a && id -u",
                path.display()
            );
            let ran = stage.bash(&policy, &script);
            assert_eq!(ran.stdout, "given60999\n", "{level}: {ran:?}");
            assert_eq!(fs::metadata(path.join("a")).unwrap().uid(), 0, "{level}");
            drop(shared);
            assert!(!path.exists(), "{level}");
        }
    });
}

const BASE: &str = "TOOLCRIB_TEST_SHARED_BASE";

#[test]
fn makes_one_when_told_to() {
    let Ok(base) = std::env::var(BASE) else {
        return;
    };
    let shared = TemporaryDirectory::create_in(Path::new(&base)).unwrap();
    shared.write("left", b"behind").unwrap();
    println!("made {}", shared.path().display());
    loop {
        std::thread::park();
    }
}

#[test]
fn what_a_killed_process_left_behind_goes_when_the_next_one_makes_one() {
    as_root_and_nobody(|| {
        let base = directory();
        let mut maker = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "shared_directory::makes_one_when_told_to",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(BASE, base.path())
            .env("PATH", PATH)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(maker.stdout.as_mut().unwrap()).lines();
        let made = lines
            .map_while(Result::ok)
            .find_map(|line| Some(PathBuf::from(line.split_once("made ")?.1)))
            .unwrap();
        assert!(made.join("left").exists());
        maker.kill().unwrap();
        maker.wait().unwrap();
        assert!(made.exists());
        let next = TemporaryDirectory::create_in(base.path()).unwrap();
        assert!(!made.exists());
        assert!(next.path().exists());
    });
}

#[test]
fn a_command_at_any_level_can_be_given_a_file_of_it_to_run() {
    as_root_and_nobody(|| {
        for (stage, level) in stages() {
            let shared = TemporaryDirectory::create_in(&std::env::temp_dir()).unwrap();
            let script = shared.write("script.sh", b"echo \"$0 ran\"").unwrap();
            let mut policy = stage.policy(level);
            policy.write.push(shared.path().to_owned());
            let ran = stage
                .run(&policy, &bash("exec bash \"$0\"").args([script.clone()]))
                .unwrap();
            assert_eq!(ran.stdout, format!("{} ran\n", script.display()), "{level}");
        }
    });
}
