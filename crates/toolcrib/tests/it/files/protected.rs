//! Names that other programs run are out of reach of the file tools, whatever they are called by.

use std::fs;

use serde_json::json;
use toolcrib::ErrorCode;

use super::{Ground, assert_error, code, grounds, grounds_in_memory};

fn with_repository() -> [Ground; 2] {
    let grounds = grounds();
    for ground in &grounds {
        ground.file(".git/HEAD", "ref: refs/heads/main\n");
        ground.file(".git/config", "[core]\n\thooksPath = .husky/_\n");
        ground.file(".git/hooks/pre-commit.sample", "#!/bin/sh\n");
        ground.file(".vscode/tasks.json", "{}");
        ground.file(".husky/pre-commit", "true\n");
        ground.file("lib/.git/config", "");
        ground.file("lib/.git/hooks/x", "");
        ground.file("stores/split/HEAD", "ref: refs/heads/main\n");
        ground.file("stores/split/objects/x", "");
        ground.file("stores/split/refs/x", "");
        ground.file("f", "echo pwned\n");
    }
    grounds
}

/// A listing of all names and contents.
fn everything(ground: &Ground) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut left = vec![ground.path("")];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                left.push(path.clone());
            }
            found.push((
                path.to_str().unwrap().to_owned(),
                fs::read(&path).unwrap_or_default(),
            ));
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn path_015_protected_names_are_neither_written_nor_made_in_any_spelling() {
    for ground in with_repository() {
        ground.link(".git/hooks", "x");
        ground.link(".git/config", "innocent");
        ground.link(".bashrc", "rc");
        let before = everything(&ground);
        for path in [
            ".toolcrib/tools/x.yaml",
            ".ToolCrib/Rules.yaml",
            ".GIT/hooks/pre-commit",
            ".git/hooks/pre-commit",
            ".git/Hooks/pre-commit",
            ".git/hook\u{17f}/pre-commit",
            ".gi\u{206f}t/hooks/pre-commit",
            "./.git/../.git/config",
            ".git/config",
            ".git/config.worktree",
            ".git/modules/sub/hooks/post-checkout",
            "x/pre-commit",
            "innocent",
            "rc",
            ".bashrc",
            ".envrc",
            ".vscode/tasks.json",
            ".vscode/SETTINGS.json",
            ".idea/workspace.xml",
            ".husky/pre-commit",
            ".husky/_/pre-commit",
            "lib/.git/hooks/pre-commit",
            "lib/.git/config",
            "sub/.git/hooks/pre-commit",
            ".g\u{200c}it/config",
        ] {
            let arguments = json!({"path": path, "content": "echo pwned", "createDirs": true});
            assert_error(
                ground.call("write_file", arguments).await,
                ErrorCode::PermissionDenied,
                "is protected, because other programs run what it says",
            );
        }
        // `sub` may be made; what it is to hold may not.
        fs::remove_dir(ground.path("sub")).unwrap();
        assert_eq!(everything(&ground), before);
        assert_eq!(ground.asked().len(), 0);
        for path in [
            ".git/info/exclude",
            ".vscode/notes.md",
            ".gitignore",
            "lib/.bashrc",
        ] {
            let arguments = json!({"path": path, "content": "x", "createDirs": true});
            ground.call("write_file", arguments).await.unwrap();
        }
    }
}

#[tokio::test]
async fn protected_names_and_what_holds_them_are_not_deleted() {
    for ground in with_repository() {
        ground.link(".git", "g");
        let before = everything(&ground);
        for path in [
            ".git",
            ".git/hooks",
            ".git/config",
            ".git/hooks/pre-commit.sample",
            ".vscode",
            ".vscode/tasks.json",
            ".husky",
            "lib/.git",
            "g/config",
            "stores/split",
            ".bashrc",
        ] {
            assert_error(
                ground.delete(path).await,
                ErrorCode::PermissionDenied,
                "is protected",
            );
        }
        assert_eq!(everything(&ground), before);
        assert_eq!(ground.asked().len(), 0);
        ground.delete("g").await.unwrap();
    }
}

#[tokio::test]
async fn nothing_moves_to_or_from_a_protected_name() {
    for ground in with_repository() {
        ground.file("hooks/pre-commit", "echo pwned\n");
        ground.file("deep/er/.git/config", "");
        let before = everything(&ground);
        for (from, to) in [
            ("f", ".git/hooks/pre-commit"),
            ("f", ".bashrc"),
            ("f", ".Envrc"),
            ("hooks", ".git/modules"),
            ("hooks", "sub.git/../.git/hooks"),
            (".git/config", "config"),
            (".git", "git"),
            (".vscode", "vscode"),
            (".husky", "husky"),
            ("lib", "lib2"),
            ("deep", "deep2"),
            ("stores", "stores2"),
            ("stores/split", "split"),
            ("hooks", ".toolcrib"),
        ] {
            let arguments = json!({"from": from, "to": to, "overwrite": true});
            let found = code(ground.call("move_file", arguments).await);
            let missing = to.starts_with("sub.git");
            let expected = if missing {
                ErrorCode::FileNotFound
            } else {
                ErrorCode::PermissionDenied
            };
            assert_eq!(found, expected, "{from} to {to}");
        }
        assert_eq!(everything(&ground), before);
        assert_eq!(ground.asked().len(), 0);
    }
}

#[tokio::test]
async fn a_repository_is_not_put_together_piece_by_piece() {
    for ground in grounds() {
        // Git takes a directory with these three for a repository, and runs what its `config` says.
        let write = |path: &str| json!({"path": path, "content": "x", "createDirs": true});
        for (base, last, rest) in [
            ("a", "HEAD", ["objects/x", "refs/x"]),
            ("b", "objects/x", ["HEAD", "refs/x"]),
            ("c", "refs/x", ["HEAD", "objects/x"]),
        ] {
            for path in ["config"].into_iter().chain(rest) {
                let arguments = write(&format!("{base}/{path}"));
                ground.call("write_file", arguments).await.unwrap();
            }
            let found = ground.call("write_file", write(&format!("{base}/{last}")));
            assert_error(found.await, ErrorCode::PermissionDenied, "is protected");
        }
        ground.file("refs/x", "");
        let arguments = json!({"from": "refs", "to": "c/refs"});
        let found = ground.call("move_file", arguments).await;
        assert_error(found, ErrorCode::PermissionDenied, "is protected");
        for (path, exists) in [
            ("a/HEAD", false),
            ("b/objects", false),
            ("c/refs", false),
            ("refs", true),
        ] {
            assert_eq!(ground.path(path).exists(), exists, "{path}");
        }
    }
}

#[tokio::test]
async fn a_directory_with_a_repository_is_deleted_by_a_person_who_knows_of_the_repository() {
    for ground in with_repository() {
        ground.delete("lib").await.unwrap();
        assert!(!ground.path("lib").exists());
        let effect = ground.asked()[0].effect.clone();
        assert!(
            effect.contains("a git repository with its history"),
            "{effect}"
        );
    }
}

#[tokio::test]
async fn a_repository_is_found_in_a_directory_of_any_size() {
    let ground = &grounds_in_memory()[0];
    ground.names("large/a", 20_001);
    ground.file("large/b/.git/config", "");
    let arguments = json!({"from": "large", "to": "moved"});
    let found = ground.call("move_file", arguments).await;
    assert_error(found, ErrorCode::PermissionDenied, "is protected");
    assert!(ground.path("large/b/.git/config").exists());
}
