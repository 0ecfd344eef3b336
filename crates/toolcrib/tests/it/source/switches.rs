//! Switching tools off: for good, by every process, and by the settings on top.

use super::*;

#[tokio::test]
async fn a_tool_that_is_switched_off_stays_off_in_every_process_until_it_is_switched_on() {
    let scene = Scene::new();
    scene.write(&format!("{USER}/greet.yaml"), &says("hello"));
    let (crib, other) = (scene.open(), scene.open());
    crib.set_enabled(&["greet", "read_file"], false).unwrap();
    for crib in [&crib, &other, &scene.open()] {
        for tool in ["greet", "read_file"] {
            let (code, reason) = refused(crib, tool).await;
            assert_eq!(code, ErrorCode::ToolDisabled);
            assert_eq!(reason, "the tool is switched off", "{tool}");
        }
    }
    // The file may come and go meanwhile.
    scene.write(&format!("{USER}/greet.yaml"), &says("again"));
    assert_eq!(refused(&crib, "greet").await.0, ErrorCode::ToolDisabled);
    other.set_enabled(&["greet"], true).unwrap();
    assert_eq!(said(&crib, "greet").await, "again");
    assert_eq!(refused(&crib, "read_file").await.0, ErrorCode::ToolDisabled);
}

#[tokio::test]
async fn a_local_tool_is_switched_off_in_its_workspace_only() {
    let scene = Scene::new();
    scene.write(&format!("{LOCAL}/greet.yaml"), &says("here"));
    scene.write("other/.toolcrib/tools/greet.yaml", &says("there"));
    let crib = scene.trusted();
    let other = scene
        .options()
        .workspace(scene.path("other"))
        .open()
        .unwrap();
    other.trust(&other.review()).unwrap();
    crib.set_enabled(&["greet"], false).unwrap();
    assert_eq!(refused(&crib, "greet").await.0, ErrorCode::ToolDisabled);
    assert_eq!(said(&other, "greet").await, "there");
}

#[tokio::test]
async fn what_the_settings_switch_off_only_the_settings_switch_on() {
    let scene = Scene::new();
    scene.write(
        "home/config.toml",
        "disabledTools = [\"greet\", \"nothing\"]\n",
    );
    scene.write(&format!("{USER}/greet.yaml"), &says("hello"));
    let crib = scene.open();
    crib.set_enabled(&["greet"], true).unwrap();
    crib.registry().set_enabled("greet", true).unwrap();
    let (code, reason) = refused(&crib, "greet").await;
    assert_eq!(code, ErrorCode::ToolDisabled);
    assert_eq!(reason, "the setting `disabledTools` names it");
    assert!(
        crib.warnings()
            .join("\n")
            .contains("tool not found: `nothing`")
    );
}

#[tokio::test]
async fn with_damaged_flags_nothing_runs_that_may_have_been_switched_off() {
    let scene = Scene::new();
    scene.write("home/state/flags.json", "{");
    scene.write(&format!("{USER}/greet.yaml"), &says("hello"));
    let crib = scene.open();
    assert_eq!(refused(&crib, "greet").await.0, ErrorCode::ToolDisabled);
    assert_eq!(refused(&crib, "read_file").await.0, ErrorCode::ToolDisabled);
    assert!(crib.warnings().join("\n").contains("state/flags.json"));
    std::fs::remove_file(scene.path("home/state/flags.json")).unwrap();
    assert_eq!(said(&crib, "greet").await, "hello");
}

#[test]
fn a_tool_that_is_not_there_switches_nothing() {
    let scene = Scene::new();
    let crib = scene.open();
    let error = crib
        .set_enabled(&["read_file", "raed_file"], false)
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::ToolNotFound);
    assert!(!scene.path("home/state").exists());
}
