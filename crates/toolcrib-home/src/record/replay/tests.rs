use toolcrib_core::record::replay::{Claim, Claimed, DEFAULT_KEEP, Replay};

use super::*;
use crate::model::JsonObject;
use crate::model::ids::CallId;
use crate::model::outcome::{Timing, ToolOutput};

fn outcome(id: &str, value: &str) -> Outcome {
    let now = jiff::Timestamp::now();
    let zero = Duration::ZERO;
    Outcome {
        call_id: CallId::parse(id).unwrap(),
        called: None,
        tool: "t".to_owned(),
        origin: None,
        parameters: JsonObject::new(),
        result: Ok(ToolOutput::value(value)),
        timing: Timing {
            started_at: now,
            ended_at: now,
            queue: zero,
            execution: zero,
            total: zero,
        },
        approval: None,
        sandbox: None,
        truncated: false,
        held: Vec::new(),
        warnings: Vec::new(),
    }
}

fn by(caller: Caller, digest: &str) -> Claimant {
    Claimant {
        digest: digest.to_owned(),
        caller,
        live: None,
    }
}

async fn fresh(replay: &Replay, id: &str, digest: &str) -> Claimed {
    match replay
        .claim(&CallId::parse(id).unwrap(), &by(Caller::Library, digest))
        .await
        .unwrap()
    {
        Claim::Fresh(claimed) => claimed,
        Claim::Stored(outcome) => panic!("stored: {outcome:?}"),
    }
}

async fn stored(replay: &Replay, id: &str, digest: &str) -> Outcome {
    match replay
        .claim(&CallId::parse(id).unwrap(), &by(Caller::Library, digest))
        .await
        .unwrap()
    {
        Claim::Stored(outcome) => *outcome,
        Claim::Fresh(_) => panic!("fresh"),
    }
}

async fn refused(replay: &Replay, id: &str, digest: &str) -> ErrorCode {
    match replay
        .claim(&CallId::parse(id).unwrap(), &by(Caller::Library, digest))
        .await
    {
        Err(error) => error.code(),
        Ok(_) => panic!("not refused"),
    }
}

/// Two stores on one directory stand for two processes: neither sees the other's memory.
fn pair(dir: &tempfile::TempDir) -> (Replay, Replay) {
    let path = dir.path().join("ids");
    (
        in_directory(path.clone(), DEFAULT_KEEP),
        in_directory(path, DEFAULT_KEEP),
    )
}

#[tokio::test]
async fn the_same_call_gets_the_stored_outcome_and_another_is_a_conflict() {
    let replay = Replay::in_memory();
    fresh(&replay, "a", "d1")
        .await
        .finish(&outcome("a", "x"))
        .await;
    assert_eq!(stored(&replay, "a", "d1").await.value().unwrap(), "x");
    assert_eq!(refused(&replay, "a", "d2").await, ErrorCode::Conflict);
}

#[tokio::test]
async fn who_comes_while_the_call_runs_waits_for_it() {
    let replay = Arc::new(Replay::in_memory());
    let claimed = fresh(&replay, "a", "d").await;
    let joiner = tokio::spawn({
        let replay = Arc::clone(&replay);
        async move { stored(&replay, "a", "d").await }
    });
    tokio::task::yield_now().await;
    claimed.finish(&outcome("a", "x")).await;
    assert_eq!(joiner.await.unwrap().value().unwrap(), "x");
}

#[tokio::test]
async fn a_call_that_was_dropped_is_lost_and_not_run_again() {
    let replay = Replay::in_memory();
    drop(fresh(&replay, "a", "d").await);
    assert_eq!(refused(&replay, "a", "d").await, ErrorCode::ExecutionError);
}

#[tokio::test]
async fn another_process_sees_the_outcome_the_conflict_and_the_loss() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = pair(&dir);
    fresh(&one, "a", "d").await.finish(&outcome("a", "x")).await;
    assert_eq!(stored(&two, "a", "d").await.value().unwrap(), "x");
    assert_eq!(refused(&two, "a", "other").await, ErrorCode::Conflict);
    drop(fresh(&one, "b", "d").await);
    assert_eq!(refused(&two, "b", "d").await, ErrorCode::ExecutionError);
}

#[tokio::test]
async fn another_process_waits_for_a_running_call() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = pair(&dir);
    let claimed = fresh(&one, "a", "d").await;
    let id = CallId::parse("a").unwrap();
    // It waits, and goes on waiting, until the call is over.
    let claimant = by(Caller::Library, "d");
    let mut joiner = Box::pin(two.claim(&id, &claimant));
    let soon = Duration::from_millis(50);
    assert!(tokio::time::timeout(soon, &mut joiner).await.is_err());
    claimed.finish(&outcome("a", "x")).await;
    let Ok(Claim::Stored(outcome)) = joiner.await else {
        panic!("not stored")
    };
    assert_eq!(outcome.value().unwrap(), "x");
}

#[tokio::test]
async fn a_joiner_that_gives_up_leaves_the_call_to_others() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = pair(&dir);
    let claimed = fresh(&one, "a", "d").await;
    let id = CallId::parse("a").unwrap();
    // Until it has seen that another process runs the call.
    let impatient = tokio::time::timeout(
        Duration::from_millis(50),
        two.claim(&id, &by(Caller::Library, "d")),
    )
    .await;
    assert!(impatient.is_err());
    claimed.finish(&outcome("a", "x")).await;
    assert_eq!(stored(&two, "a", "d").await.value().unwrap(), "x");
}

#[tokio::test]
async fn a_call_that_was_refused_may_be_made_again_here_and_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = pair(&dir);
    fresh(&one, "a", "d").await.give_up();
    fresh(&two, "a", "other").await.give_up();
    let claimed = fresh(&one, "a", "d").await;
    let joiner = tokio::spawn(async move { fresh(&two, "a", "d").await.give_up() });
    tokio::task::yield_now().await;
    claimed.give_up();
    joiner.await.unwrap();
}

#[tokio::test]
async fn a_call_that_runs_longer_than_outcomes_are_kept_is_not_run_twice() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ids");
    let one = in_directory(path.clone(), DEFAULT_KEEP);
    let claimed = fresh(&one, "a", "d").await;
    age_claims(&path);
    let two = in_directory(path, DEFAULT_KEEP);
    let id = CallId::parse("a").unwrap();
    assert!(
        tokio::time::timeout(
            Duration::from_millis(50),
            two.claim(&id, &by(Caller::Library, "d"))
        )
        .await
        .is_err()
    );
    claimed.finish(&outcome("a", "x")).await;
}

/// Makes every claim look older than it is kept.
fn age_claims(path: &Path) {
    let yesterday = SystemTime::now() - DEFAULT_KEEP - Duration::from_secs(60);
    for entry in fs::read_dir(path).unwrap().flatten() {
        if entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            File::options()
                .write(true)
                .open(entry.path())
                .unwrap()
                .set_modified(yesterday)
                .unwrap();
        }
    }
}

#[tokio::test]
async fn old_outcomes_are_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = pair(&dir);
    fresh(&two, "other", "d")
        .await
        .finish(&outcome("other", "x"))
        .await;
    fresh(&one, "a", "d").await.finish(&outcome("a", "x")).await;
    age_claims(&dir.path().join("ids"));
    // By the claim itself: the other store has swept already.
    fresh(&two, "a", "another").await.give_up();
    // By the sweep of a store that is new.
    fresh(&pair(&dir).0, "b", "d").await.give_up();
    let left = fs::read_dir(dir.path().join("ids")).unwrap().flatten();
    assert_eq!(
        left.filter(|entry| entry.path().extension().is_some())
            .count(),
        0
    );
}

#[tokio::test]
async fn a_claim_that_cannot_be_written_is_a_storage_error_and_can_be_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ids");
    fs::write(&path, "a file where the directory should be").unwrap();
    let replay = in_directory(path.clone(), DEFAULT_KEEP);
    assert_eq!(refused(&replay, "a", "d").await, ErrorCode::StorageError);
    fs::remove_file(&path).unwrap();
    drop(fresh(&replay, "a", "d").await);
}

#[tokio::test]
async fn what_is_on_disk_is_not_kept_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let (one, _) = pair(&dir);
    fresh(&one, "a", "d").await.finish(&outcome("a", "x")).await;
    assert!(!one.knows(&CallId::parse("a").unwrap()));
    assert_eq!(stored(&one, "a", "d").await.value().unwrap(), "x");
}

#[tokio::test]
async fn a_process_that_lives_long_removes_old_claims_again() {
    let dir = tempfile::tempdir().unwrap();
    let keep = Duration::from_millis(20);
    let replay = in_directory(dir.path().to_owned(), keep);
    let claims = || {
        let files = fs::read_dir(dir.path()).unwrap().flatten();
        files
            .filter(|file| file.path().extension().is_some_and(|end| end == "json"))
            .count()
    };
    for id in ["a", "b", "c"] {
        fresh(&replay, id, "d")
            .await
            .finish(&outcome(id, "x"))
            .await;
    }
    let mut number = 0;
    let begin = Instant::now();
    // A claim now and then: the old ones are gone some time.
    loop {
        let id = format!("later-{number}");
        number += 1;
        fresh(&replay, &id, "d")
            .await
            .finish(&outcome(&id, "x"))
            .await;
        if claims() < number {
            return;
        }
        assert!(
            begin.elapsed() < Duration::from_secs(10),
            "nothing is removed"
        );
        tokio::time::sleep(keep).await;
    }
}

/// Long outcomes give way, the oldest first; none of their calls runs again, and short ones and what runs stay as they are.
#[tokio::test]
async fn outcomes_have_room_for_so_much_together_and_the_calls_of_those_let_go_are_not_run_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ids");
    let open = || {
        let disk = DiskReplay::new(path.clone(), DEFAULT_KEEP).with_room(500_000);
        Replay::shared(disk, DEFAULT_KEEP)
    };
    let replay = open();
    let running = fresh(&replay, "running", "d").await;
    let short = fresh(&replay, "short", "d").await;
    short.finish(&outcome("short", "few words")).await;
    let long = "x".repeat(200_000);
    for n in 0..6 {
        let id = format!("long-{n}");
        let claimed = fresh(&replay, &id, "d").await;
        claimed.finish(&outcome(&id, &long)).await;
    }
    // The next claim, here or in another process, finds that it is too much.
    drop(fresh(&open(), "next", "d").await);
    let files = fs::read_dir(&path).unwrap().flatten();
    let total: u64 = files.map(|file| file.metadata().unwrap().len()).sum();
    assert!(total <= 500_000, "{total}");
    let value = |outcome: Outcome| outcome.result.unwrap().value;
    assert_eq!(value(stored(&open(), "long-5", "d").await), long.as_str());
    assert_eq!(value(stored(&open(), "short", "d").await), "few words");
    assert_eq!(
        refused(&open(), "long-0", "d").await,
        ErrorCode::ExecutionError
    );
    assert_eq!(refused(&open(), "long-0", "e").await, ErrorCode::Conflict);
    running.finish(&outcome("running", "done")).await;
    assert_eq!(value(stored(&open(), "running", "d").await), "done");
}
