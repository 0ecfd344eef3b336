//! Repositories that a run hides from us, but not from git: what git runs in them is noticed all the same.

use crate::{
    held::{NO_SETTINGS, found, holding, paths},
    stage::{Stage, WALLS, as_root_and_nobody, git, is_root},
};
use std::{fs, os::unix::fs::symlink};
use toolcrib_sandbox::Remedy;

#[test]
fn a_commondir_is_read_as_git_reads_it_and_taken_if_it_leads_out() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let script = r"
                mkdir -p a/.git b/.git c/.git store/objects store/refs
                for at in a b c; do echo 'ref: refs/heads/main' > $at/.git/HEAD; done
                printf '[core]\n\tfsmonitor = ./evil\n' > store/config
                cp -r store $'st\xff'
                printf '../../store\0x' > a/.git/commondir
                printf '../../st\xff\n' > b/.git/commondir
                echo /etc > c/.git/commondir
                echo fine";
            let ran = stage.bash(&holding(&stage, level), script);
            assert_eq!(ran.stdout, "fine\n", "{level}: {}", ran.stderr);
            let expected = ["c/.git/commondir", "store/config", "st\u{fffd}/config"];
            assert_eq!(paths(&stage, &ran.report), expected, "{level}");
        }
    });
}

#[test]
fn a_submodule_whose_git_file_is_read_otherwise_by_git_is_found_or_taken() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            let script = format!(
                "{NO_SETTINGS} for at in node_modules/x node_modules/y; do git init -q $at && git -C $at commit -q --allow-empty -m x \
                 && git add -f $at 2>/dev/null || exit; done
                 git -C node_modules/x config core.fsmonitor ./evil && mv node_modules/x/.git node_modules/store && rm -r node_modules/y/.git
                 printf 'gitdir: ../store\\0junk' > node_modules/x/.git; echo 'gitdir: /nowhere' > node_modules/y/.git; echo fine"
            );
            let ran = stage.bash(&holding(&stage, level), &script);
            assert_eq!(ran.stdout, "fine\n", "{level}: {}", ran.stderr);
            let expected = ["node_modules/store/config", "node_modules/y/.git"];
            assert_eq!(paths(&stage, &ran.report), expected, "{level}");
        }
    });
}

#[test]
fn an_index_that_git_reads_otherwise_hides_no_submodule() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        stage.repository();
        // The flags of an entry say how long its name is; the bytes of it look like another entry.
        let script = format!(
            "{NO_SETTINGS} git init -q node_modules/x && git -C node_modules/x commit -q --allow-empty -m x && git -C node_modules/x config core.fsmonitor ./evil
             python3 - <<'END'
import struct, hashlib
def entry(mode, name, length):
    return struct.pack('>10I', 0, 0, 0, 0, 0, 0, mode, 0, 0, 0) + bytes(20) + struct.pack('>H', length) + name
def padded(bytes_):
    return bytes_ + b'\\0' * (8 - len(bytes_) % 8)
name = b'a' + padded(entry(0o100644, b'a', 1))[63:] + padded(entry(0o100644, b'b', 1))
index = b'DIRC' + struct.pack('>II', 2, 2) + padded(entry(0o100644, name[:-1], len(name) - 1)) + padded(entry(0o160000, b'node_modules/x', 14))
open('.git/index', 'wb').write(index + hashlib.sha1(index).digest())
END
             echo fine"
        );
        let ran = stage.bash(&holding(&stage, WALLS[0]), &script);
        assert_eq!(ran.stdout, "fine\n", "{}", ran.stderr);
        assert_eq!(
            found(&stage, &ran.report),
            [(".git/index".to_owned(), Remedy::Take)]
        );
    });
}

#[test]
fn a_repository_inside_of_another_ones_directory_is_found() {
    as_root_and_nobody(|| {
        for level in WALLS {
            for (place, link) in [
                (".git/x/src", "ln -s .git/x/src src"),
                (".git/x/src", "true"),
                (".git/objects/x/src", "ln -s .git/objects/x/src src"),
                (".GIT/x/src", "ln -s .GIT/x/src src"),
                (
                    "node_modules/src",
                    "mkdir a; ln -s ../node_modules/src a/src",
                ),
            ] {
                let stage = Stage::new();
                stage.repository();
                stage.file("src/a", "mine");
                let script = format!(
                    "{NO_SETTINGS} mkdir -p $(dirname {place}); mv src {place}; git init -q {place}; git -C {place} config core.fsmonitor ./evil; {link}; \
                     ln -s . {place}/again; echo fine"
                );
                let ran = stage.bash(&holding(&stage, level), &script);
                assert_eq!(ran.stdout, "fine\n", "{level}: {}", ran.stderr);
                let config = format!("{place}/.git/config");
                let planted = paths(&stage, &ran.report);
                assert!(planted.contains(&config), "{level} {link}: {planted:?}");
            }
        }
    });
}

#[test]
fn links_in_a_repository_that_lead_elsewhere_than_before_are_taken() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            symlink("heads", stage.workspace.join(".git/refs/x")).unwrap();
            symlink("heads", stage.workspace.join(".git/refs/same")).unwrap();
            let script = "ln -sfn /elsewhere .git/refs/x; mv .git/objects .git/o; ln -s o .git/objects; mv .git/refs .git/r; ln -s r .git/refs";
            let ran = stage.bash(&holding(&stage, level), "touch .git/refs/file");
            assert_eq!(ran.report.planted, [], "{level}");
            let ran = stage.bash(&holding(&stage, level), script);
            let planted = found(&stage, &ran.report);
            for expected in [
                (".git/objects".to_owned(), Remedy::MakeDirectory),
                (".git/refs".to_owned(), Remedy::MakeDirectory),
                (".git/r/x".to_owned(), Remedy::Take),
            ] {
                assert!(planted.contains(&expected), "{level}: {planted:?}");
            }
            let stage = Stage::new();
            stage.repository();
            symlink("heads", stage.workspace.join(".git/refs/x")).unwrap();
            let ran = stage.bash(
                &holding(&stage, level),
                "ln -sfn /elsewhere .git/refs/x; touch .git/refs/y",
            );
            assert_eq!(
                found(&stage, &ran.report),
                [(".git/refs/x".to_owned(), Remedy::Take)],
                "{level}"
            );
        }
    });
}

#[test]
fn old_remotes_that_cannot_all_be_read_are_taken() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            stage.repository();
            // Older versions of git make it.
            let _ = fs::remove_dir(stage.workspace.join(".git/branches"));
            let script = "mkdir .git/remotes .git/branches; for i in $(seq 300); do echo 'URL: ext::evil' > .git/remotes/$i; done; \
                echo ext::evil > .git/branches/x; chmod 0311 .git/branches";
            let ran = stage.bash(&holding(&stage, level), script);
            let branches = match is_root() {
                true => ".git/branches/x",
                false => ".git/branches",
            };
            assert_eq!(
                paths(&stage, &ran.report),
                [branches, ".git/remotes"],
                "{level}"
            );
        }
    });
}

#[test]
fn scripts_that_settings_name_without_a_directory_cannot_be_written() {
    as_root_and_nobody(|| {
        for value in [
            "python3 strip.py",
            "python3.11 strip.py",
            "uv run strip.py %f",
            "perl -n strip.py",
        ] {
            let stage = Stage::new();
            stage.repository();
            stage.file("strip.py", "mine");
            git(&stage.workspace, &["config", "filter.f.clean", value]);
            stage.bash(&holding(&stage, WALLS[0]), "echo evil > strip.py");
            let text = fs::read_to_string(stage.workspace.join("strip.py")).unwrap();
            assert_eq!(text, "mine", "{value}");
        }
    });
}

/// What a script leaves behind that is to be dealt with, in a workspace with a repository.
fn planted_by(script: &str) -> Vec<(String, Remedy)> {
    let stage = Stage::new();
    stage.repository();
    let script = format!("{NO_SETTINGS} {script}\necho fine");
    let ran = stage.bash(&holding(&stage, WALLS[0]), &script);
    assert_eq!(ran.stdout, "fine\n", "{}", ran.stderr);
    found(&stage, &ran.report)
}

fn taken(paths: &[&str]) -> Vec<(String, Remedy)> {
    let take = |path: &&str| ((*path).to_owned(), Remedy::Take);
    paths.iter().map(take).collect()
}

#[test]
fn recorded_solutions_that_git_would_write_into_files_are_taken() {
    as_root_and_nobody(|| {
        let script = "id=$(printf 1%.0s {1..40}); mkdir -p .git/rr-cache/$id; cp .git/config .git/rr-cache/$id/preimage
             printf '%s.-1\\t.git/config\\0' $id > .git/MERGE_RR";
        assert_eq!(
            planted_by(script),
            taken(&[".git/MERGE_RR", ".git/rr-cache"])
        );
        assert_eq!(planted_by("> .git/MERGE_RR"), []);
    });
}

#[test]
fn links_in_the_directory_of_objects_are_taken() {
    as_root_and_nobody(|| {
        let script = "mkdir -p .git/objects/info; ln -s /etc/hostname .git/objects/info/commit-graph
             mv .git/objects/pack .git/objects/pk; ln -s /etc .git/objects/pack; ln -s /etc .git/objects/zz";
        let expected = [
            ".git/objects/info/commit-graph",
            ".git/objects/pack",
            ".git/objects/zz",
        ];
        assert_eq!(planted_by(script), taken(&expected));
    });
}

#[test]
fn bare_repositories_in_the_directory_of_another_one_are_judged() {
    as_root_and_nobody(|| {
        for place in [".git/evil", ".git/objects/info/evil", ".git/a/b"] {
            let script = format!(
                "mkdir -p {place}; git init -q --bare {place}; git -C {place} config core.fsmonitor ./evil; echo evil > {place}/hooks/pre-push"
            );
            let planted = planted_by(&script);
            let paths: Vec<&str> = planted.iter().map(|(path, _)| path.as_str()).collect();
            assert_eq!(
                paths,
                [format!("{place}/config"), format!("{place}/hooks/pre-push")]
            );
        }
    });
}

#[test]
fn more_modules_than_are_looked_at_hide_no_repository() {
    as_root_and_nobody(|| {
        let plant = "git init -q --bare .git/modules/sub; git -C .git/modules/sub config core.fsmonitor ./evil";
        let many =
            |number| format!("mkdir .git/modules; mkdir .git/modules/{{1..{number}}}; {plant}");
        let planted = planted_by(&many(1_100));
        assert!(
            matches!(&planted[..], [(path, Remedy::Replace(_))] if path == ".git/modules/sub/config"),
            "{planted:?}"
        );
        let planted = planted_by(&many(2_100));
        assert_eq!(planted[..1], taken(&[".git/modules"]));
    });
}

#[test]
fn what_is_in_directories_that_a_run_closed_is_found() {
    as_root_and_nobody(|| {
        for (script, expected) in [
            (
                "mkdir .vscode; echo x > .vscode/tasks.json; chmod 000 .vscode",
                ".vscode/tasks.json",
            ),
            (
                "mkdir .vscode; echo x > .vscode/tasks.json; chmod 600 .vscode",
                ".vscode/tasks.json",
            ),
            (
                "mkdir -p .github/hooks; echo x > .github/hooks/a; chmod 000 .github",
                ".github/hooks",
            ),
            ("echo evil > .envrc; chmod 000 .", ".envrc"),
            (
                "git init -q r; echo evil > r/.git/hooks/pre-push; chmod 000 r/.git",
                "r/.git/hooks/pre-push",
            ),
            (
                "git init -q c/d/r; echo evil > c/d/r/.git/hooks/pre-push; chmod 000 c/d c",
                "c/d/r/.git/hooks/pre-push",
            ),
            (
                "git init -q --bare .git/modules/x; echo evil > .git/modules/x/hooks/pre-push; chmod 000 .git/modules/x",
                ".git/modules/x/hooks/pre-push",
            ),
        ] {
            assert_eq!(planted_by(script), taken(&[expected]), "{script}");
        }
    });
}
