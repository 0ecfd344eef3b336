//! Entries of a tools directory that are not tools: they are reported, never waited for, and do not harm the others.

use std::time::{Duration, Instant};

use super::*;

fn make_fifo(path: &Path) {
    let status = std::process::Command::new("mkfifo").arg(path).status();
    assert!(status.unwrap().success());
}

#[tokio::test]
async fn input_that_is_not_a_plain_file_of_sane_size_is_reported_and_the_others_load() {
    let scene = Scene::new();
    scene.write(&format!("{USER}/fine.yaml"), &says("fine"));
    scene.write(&format!("{USER}/large.yaml"), &"# \n".repeat(4 << 20));
    let sparse = std::fs::File::create(scene.path(&format!("{USER}/sparse.yaml"))).unwrap();
    sparse.set_len(1 << 30).unwrap();
    make_fifo(&scene.path(&format!("{USER}/fifo.yaml")));
    std::fs::create_dir(scene.path(&format!("{USER}/directory.yaml"))).unwrap();
    let outside = scene.write("elsewhere/outside.yaml", &says("outside"));
    let link = |target: &Path, name: &str| {
        std::os::unix::fs::symlink(target, scene.path(&format!("{USER}/{name}"))).unwrap();
    };
    link(&outside, "absolute.yaml");
    link("../../../elsewhere/outside.yaml".as_ref(), "relative.yaml");
    link("/dev/zero".as_ref(), "device.yaml");
    link("nowhere".as_ref(), "dangling.yaml");
    link("fine.yaml".as_ref(), "within.yaml");
    scene.write(&format!("{USER}/other.YML"), &says("other"));
    scene.write(&format!("{USER}/notes.txt"), "nothing");
    scene.write(&format!("{USER}/.hidden.yaml"), "nothing");

    let start = Instant::now();
    let crib = scene.open();
    let reason = |name: &str| match standing(&crib, &format!("~/.toolcrib/tools/{name}.yaml")) {
        FileOutcome::Broken { reason } => reason,
        other => panic!("{name}: {other:?}"),
    };
    for (name, why) in [
        ("large", "256 KB"),
        ("sparse", "256 KB"),
        ("fifo", "not a regular file"),
        ("directory", "is a directory"),
        ("absolute", "leads out"),
        ("relative", "leads out"),
        ("device", "leads out"),
        ("dangling", "leads nowhere"),
    ] {
        assert!(reason(name).contains(why), "{name}: {}", reason(name));
        let (code, _) = refused(&crib, name).await;
        assert_eq!(code, ErrorCode::ToolUnavailable, "{name}");
    }
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(said(&crib, "fine").await, "fine");
    assert_eq!(said(&crib, "within").await, "fine");
    let warnings = crib.warnings().join("\n");
    assert!(warnings.contains("rename it to `other.yaml`"), "{warnings}");
    assert!(!warnings.contains("notes.txt") && !warnings.contains("hidden"));
    assert_eq!(refused(&crib, "other").await.0, ErrorCode::ToolNotFound);
}

#[tokio::test]
async fn a_directory_of_tools_that_leads_out_of_the_workspace_is_not_entered() {
    let scene = Scene::new();
    scene.write("elsewhere/tools/spy.yaml", &says("spy"));
    std::fs::create_dir(scene.path("work/.toolcrib")).unwrap();
    std::os::unix::fs::symlink(scene.path("elsewhere/tools"), scene.path(LOCAL)).unwrap();
    let crib = scene.open();
    assert_eq!(refused(&crib, "spy").await.0, ErrorCode::ToolNotFound);
    let warnings = crib.warnings().join("\n");
    assert!(warnings.contains("`.toolcrib/tools`"), "{warnings}");
}

#[tokio::test]
async fn one_bad_file_is_refused_with_its_problems_and_nothing_else() {
    let scene = Scene::new();
    scene.write(&format!("{USER}/good.yaml"), &says("good"));
    scene.write(
        &format!("{USER}/bad.yaml"),
        "description: Bad\nbash: echo bad\nsecuirty: {}\ntagz: [read]\n",
    );
    let crib = scene.open();
    assert_eq!(said(&crib, "good").await, "good");
    let (code, reason) = refused(&crib, "bad").await;
    assert_eq!(code, ErrorCode::ToolUnavailable);
    assert!(reason.contains("`~/.toolcrib/tools/bad.yaml`"), "{reason}");
    assert!(
        reason.contains("3:1") && reason.contains("(and 1 more)"),
        "{reason}"
    );
    assert!(
        !crib
            .registry()
            .list()
            .iter()
            .any(|spec| spec.name.as_str() == "bad")
    );
}

#[tokio::test]
async fn a_directory_with_more_to_read_than_anybody_wrote_is_read_in_part() {
    let scene = Scene::new();
    scene.write(&format!("{USER}/a.yaml"), &says("first"));
    for number in 0..257 {
        let name = format!("{USER}/b{number:03}.yaml");
        let file = scene.write(&name, &says("large"));
        let file = std::fs::File::options().write(true).open(file).unwrap();
        file.set_len(256 << 10).unwrap();
    }
    scene.write(&format!("{USER}/c.yaml"), &says("last"));
    let crib = scene.open();
    assert_eq!(said(&crib, "a").await, "first");
    let (code, reason) = refused(&crib, "c").await;
    assert_eq!(code, ErrorCode::ToolUnavailable);
    assert!(reason.contains("64 MB together"), "{reason}");
}

#[test]
fn warnings_are_no_more_than_a_person_reads() {
    let scene = Scene::new();
    for number in 0..100 {
        scene.write(&format!("{USER}/t{number}.yaml"), "bash: [");
    }
    let crib = scene.open();
    assert_eq!(crib.tool_files().problems().len(), 100);
    let warnings = crib.warnings();
    assert_eq!(warnings.len(), 20);
    assert!(warnings[19].contains("81 more"), "{}", warnings[19]);
}

#[tokio::test]
async fn a_yml_file_is_a_tool_unless_the_same_name_in_yaml_is_beside_it() {
    let scene = Scene::new();
    scene.write(&format!("{USER}/short.yml"), &says("short"));
    scene.write(&format!("{USER}/both.yml"), &says("yml"));
    scene.write(&format!("{USER}/both.yaml"), &says("yaml"));
    let crib = scene.open();
    assert_eq!(said(&crib, "short").await, "short");
    assert_eq!(said(&crib, "both").await, "yaml");
    let problems = crib.tool_files().problems();
    assert_eq!(
        problems,
        [
            "`~/.toolcrib/tools/both.yml` is not loaded: `both.yaml` is beside it; remove or rename one of them"
        ]
    );
    std::fs::remove_file(scene.path(&format!("{USER}/both.yaml"))).unwrap();
    assert_eq!(said(&crib, "both").await, "yml");
}
