//! Tools that may run: those that the user trusted, by their bytes, and those that only the user can have put there, by their place.

use std::os::unix::fs::chown;

use toolcrib::source::Trust;

use super::*;

#[tokio::test]
async fn a_tool_of_the_workspace_runs_only_with_the_bytes_that_were_trusted() {
    let scene = Scene::new();
    scene.write(&format!("{LOCAL}/greet.yaml"), &says("hello"));
    let crib = scene.open();
    let outcome = call(&crib, "greet").await;
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::ToolDisabled);
    assert_eq!(error.details().unwrap()["reason"], "untrusted");
    assert!(error.message().contains("`toolcrib trust`"), "{error}");
    assert!(
        !crib
            .registry()
            .list()
            .iter()
            .any(|spec| spec.name.as_str() == "greet")
    );

    let review = crib.review();
    assert_eq!(review.open().count(), 1);
    assert_eq!(review.files[0].diff, None);
    crib.trust(&review).unwrap();
    assert_eq!(said(&crib, "greet").await, "hello");
    assert_eq!(said(&scene.open(), "greet").await, "hello", "it lasts");

    scene.write(&format!("{LOCAL}/greet.yaml"), &says("evil"));
    scene.write(&format!("{LOCAL}/new.yaml"), &says("new"));
    assert_eq!(refused(&crib, "greet").await.1, "untrusted");
    assert_eq!(refused(&crib, "new").await.1, "untrusted");
    let review = crib.review();
    let diff = review.files[0].diff.as_deref().unwrap();
    assert!(
        diff.contains("-bash: echo hello\n") && diff.contains("+bash: echo evil\n"),
        "{diff}"
    );
    assert!(
        diff.starts_with("--- .toolcrib/tools/greet.yaml\n"),
        "{diff}"
    );

    // Back to what was trusted: nothing new has to be said.
    scene.write(&format!("{LOCAL}/greet.yaml"), &says("hello"));
    assert_eq!(said(&crib, "greet").await, "hello");
}

#[tokio::test]
async fn what_is_pinned_is_what_was_shown() {
    let scene = Scene::new();
    scene.write(&format!("{LOCAL}/greet.yaml"), &says("shown"));
    let crib = scene.open();
    let review = crib.review();
    scene.write(&format!("{LOCAL}/greet.yaml"), &says("swapped"));
    crib.trust(&review).unwrap();
    assert_eq!(refused(&crib, "greet").await.1, "untrusted");
}

#[tokio::test]
async fn a_file_that_is_gone_is_forgotten_and_a_broken_one_is_not_trusted() {
    let scene = Scene::new();
    let path = scene.write(&format!("{LOCAL}/greet.yaml"), &says("hello"));
    scene.write(&format!("{LOCAL}/broken.yaml"), "bash: [");
    let crib = scene.trusted();
    std::fs::remove_file(&path).unwrap();
    let review = crib.review();
    assert_eq!(review.gone, [".toolcrib/tools/greet.yaml"]);
    crib.trust(&review).unwrap();
    assert!(crib.review().is_settled());
    scene.write(&format!("{LOCAL}/greet.yaml"), &says("hello"));
    assert_eq!(refused(&crib, "greet").await.1, "untrusted");
    assert_eq!(refused(&crib, "broken").await.0, ErrorCode::ToolUnavailable);
}

#[tokio::test]
async fn trust_is_of_one_directory() {
    let scene = Scene::new();
    scene.write(&format!("{LOCAL}/greet.yaml"), &says("hello"));
    scene.trusted();
    scene.write("other/.toolcrib/tools/greet.yaml", &says("hello"));
    let other = scene
        .options()
        .workspace(scene.path("other"))
        .open()
        .unwrap();
    assert_eq!(refused(&other, "greet").await.1, "untrusted");
}

#[tokio::test]
async fn what_the_user_writes_with_toolcrib_is_pinned_at_once() {
    let scene = Scene::new();
    let text = says("hello");
    let path = scene.write(&format!("{LOCAL}/greet.yaml"), &text);
    let crib = scene.open();
    crib.pin(&path, text.as_bytes()).unwrap();
    assert_eq!(said(&crib, "greet").await, "hello");
    let elsewhere = scene.write("work/greet.yaml", &text);
    let error = crib.pin(&elsewhere, text.as_bytes()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidPath);
}

#[tokio::test]
async fn damaged_pins_trust_nothing_and_are_said() {
    let scene = Scene::new();
    scene.write(&format!("{LOCAL}/greet.yaml"), &says("hello"));
    scene.trusted();
    let trust = scene.path("home/trust");
    let pins = std::fs::read_dir(&trust).unwrap().flatten();
    let pins = pins.map(|entry| entry.path());
    let pins = pins.filter(|path| path.extension().is_some());
    let pins: Vec<PathBuf> = pins.collect();
    std::fs::write(&pins[0], "{").unwrap();
    let crib = scene.open();
    assert_eq!(refused(&crib, "greet").await.1, "untrusted");
    let warnings = crib.warnings().join("\n");
    assert!(warnings.contains("cannot be read"), "{warnings}");
    crib.trust(&crib.review()).unwrap();
    assert_eq!(said(&crib, "greet").await, "hello");
}

#[tokio::test]
async fn files_and_directories_that_others_can_change_are_not_trusted_by_their_place() {
    let scene = Scene::new();
    let path = scene.write(&format!("{USER}/greet.yaml"), &says("hello"));
    let crib = scene.open();
    assert_eq!(said(&crib, "greet").await, "hello");
    let unsafe_now = |crib: &Crib| {
        let files = crib.tool_files();
        match &files.files[0].trust {
            Trust::Unsafe(why) => why.clone(),
            other => panic!("{other:?}"),
        }
    };
    chmod(&path, 0o666);
    assert_eq!(
        refused(&crib, "greet").await,
        (ErrorCode::ToolDisabled, "untrusted".to_owned())
    );
    assert!(unsafe_now(&crib).contains("`chmod go-w ~/.toolcrib/tools/greet.yaml`"));
    assert!(crib.warnings().join("\n").contains("chmod go-w"));
    chmod(&path, 0o644);
    assert_eq!(said(&crib, "greet").await, "hello");
    for directory in [USER, "user/.toolcrib", "user"] {
        chmod(&scene.path(directory), 0o777);
        assert_eq!(refused(&crib, "greet").await.1, "untrusted", "{directory}");
        chmod(&scene.path(directory), 0o755);
        assert_eq!(said(&crib, "greet").await, "hello", "{directory}");
    }
    // A link to a directory that others can replace is no better.
    std::fs::create_dir(scene.path("shared")).unwrap();
    std::fs::rename(scene.path(USER), scene.path("shared/tools")).unwrap();
    std::os::unix::fs::symlink(scene.path("shared/tools"), scene.path(USER)).unwrap();
    assert_eq!(said(&crib, "greet").await, "hello");
    chmod(&scene.path("shared"), 0o777);
    assert_eq!(refused(&crib, "greet").await.1, "untrusted");
    chmod(&scene.path("shared"), 0o755);
    if chown(&path, Some(12_345), None).is_ok() {
        assert_eq!(refused(&crib, "greet").await.1, "untrusted");
        assert!(unsafe_now(&crib).contains("belongs to another user"));
    } else {
        eprintln!("NOT TESTED: a file of another user; that takes root");
    }
}

#[tokio::test]
async fn comments_and_layout_leave_a_tool_trusted_and_its_meaning_does_not() {
    let scene = Scene::new();
    let path = format!("{LOCAL}/greet.yaml");
    scene.write(&path, &says("hello"));
    let crib = scene.trusted();
    let commented = format!(
        "# mine\n\n{}",
        says("hello").replace("[read]", "[ read ] # only")
    );
    scene.write(&path, &commented);
    assert_eq!(said(&crib, "greet").await, "hello");
    assert!(crib.review().is_settled());
    scene.write(&path, &commented.replace("echo hello", "echo evil"));
    assert_eq!(refused(&crib, "greet").await.1, "untrusted");
}

#[tokio::test]
async fn a_pin_of_an_older_version_holds_for_its_bytes() {
    let scene = Scene::new();
    let path = format!("{LOCAL}/greet.yaml");
    scene.write(&path, &says("hello"));
    scene.trusted();
    let pins = std::fs::read_dir(scene.path("home/trust")).unwrap();
    let file = pins
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "json"))
        .unwrap();
    let mut json: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    for pin in json["files"].as_object_mut().unwrap().values_mut() {
        assert!(pin.as_object_mut().unwrap().remove("meaning").is_some());
    }
    std::fs::write(&file, json.to_string()).unwrap();
    let crib = scene.open();
    assert_eq!(said(&crib, "greet").await, "hello");
    scene.write(&path, &format!("# mine\n{}", says("hello")));
    assert_eq!(refused(&crib, "greet").await.1, "untrusted");
}
