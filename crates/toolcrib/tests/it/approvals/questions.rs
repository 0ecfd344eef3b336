//! One question at a time, without a call: files, answers, time.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib::approval::queue::Look;
use toolcrib::approval::{AnswerError, ApprovalResponse, NoAnswer, Status};
use toolcrib::{ErrorCode, ToolError};

use super::{Place, all, no_check, request, statuses};
use crate::files::nobody::ran_again_as_nobody;

#[test]
fn a_question_is_answered_once_and_its_approval_used_once() {
    let place = Place::new();
    let ticket = place.queue().put(request("a")).unwrap();
    assert_eq!(ticket.look(), Ok(Look::Pending));

    let other = place.queue();
    let [shown] = &all(&other)[..] else {
        panic!("one question");
    };
    assert_eq!((shown.status, shown.waiting), (Status::Pending, true));
    assert_eq!(shown.request.id, ticket.id());
    let approve = || ApprovalResponse::approve("Ada").because("go on");
    let answered = other
        .answer(ticket.id(), Some("digest of a"), approve(), no_check)
        .unwrap();
    assert_eq!(answered.status, Status::Approved);
    assert_eq!(answered.answer.unwrap().by, "Ada");
    assert_eq!(ticket.look(), Ok(Look::Answered(Box::new(approve()))));

    let second = ApprovalResponse::deny("Bob", "no");
    let error = other
        .answer(ticket.id(), None, second, no_check)
        .unwrap_err();
    assert_eq!(error.http_status(), 409);
    assert_eq!(error.to_string(), "`Ada` approved this already: go on");
    assert_eq!(ToolError::from(error).code(), ErrorCode::Conflict);

    assert_eq!(place.queue().claim_now(ticket.id()), Ok(()));
    assert_eq!(other.claim_now(ticket.id()), Err(NoAnswer::Taken));
    drop(ticket);
    let [shown] = &all(&other)[..] else {
        panic!("one question");
    };
    assert_eq!((shown.status, shown.waiting), (Status::Used, false));
}

#[test]
fn what_was_not_approved_cannot_be_used() {
    let place = Place::new();
    let queue = place.queue();
    let ticket = queue.put(request("a")).unwrap();
    assert_eq!(queue.claim_now(ticket.id()), Err(NoAnswer::Expired));
    let deny = ApprovalResponse::deny("Ada", "no");
    queue.answer(ticket.id(), None, deny, no_check).unwrap();
    assert_eq!(queue.claim_now(ticket.id()), Err(NoAnswer::Expired));
    for nonsense in ["", "../x", "01940000-0000-7000-8000-000000000000"] {
        assert_eq!(queue.claim_now(nonsense), Err(NoAnswer::Expired));
    }
}

#[test]
fn an_answer_that_cannot_be_used_leaves_the_question_open() {
    let place = Place::new();
    let queue = place.queue();
    let ticket = queue.put(request("a")).unwrap();
    let approve = || ApprovalResponse::approve("Ada");
    let wrong = queue.answer(ticket.id(), Some("another"), approve(), no_check);
    let error = wrong.unwrap_err();
    assert!(matches!(error, AnswerError::WrongDigest), "{error}");
    assert_eq!(error.http_status(), 409);

    let edited = ApprovalResponse::approve_with("Ada", Default::default());
    let refuse = |_: &_, _: &_| {
        Err(ToolError::new(
            ErrorCode::InvalidArguments,
            "`/what` is required",
        ))
    };
    let error = queue.answer(ticket.id(), None, edited, refuse).unwrap_err();
    assert_eq!(
        (error.http_status(), error.to_string()),
        (422, String::from("`/what` is required"))
    );
    assert_eq!(ToolError::from(error).code(), ErrorCode::InvalidArguments);
    assert_eq!(ticket.look(), Ok(Look::Pending));

    // Neither edited nor granted: nothing to check.
    queue.answer(ticket.id(), None, approve(), refuse).unwrap();
}

#[test]
fn of_a_hundred_answers_and_a_hundred_uses_one_counts() {
    let place = Place::new();
    let ticket = place.queue().put(request("a")).unwrap();
    let id = ticket.id();
    let (won, told) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let used = AtomicUsize::new(0);
    let winner = Mutex::new(String::new());
    std::thread::scope(|scope| {
        for i in 0..100 {
            let (place, won, told, used, winner) = (&place, &won, &told, &used, &winner);
            scope.spawn(move || {
                let queue = place.queue();
                let by = format!("person {i}");
                match queue.answer(id, None, ApprovalResponse::approve(&by), no_check) {
                    Ok(_) => {
                        *winner.lock().unwrap() = by;
                        won.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(AnswerError::Decided { .. }) => {
                        told.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(error) => panic!("{error}"),
                }
                match queue.claim_now(id) {
                    Ok(()) => {
                        used.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(none) => assert_eq!(none, NoAnswer::Taken),
                }
            });
        }
    });
    assert_eq!((won.into_inner(), told.into_inner()), (1, 99));
    assert_eq!(used.into_inner(), 1);
    let shown = place.queue().show(id).unwrap();
    assert_eq!(shown.answer.unwrap().by, *winner.lock().unwrap());
}

#[test]
fn a_question_lapses_by_a_clock_that_does_not_jump() {
    let place = Place::new();
    let queue = place.queue();
    let ticket = queue.put(request("a")).unwrap();
    let shown = &all(&queue)[0];
    assert_eq!(shown.remaining_ms, Some(300_000));
    // What the wall clock says is for people: nothing in the file but this depends on it.
    let shown_for = shown.request.expires_at.unwrap() - shown.request.created_at;
    assert_eq!(shown_for.get_seconds() + shown_for.get_minutes() * 60, 300);

    place.pass(Duration::from_millis(299_999));
    assert_eq!(ticket.look(), Ok(Look::Pending));
    place.pass(Duration::from_millis(1));
    assert_eq!(ticket.look(), Ok(Look::Gone));
    let approve = ApprovalResponse::approve("Ada");
    let error = queue
        .answer(ticket.id(), None, approve, no_check)
        .unwrap_err();
    assert_eq!(error.http_status(), 410);
    assert_eq!(ToolError::from(error).code(), ErrorCode::ApprovalExpired);
    assert_eq!(statuses(&queue), [Status::Expired]);
}

#[test]
fn after_a_reboot_everything_has_lapsed() {
    let place = Place::new();
    let queue = place.queue();
    let [pending, approved] = ["a", "b"].map(|call| queue.put(request(call)).unwrap());
    let approve = || ApprovalResponse::approve("Ada");
    queue
        .answer(approved.id(), None, approve(), no_check)
        .unwrap();
    place.reboot();
    assert_eq!(statuses(&queue), [Status::Expired, Status::Expired]);
    assert_eq!(pending.look(), Ok(Look::Gone));
    assert_eq!(queue.claim_now(approved.id()), Err(NoAnswer::Expired));
    let error = queue
        .answer(pending.id(), None, approve(), no_check)
        .unwrap_err();
    assert!(matches!(error, AnswerError::Expired), "{error}");
    // And the same call asks again.
    let again = queue.put(request("b")).unwrap();
    assert_ne!(again.id(), approved.id());
}

#[test]
fn an_approval_lapses_when_no_one_uses_it() {
    let place = Place::new();
    let queue = place.queue();
    let ticket = queue.put(request("a")).unwrap();
    place.pass(Duration::from_secs(299));
    let approve = ApprovalResponse::approve("Ada");
    queue.answer(ticket.id(), None, approve, no_check).unwrap();
    place.pass(Duration::from_secs(299));
    assert_eq!(statuses(&queue), [Status::Approved]);
    place.pass(Duration::from_secs(1));
    assert_eq!(statuses(&queue), [Status::Expired]);
    assert_eq!(queue.claim_now(ticket.id()), Err(NoAnswer::Expired));
}

#[test]
fn a_call_may_wait_less_than_others_and_not_more() {
    let place = Place::new();
    let queue = place.queue();
    for (wait, expected) in [(10, 10_000), (1000, 300_000)] {
        let mut asked = request(&format!("{wait}"));
        asked.wait = Some(Duration::from_secs(wait));
        let ticket = queue.put(asked).unwrap();
        let shown = queue.show(ticket.id()).unwrap();
        assert_eq!(shown.remaining_ms, Some(expected));
    }
}

#[test]
fn a_question_that_no_one_waits_for_is_withdrawn() {
    let place = Place::new();
    let queue = place.queue();
    let ticket = queue.put(request("a")).unwrap();
    let id = ticket.id().to_owned();
    drop(ticket);
    assert_eq!(statuses(&queue), [Status::Withdrawn]);
    let error = queue
        .answer(&id, None, ApprovalResponse::approve("Ada"), no_check)
        .unwrap_err();
    assert_eq!(error.http_status(), 409);
    assert!(error.to_string().contains("cancelled"), "{error}");
    // And the same call asks again.
    assert_ne!(queue.put(request("a")).unwrap().id(), id);
}

#[test]
fn a_question_is_never_seen_without_its_caller() {
    let place = Place::new();
    let queue = place.queue();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for call in 0..50 {
                let ticket = queue.put(request(&call.to_string())).unwrap();
                let approve = ApprovalResponse::approve("Ada");
                queue.answer(ticket.id(), None, approve, no_check).unwrap();
            }
            done.store(true, Ordering::SeqCst);
        });
        let other = place.queue();
        while !done.load(Ordering::SeqCst) {
            let seen = other.list(Some(Status::Pending)).unwrap().requests;
            // Answered between two looks at its files, it may have no caller any more.
            let lost = seen.iter().find(|queued| !queued.waiting);
            let still = |queued: &&toolcrib::approval::Queued| {
                other.show(&queued.request.id).unwrap().status == Status::Pending
            };
            assert!(lost.filter(still).is_none(), "{lost:?}");
        }
    });
}

#[test]
fn files_are_private_and_hold_what_others_put_there() {
    let place = Place::new();
    let queue = place.queue();
    let ticket = queue.put(request("a")).unwrap();
    let name = place
        .files()
        .into_iter()
        .find(|name| name.ends_with(".request.json"))
        .unwrap();
    let path = place.path().join(&name);
    let mut stored: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    stored["fromTheFuture"] = json!({"x": 1});
    stored["request"]["mood"] = json!("good");
    std::fs::write(&path, stored.to_string()).unwrap();
    let approve = ApprovalResponse::approve("Ada");
    queue.answer(ticket.id(), None, approve, no_check).unwrap();
    queue.claim_now(ticket.id()).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), stored.to_string());
    assert_eq!(statuses(&queue), [Status::Used]);
    for (name, mode) in crate::storage::modes_below(place.home.path()) {
        let expected = if name.contains('.') { 0o600 } else { 0o700 };
        assert_eq!(mode & 0o777, expected, "{name}");
    }
}

#[test]
fn damaged_files_concern_no_one_else() {
    let place = Place::new();
    let queue = place.queue();
    let [good, torn, linked] = ["a", "b", "c"].map(|call| queue.put(request(call)).unwrap());
    let file_of = |id: &str| {
        let names = place.files().into_iter();
        let mut own = names.filter(|name| name.starts_with(id) && name.ends_with(".request.json"));
        place.path().join(own.next().unwrap())
    };
    std::fs::write(file_of(torn.id()), "{\"request\": {").unwrap();
    let link = file_of(linked.id());
    std::fs::remove_file(&link).unwrap();
    symlink("/etc/passwd", link).unwrap();
    std::fs::write(place.path().join("notes.txt"), "mine").unwrap();

    let listing = queue.list(None).unwrap();
    assert_eq!(listing.requests.len(), 1);
    assert_eq!(listing.requests[0].request.id, good.id());
    // A link is not one of our files at all.
    let [damaged] = &listing.damaged[..] else {
        panic!("{:?}", listing.damaged);
    };
    assert!(damaged.file.starts_with(torn.id()), "{damaged:?}");
    let approve = || ApprovalResponse::approve("Ada");
    let error = queue
        .answer(torn.id(), None, approve(), no_check)
        .unwrap_err();
    assert!(matches!(error, AnswerError::Damaged(_)), "{error}");
    queue.answer(good.id(), None, approve(), no_check).unwrap();

    // A damaged answer is not an approval.
    let answer = place.path().join(format!("{}.answer.json", good.id()));
    std::fs::write(answer, "{").unwrap();
    assert!(matches!(good.look(), Err(NoAnswer::Storage(_))));
    assert!(queue.claim_now(good.id()).is_err());
    assert!(queue.put(request("d")).is_ok());
    assert!(place.path().join("notes.txt").exists());
}

#[test]
fn a_file_of_another_user_concerns_that_user_alone() {
    const NAME: &str = "approvals::questions::a_file_of_another_user_concerns_that_user_alone";
    if ran_again_as_nobody(NAME) {
        return;
    }
    let place = Place::new();
    let queue = place.queue();
    let [good, closed] = ["a", "b"].map(|call| queue.put(request(call)).unwrap());
    let names = place.files().into_iter();
    let mut own = names.filter(|name| name.starts_with(closed.id()) && name.ends_with(".json"));
    let file = place.path().join(own.next().unwrap());
    // As one looks that someone made with `sudo`.
    std::fs::set_permissions(&file, Permissions::from_mode(0o000)).unwrap();
    let listing = queue.list(None).unwrap();
    assert_eq!(listing.requests[0].request.id, good.id());
    assert_eq!((listing.requests.len(), listing.damaged.len()), (1, 1));
    let deny = ApprovalResponse::deny("Ada", "no");
    queue.answer(good.id(), None, deny, no_check).unwrap();
}

#[test]
fn what_is_over_is_swept_after_a_day() {
    let place = Place::new();
    let queue = place.queue();
    let [denied, used, pending] = ["a", "b", "c"].map(|call| {
        let ticket = queue.put(request(call)).unwrap();
        ticket.id().to_owned()
    });
    // Withdrawn, since no one waits: three that are over.
    assert_eq!(statuses(&queue), [Status::Withdrawn; 3]);
    place.pass(Duration::from_secs(23 * 3600));
    let kept = queue.put(request("d")).unwrap();
    assert_eq!(all(&queue).len(), 4);
    place.pass(Duration::from_secs(3601));
    let mut later = request("e");
    later.wait = Some(Duration::from_secs(1));
    let _ticket = queue.put(later).unwrap();
    let left: Vec<String> = all(&queue).into_iter().map(|q| q.request.id).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.contains(&kept.id().to_owned()));
    for id in [denied, used, pending] {
        assert!(!place.files().iter().any(|name| name.starts_with(&id)));
        assert!(matches!(queue.show(&id), Err(AnswerError::NotFound { .. })));
    }
}

#[test]
fn a_question_on_the_wire() {
    let place = Place::new();
    let queue = place.queue();
    let mut asked = request("a");
    asked.diff = Some("-old\n+new\n".to_owned());
    let ticket = queue.put(asked).unwrap();
    let response = ApprovalResponse::deny("Ada", "not today");
    let shown = queue.answer(ticket.id(), None, response, no_check).unwrap();
    let mut wire = serde_json::to_value(shown).unwrap();
    for pointer in ["/id", "/createdAt", "/expiresAt", "/answer/at"] {
        assert!(wire.pointer(pointer).unwrap().is_string(), "{pointer}");
        *wire.pointer_mut(pointer).unwrap() = json!("…");
    }
    crate::golden::assert_json("approvals/queued.json", &wire);
}

#[tokio::test]
async fn the_caller_is_informed_and_learns_that_another_was_faster() {
    let place = Place::new();
    let queue = place.queue();
    let (told, heard) = std::sync::mpsc::channel();
    let subscription = queue.on_request(move |request| told.send(request.id.clone()).unwrap());
    let ticket = queue.put(request("a")).unwrap();
    // Told once for all who wait here.
    let joined = queue.put(request("a")).unwrap();
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [ticket.id()]);

    let id = ticket.id().to_owned();
    let settled = tokio::spawn({
        let (queue, id) = (queue.clone(), id.clone());
        async move { queue.settled(&id).await.unwrap() }
    });
    let deny = ApprovalResponse::deny("Bob", "no");
    place.queue().answer(&id, None, deny, no_check).unwrap();
    assert_eq!(settled.await.unwrap().answer.unwrap().by, "Bob");
    drop((ticket, joined, subscription));
    let _ticket = queue.put(request("b")).unwrap();
    assert_eq!(heard.try_iter().count(), 0);
}
