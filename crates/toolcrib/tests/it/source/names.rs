//! Which tool has a name when several want it.

use super::*;

#[tokio::test]
async fn the_nearer_scope_has_the_name_and_the_others_are_reached_by_bundle() {
    let scene = Scene::new();
    scene.write(&format!("{LOCAL}/find_files.yaml"), &says("local"));
    scene.write("work/.cycod/tools/find_files.yaml", &says("cycod"));
    scene.write(&format!("{USER}/find_files.yaml"), &says("user"));
    scene.write(&format!("{GLOBAL}/find_files.yaml"), &says("global"));
    scene.write("etc/cycod/tools/only_there.yaml", &says("there"));
    let crib = scene.trusted();
    for (reference, word) in [
        ("find_files", "local"),
        ("find-files", "local"),
        ("local/find-files", "local"),
        ("user/find-files", "user"),
        ("user/find-files@v1", "user"),
        ("global/find-files", "global"),
        ("only_there", "there"),
    ] {
        assert_eq!(said(&crib, reference).await, word, "{reference}");
    }
    let shadowed = |shown: &str| match standing(&crib, shown) {
        FileOutcome::Shadowed { by, .. } => by,
        other => panic!("{shown}: {other:?}"),
    };
    assert_eq!(
        shadowed(".cycod/tools/find_files.yaml"),
        "local/find-files@v1"
    );
    assert_eq!(
        shadowed("~/.toolcrib/tools/find_files.yaml"),
        "local/find-files@v1"
    );
    assert_eq!(
        shadowed("toolcrib/tools/find_files.yaml"),
        "local/find-files@v1"
    );
    let warnings = crib.warnings();
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    let in_list = crib.registry().list();
    let named = in_list
        .iter()
        .filter(|spec| spec.name.as_str() == "find_files");
    assert_eq!(named.count(), 1, "a name is offered once");
}

#[tokio::test]
async fn built_in_tools_cannot_be_shadowed_by_name_slug_or_alias() {
    let scene = Scene::new();
    for name in [
        "read_file",
        "read-file",
        "list_files",
        "list-files",
        "READ_FILE",
        "shell",
    ] {
        scene.write(&format!("{USER}/{name}.yaml"), &says("mine"));
    }
    let crib = scene.open();
    for name in ["read_file", "read-file", "list_files", "shell"] {
        let entry = crib.registry().find(name).unwrap();
        assert_eq!(entry.spec().bundle.as_str(), "core", "{name}");
    }
    for name in [
        "read_file",
        "read-file",
        "list_files",
        "list-files",
        "READ_FILE",
        "shell",
    ] {
        let shown = format!("~/.toolcrib/tools/{name}.yaml");
        let FileOutcome::Refused { reason } = standing(&crib, &shown) else {
            panic!("{name}: {:?}", standing(&crib, &shown));
        };
        assert!(reason.contains("is the built-in tool"), "{reason}");
    }
    assert_eq!(crib.warnings().len(), 6);
    assert!(crib.registry().find("user/read-file").is_err());
}

#[tokio::test]
async fn a_tool_of_the_program_takes_the_name_and_gives_it_back() {
    let scene = Scene::new();
    scene.write(&format!("{USER}/greet.yaml"), &says("file"));
    let crib = scene.open();
    assert_eq!(said(&crib, "greet").await, "file");
    let own = toolcrib::FnTool::new("greet", "Greets", |(), _cx| async { Ok("program") }).unwrap();
    crib.registry().register(own).unwrap();
    let outcome = call(&crib, "greet").await;
    assert_eq!(outcome.value().unwrap(), "program");
    assert_eq!(said(&crib, "user/greet").await, "file");
    assert!(matches!(
        standing(&crib, "~/.toolcrib/tools/greet.yaml"),
        FileOutcome::Shadowed { .. }
    ));
    crib.registry().unregister("greet").unwrap();
    assert_eq!(said(&crib, "greet").await, "file");
    assert_eq!(
        standing(&crib, "~/.toolcrib/tools/greet.yaml"),
        FileOutcome::Loaded
    );
}

#[tokio::test]
async fn a_broken_or_untrusted_file_keeps_its_name_from_lower_scopes() {
    let scene = Scene::new();
    scene.write(&format!("{USER}/deploy.yaml"), &says("mine"));
    scene.write(&format!("{USER}/build.yaml"), &says("mine"));
    scene.write(&format!("{LOCAL}/deploy.yaml"), &says("theirs"));
    scene.write(&format!("{LOCAL}/build.yaml"), "name: build\nbash: [");
    let crib = scene.open();
    assert_eq!(refused(&crib, "deploy").await.1, "untrusted");
    assert_eq!(refused(&crib, "build").await.0, ErrorCode::ToolUnavailable);
    assert_eq!(said(&crib, "user/deploy").await, "mine");
    assert_eq!(said(&crib, "user/build").await, "mine");
}

#[tokio::test]
async fn a_workspace_that_is_the_home_directory_has_the_users_tools_only() {
    let scene = Scene::new();
    scene.write(&format!("{USER}/mine.yaml"), &says("mine"));
    let crib = scene
        .options()
        .workspace(scene.path("user"))
        .open()
        .unwrap();
    assert_eq!(said(&crib, "mine").await, "mine");
    assert_eq!(crib.tool_files().files.len(), 1);
    assert!(crib.review().files.is_empty());
}
