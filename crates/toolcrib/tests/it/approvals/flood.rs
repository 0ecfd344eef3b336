//! The same call again and again costs a person one look.

use std::time::{Duration, Instant};

use toolcrib::Caller;
use toolcrib::approval::queue::Look;
use toolcrib::approval::{ApprovalQueue, ApprovalResponse, NoAnswer, QueueOptions, Status};

use super::{Place, all, no_check, request, statuses};

#[test]
fn identical_calls_share_one_question_and_the_last_one_withdraws_it() {
    let place = Place::new();
    let (here, elsewhere) = (place.queue(), place.queue());
    let first = here.put(request("a")).unwrap();
    let second = here.put(request("a")).unwrap();
    let third = elsewhere.put(request("a")).unwrap();
    let other = elsewhere.put(request("b")).unwrap();
    assert_eq!((first.id(), first.id()), (second.id(), third.id()));
    assert_ne!(first.id(), other.id());
    let id = first.id().to_owned();
    drop(first);
    drop(third);
    assert_eq!(here.show(&id).unwrap().status, Status::Pending);
    assert!(here.show(&id).unwrap().waiting);
    drop(second);
    assert_eq!(here.show(&id).unwrap().status, Status::Withdrawn);
    assert_eq!(here.show(other.id()).unwrap().status, Status::Pending);
}

#[test]
fn a_question_that_does_not_say_what_it_rests_on_is_like_no_other() {
    let place = Place::new();
    let queue = place.queue();
    let [first, second] = ["a", "b"].map(|call| {
        let mut request = request(call);
        request.call_digest.clear();
        queue.put(request).unwrap()
    });
    assert_ne!(first.id(), second.id());
}

#[test]
fn a_denial_answers_everybody_and_an_approval_one() {
    let place = Place::new();
    let queue = place.queue();
    let tickets = [(); 3].map(|()| place.queue().put(request("a")).unwrap());
    let approve = ApprovalResponse::approve("Ada");
    queue
        .answer(tickets[0].id(), None, approve, no_check)
        .unwrap();
    let claims = tickets.each_ref().map(|ticket| {
        assert!(matches!(ticket.look(), Ok(Look::Answered(_))));
        queue.claim_now(ticket.id())
    });
    assert_eq!(claims, [Ok(()), Err(NoAnswer::Taken), Err(NoAnswer::Taken)]);
    // Calls that came too late ask again, together.
    let again = [(); 2].map(|()| place.queue().put(request("a")).unwrap());
    assert_ne!(again[0].id(), tickets[0].id());
    assert_eq!(again[0].id(), again[1].id());
    let deny = ApprovalResponse::deny("Ada", "enough");
    queue.answer(again[0].id(), None, deny, no_check).unwrap();
    for ticket in &again {
        let Ok(Look::Answered(answer)) = ticket.look() else {
            panic!("no answer");
        };
        assert!(!answer.approved);
    }
}

#[test]
fn what_was_denied_is_denied_a_thousand_times_without_a_question() {
    let place = Place::new();
    let queue = place.queue();
    let ticket = queue.put(request("a")).unwrap();
    let deny = ApprovalResponse::deny("Ada", "too loud");
    queue.answer(ticket.id(), None, deny, no_check).unwrap();
    drop(ticket);
    let files = place.files();
    place.pass(Duration::from_secs(20));
    let begin = Instant::now();
    for _ in 0..1000 {
        let ticket = place.queue().put(request("a")).unwrap();
        let Ok(Look::Answered(answer)) = ticket.look() else {
            panic!("no answer");
        };
        assert!(!answer.approved);
        assert_eq!(
            answer.reason.as_deref(),
            Some(
                "too loud; the same call was denied 20 s ago, and no one is asked again for another 40 s"
            )
        );
    }
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert_eq!(place.files(), files);

    let other = queue.put(request("b")).unwrap();
    assert_eq!(
        other.look(),
        Ok(Look::Pending),
        "another call is asked about"
    );
    place.pass(Duration::from_secs(41));
    let later = queue.put(request("a")).unwrap();
    assert_eq!(later.look(), Ok(Look::Pending), "for a while, not for ever");
}

#[test]
fn too_many_questions_at_once_are_refused() {
    let place = Place::new();
    let queue = ApprovalQueue::at(
        place.path(),
        QueueOptions {
            max_pending: 3,
            ..place.options()
        },
    );
    let put = |call: &str| queue.put(request(call));
    let open = ["a", "b", "c"].map(|call| put(call).unwrap());
    assert_eq!(put("d").unwrap_err(), NoAnswer::TooMany { pending: 3 });
    assert_eq!(put("a").unwrap().id(), open[0].id(), "no new question");
    let deny = ApprovalResponse::deny("Ada", "no");
    queue.answer(open[1].id(), None, deny, no_check).unwrap();
    let _fourth = put("d").unwrap();
    assert!(put("e").is_err());
    place.pass(Duration::from_secs(300));
    put("e").unwrap();
}

#[test]
fn one_client_has_half_of_the_room_and_all_clients_leave_some_to_the_operator() {
    let place = Place::new();
    let options = QueueOptions {
        max_pending: 6,
        ..place.options()
    };
    let queue = ApprovalQueue::at(place.path(), options);
    let put = |caller: Caller, call: &str| {
        let mut request = request(&format!("{caller} {call}"));
        request.caller = caller;
        queue.put(request)
    };
    let client = |name: &str| Caller::Client(name.into());
    let alice = ["a", "b", "c"].map(|call| put(client("alice"), call).unwrap());
    assert_eq!(
        put(client("alice"), "d").unwrap_err(),
        NoAnswer::TooManyOfOne { pending: 3 }
    );
    let again = put(client("alice"), "a").unwrap();
    assert_eq!(again.id(), alice[0].id(), "no new question");
    let _bob = ["a", "b"].map(|call| put(client("bob"), call).unwrap());
    let full = NoAnswer::TooMany { pending: 5 };
    assert_eq!(put(client("bob"), "c").unwrap_err(), full);
    assert_eq!(put(client("carol"), "a").unwrap_err(), full);
    let _operator = put(Caller::Operator, "a").unwrap();
    let full = NoAnswer::TooMany { pending: 6 };
    assert_eq!(put(Caller::Cli, "a").unwrap_err(), full);
    // What has lapsed counts for no one.
    place.pass(Duration::from_secs(300));
    put(client("alice"), "d").unwrap();
}

#[test]
fn a_caller_that_is_denied_again_and_again_is_not_asked_about_for_a_while() {
    let place = Place::new();
    let queue = ApprovalQueue::at(place.path(), place.options());
    let put = |caller: &Caller, call: &str| {
        let mut request = request(&format!("{caller} {call}"));
        request.caller = caller.clone();
        queue.put(request)
    };
    let deny = |caller: &Caller, call: &str| {
        let ticket = put(caller, call).unwrap();
        let no = ApprovalResponse::deny("Ada", "no");
        queue.answer(ticket.id(), None, no, no_check).unwrap();
    };
    let mallory = Caller::Client("mallory".into());
    // The same file, each time spelt in another way.
    for length in 0..10 {
        deny(&mallory, &format!("{}a.txt", "./".repeat(length)));
        place.pass(Duration::from_secs(1));
    }
    let NoAnswer::DeniedTooOften { denied: 10, wait } = put(&mallory, "other").unwrap_err() else {
        panic!("a person was asked");
    };
    assert!(wait <= Duration::from_secs(50), "{wait:?}");
    let for_mallory = Caller::ToolFor(Box::new(mallory.clone()));
    assert!(put(&for_mallory, "other").is_err());
    assert!(put(&mallory, "a.txt").is_ok(), "a remembered denial is");
    let alice = Caller::Client("alice".into());
    deny(&alice, "a.txt");
    place.pass(wait + Duration::from_secs(1));
    let _asked = put(&mallory, "other").unwrap();
}

#[test]
fn room_for_one_question_is_room_for_a_client() {
    let place = Place::new();
    let options = QueueOptions {
        max_pending: 1,
        ..place.options()
    };
    let queue = ApprovalQueue::at(place.path(), options);
    let mut asked = request("a");
    asked.caller = Caller::Client("alice".into());
    queue.put(asked).unwrap();
}

#[test]
fn an_approval_with_a_caller_waiting_is_left_to_it() {
    let place = Place::new();
    let queue = place.queue();
    let waits = place.queue().put(request("a")).unwrap();
    let approve = ApprovalResponse::approve("Ada");
    queue.answer(waits.id(), None, approve, no_check).unwrap();
    let newcomer = place.queue().put(request("a")).unwrap();
    assert_ne!(newcomer.id(), waits.id());
    drop(newcomer);
    let id = waits.id().to_owned();
    drop(waits);
    assert_eq!(queue.show(&id).unwrap().status, Status::Approved);
    let heir = place.queue().put(request("a")).unwrap();
    assert_eq!(heir.id(), id, "no one waits: it can be taken up");
    assert!(matches!(heir.look(), Ok(Look::Answered(_))));
    assert_eq!(queue.claim_now(heir.id()), Ok(()));
    assert_eq!(
        statuses(&queue),
        [Status::Used, Status::Withdrawn],
        "{:?}",
        all(&queue)
    );
}
