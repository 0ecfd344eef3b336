//! Waiting for records to be written, which is less than flushing: by many at once, and never for long.

use std::sync::Arc;
use std::time::Duration;

use toolcrib::record::Recorder as _;

use super::{Place, record};

#[tokio::test]
async fn what_was_recorded_before_can_be_read_once_it_is_written() {
    let place = Place::new();
    let log = place.log();
    log.written().await;
    assert!(!place.path.exists(), "nothing was recorded");
    for n in 0..50 {
        log.record(record(&format!("c-{n}")));
        log.written().await;
        assert_eq!(place.ids().0[0], format!("c-{n}"));
    }
    // Nothing new: no one is called.
    log.written().await;
    assert_eq!(place.ids().0.len(), 50);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_wait_and_every_one_finds_its_own() {
    let place = Arc::new(Place::new());
    let log = Arc::new(place.log());
    let tasks: Vec<_> = (0..64)
        .map(|task| {
            let (log, place) = (Arc::clone(&log), Arc::clone(&place));
            tokio::spawn(async move {
                for n in 0..20 {
                    log.record(record(&format!("c-{task}-{n}")));
                    log.written().await;
                }
                let ids = place.ids().0;
                assert!((0..20).all(|n| ids.contains(&format!("c-{task}-{n}"))));
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(log.health().written, 64 * 20);
}

#[tokio::test]
async fn who_waits_is_woken_when_nothing_can_be_written_and_health_says_so() {
    let place = Place::new();
    // A file where the directory should be.
    std::fs::write(&place.path, "").unwrap();
    let log = place.log();
    log.record(record("lost"));
    let waiting = log.written();
    tokio::time::timeout(Duration::from_secs(10), waiting)
        .await
        .expect("no one waits for what cannot be");
    let health = log.health();
    assert_eq!((health.written, health.dropped), (0, 1));
    assert!(health.last_error.is_some());
}

#[tokio::test]
async fn giving_up_waiting_costs_no_one_else_anything() {
    let place = Place::new();
    let log = place.log();
    log.record(record("a"));
    drop(log.written());
    log.record(record("b"));
    log.written().await;
    assert_eq!(place.ids().0, ["b", "a"]);
}
