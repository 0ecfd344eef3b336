//! Where namespaces are not available, `process` level still works, and its report says what does not.

use crate::stage::{Stage, as_root_and_nobody, eventually, marked, token};
use std::{fs, time::Duration};
use toolcrib_sandbox::{Layer, Level};

#[test]
fn the_report_names_what_is_not_enforced_and_how_to_get_it() {
    as_root_and_nobody(|| {
        let stage = Stage::without_namespaces();
        let report = stage.bash(&stage.policy(Level::Process), "true").report;
        let missing: Vec<Layer> = report
            .not_enforced
            .iter()
            .map(|missing| missing.layer)
            .collect();
        for layer in [
            Layer::PidNamespace,
            Layer::MountNamespace,
            Layer::ProtectedNames,
        ] {
            assert!(missing.contains(&layer), "{layer} in {missing:?}");
        }
        for layer in [
            Layer::PidNamespace,
            Layer::MountNamespace,
            Layer::ProtectedNames,
            Layer::PrivateTmp,
            Layer::PrivateProc,
        ] {
            assert!(
                !report.layers.contains(&layer),
                "{layer} in {:?}",
                report.layers
            );
        }
        for layer in [
            Layer::Landlock,
            Layer::Seccomp,
            Layer::Capabilities,
            Layer::NoSockets,
        ] {
            assert!(
                report.layers.contains(&layer),
                "{layer} in {:?}",
                report.layers
            );
        }
        for missing in &report.not_enforced {
            assert!(
                !missing.reason.is_empty() && !missing.fix.is_empty(),
                "{missing:?}"
            );
        }
    });
}

#[test]
fn files_are_walled_all_the_same() {
    as_root_and_nobody(|| {
        let stage = Stage::without_namespaces();
        fs::write(stage.outside.join("secret"), "TOPSECRET").unwrap();
        let script = format!(
            "cat {outside}/secret; echo x > {outside}/made; echo x > /tmp/made-by-wall-test; \
             echo fine > inside && cat inside; echo t > $TMPDIR/t && cat $TMPDIR/t",
            outside = stage.outside.display()
        );
        let ran = stage.bash(&stage.policy(Level::Process), &script);
        assert_eq!(ran.stdout, "fine\nt\n", "{ran:?}");
        assert!(!stage.outside.join("made").exists());
        assert!(!std::path::Path::new("/tmp/made-by-wall-test").exists());
    });
}

#[test]
fn planted_names_are_reported() {
    as_root_and_nobody(|| {
        let stage = Stage::without_namespaces();
        stage.repository();
        stage.file(".bashrc", "mine");
        let script = "export GIT_CONFIG_GLOBAL=/dev/null; echo evil > .envrc; echo evil >> .bashrc; echo evil > .git/hooks/pre-commit; \
                      git config core.editor evil; mkdir .vscode; echo {} > .vscode/tasks.json";
        let ran = stage.bash(&stage.policy(Level::Process), script);
        assert_eq!(ran.stderr, "");
        let report = ran.report;
        for name in [
            ".bashrc",
            ".envrc",
            ".git/config",
            ".git/hooks",
            ".vscode/tasks.json",
        ] {
            assert!(
                report.planted_paths().contains(&stage.workspace.join(name)),
                "{name} in {:?}",
                report.planted
            );
        }
        let report = stage
            .bash(&stage.policy(Level::Process), "echo > harmless")
            .report;
        assert_eq!(report.planted_paths(), Vec::<std::path::PathBuf>::new());
    });
}

#[test]
fn a_changed_hook_that_existed_is_reported() {
    as_root_and_nobody(|| {
        let stage = Stage::without_namespaces();
        stage.repository();
        stage.file(".git/hooks/pre-commit", "mine");
        stage.file(".vscode/tasks.json", "{}");
        let script = "echo evil > .git/hooks/pre-commit; echo evil > .vscode/tasks.json";
        let report = stage.bash(&stage.policy(Level::Process), script).report;
        let planted = |name: &str| {
            report
                .planted
                .iter()
                .any(|planted| planted.path.starts_with(stage.workspace.join(name)))
        };
        assert!(planted(".git/hooks"), "{:?}", report.planted);
        assert!(planted(".vscode"), "{:?}", report.planted);
    });
}

#[test]
fn a_command_that_kills_its_init_leaves_nothing_or_tree_kill_is_not_claimed() {
    as_root_and_nobody(|| {
        let stage = Stage::without_namespaces();
        let token = token();
        let script = format!(
            "setsid bash -c 'kill -9 {{}}; exec -a {token} sleep 5' & kill -9 $PPID; exec -a {token} sleep 5"
        );
        let report = stage.bash(&stage.policy(Level::Process), &script).report;
        let gone = eventually(Duration::from_secs(1), || marked(&token).is_empty());
        eprintln!("after init was killed: gone within a second: {gone}");
        assert!(gone || !report.layers.contains(&Layer::TreeKill));
        // Whatever is left ends by itself, so that it does not trouble other tests.
        assert!(eventually(Duration::from_secs(8), || marked(&token).is_empty()));
    });
}

#[test]
fn two_runs_have_separate_temporary_directories_and_leave_none() {
    as_root_and_nobody(|| {
        let stage = Stage::without_namespaces();
        let policy = stage.policy(Level::Process);
        let one = stage.bash(&policy, "echo $TMPDIR; touch $TMPDIR/mine");
        let other = stage.bash(&policy, "echo $TMPDIR; ls $TMPDIR");
        let directories: Vec<&str> = [&one, &other]
            .iter()
            .map(|ran| ran.stdout.lines().next().unwrap())
            .collect();
        assert_ne!(directories[0], directories[1]);
        assert_eq!(other.stdout.lines().count(), 1, "{other:?}");
        for directory in directories {
            assert!(!std::path::Path::new(directory).exists(), "{directory}");
        }
    });
}
