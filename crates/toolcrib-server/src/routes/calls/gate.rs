//! [`Gate`]: places for calls, shared out fairly among clients, so that a flood of one cannot keep others out.
//!
//! A call over HTTP takes a place before it begins and gives it back when it is over. One client alone has at most three quarters of the
//! places, so that there is room for someone else at once, and at most half of them while others wait; those who wait are served in
//! turn, client by client. The number of waiting calls of one client is bounded; further ones must come back. Calls inside a call take no place:
//! the one around them has it.
//!
//! A call that waits for a person [lends](CallSlot::lend) its place to others meanwhile and has it back at once when there is an answer,
//! even if that makes one too many for a while: a call that waited for a place with an approval in its hand could wait for calls that
//! wait for it. How many of one client may wait so is bounded, and how many in all: equal questions are one question, so the bound on
//! questions is none on calls, and each of them holds memory and open files.
//!
//! Invariants: no call waits that could have a place; a call that stops waiting takes nothing with it, even if a place was on its way.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use toolcrib::Crib;

use crate::auth::Principal;

/// The lane of the operator.
const OPERATOR: usize = 0;

/// Places for calls. Cloning is cheap and shares them.
#[derive(Clone)]
pub(crate) struct Gate(Arc<Shared>);

struct Shared {
    places: usize,
    max_waiting: usize,
    /// How many calls may wait for a person: of one client, and in all.
    max_asking: (usize, usize),
    state: Mutex<State>,
}

struct State {
    taken: usize,
    waiting: usize,
    /// How many wait for a person.
    asking: usize,
    lanes: Vec<Lane>,
    /// The lanes of clients; the operator's is the first.
    by_name: HashMap<String, usize>,
    /// The lanes in which someone waits, whose turn it is first.
    turns: VecDeque<usize>,
    next: u64,
}

/// The calls of one client.
#[derive(Default)]
struct Lane {
    taken: usize,
    /// How many wait for a person.
    asking: usize,
    /// In the order they came.
    waiting: BTreeMap<u64, oneshot::Sender<CallSlot>>,
}

/// How full a gate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fullness {
    /// How many calls have a place.
    pub(crate) taken: usize,
    /// How many wait for one.
    pub(crate) waiting: usize,
}

/// Too many calls of one client wait already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooMany {
    /// How many wait.
    pub(crate) waiting: usize,
}

/// Too many calls wait for a person already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TooManyAsk {
    /// Of the client.
    Own(usize),
    /// Of all clients.
    All(usize),
}

/// The right to make a call; given back when dropped.
pub(crate) struct CallSlot {
    gate: Arc<Shared>,
    lane: usize,
    /// How many questions of the call wait for a person; only changed with the gate locked.
    lent: Mutex<usize>,
}

/// A place that others may use, until this is dropped.
pub(crate) struct Lent<'a>(&'a CallSlot);

impl Gate {
    /// A gate with this many places, before which this many calls of each client may wait.
    pub(crate) fn new(places: usize, max_waiting: usize) -> Self {
        Gate(Arc::new(Shared {
            places: places.max(1),
            max_waiting,
            max_asking: max_asking(places, open_files()),
            state: Mutex::new(State {
                taken: 0,
                waiting: 0,
                asking: 0,
                lanes: vec![Lane::default()],
                by_name: HashMap::new(),
                turns: VecDeque::new(),
                next: 0,
            }),
        }))
    }

    /// The gate that the settings of a crib ask for.
    pub(crate) fn of(crib: &Crib) -> Self {
        // Settings that do not hold are refused where the server starts; an API without a server goes by what is usual.
        let (places, max_waiting) = crib
            .config()
            .server()
            .map_or((256, 1024), |server| (server.max_calls, server.max_waiting));
        Gate::new(places, max_waiting)
    }

    /// Takes a place, or waits for one. Dropping the future gives up the wait, and nothing else.
    pub(crate) async fn enter(&self, who: &Principal) -> Result<CallSlot, TooMany> {
        let mut waiting = match self.0.enter(who)? {
            Entered::At(place) => return Ok(place),
            Entered::Waiting(waiting) => waiting,
        };
        match (&mut waiting.receiver).await {
            Ok(place) => Ok(place),
            // The sender goes only by being used: the gate lives as long as any waiting call.
            Err(_) => std::future::pending().await,
        }
    }

    /// How full it is.
    pub(crate) fn fullness(&self) -> Fullness {
        let state = self.0.lock();
        Fullness {
            taken: state.taken,
            waiting: state.waiting,
        }
    }
}

/// How many calls may wait for a person, of one client and in all: as many as there are places, and four times that; fewer where not many
/// files may be open, since each of them holds up to three.
fn max_asking(places: usize, open_files: usize) -> (usize, usize) {
    let own = places.max(8).min(open_files / 32).max(1);
    (own, own.saturating_mul(4))
}

/// How many files this process may have open.
fn open_files() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let limit = limit.current.unwrap_or(u64::MAX);
    usize::try_from(limit).unwrap_or(usize::MAX)
}

enum Entered {
    At(CallSlot),
    Waiting(Waiting),
}

/// Someone who waits.
struct Waiting {
    gate: Arc<Shared>,
    lane: usize,
    number: u64,
    receiver: oneshot::Receiver<CallSlot>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(self: &Arc<Self>, who: &Principal) -> Result<Entered, TooMany> {
        let mut state = self.lock();
        let lane = state.lane_of(who);
        if state.lanes[lane].waiting.is_empty() && self.may_enter(&state, lane) {
            return Ok(Entered::At(self.take(&mut state, lane)));
        }
        let waiting = state.lanes[lane].waiting.len();
        if waiting >= self.max_waiting {
            return Err(TooMany { waiting });
        }
        let (sender, receiver) = oneshot::channel();
        let number = state.next;
        state.next += 1;
        state.waiting += 1;
        if waiting == 0 {
            state.turns.push_back(lane);
        }
        state.lanes[lane].waiting.insert(number, sender);
        Ok(Entered::Waiting(Waiting {
            gate: Arc::clone(self),
            lane,
            number,
            receiver,
        }))
    }

    fn may_enter(&self, state: &State, lane: usize) -> bool {
        let others_wait = state.turns.iter().any(|other| *other != lane);
        let share = match others_wait {
            true => self.places / 2,
            false => self.places - self.places / 4,
        };
        state.taken < self.places && state.lanes[lane].taken < share.max(1)
    }

    fn take(self: &Arc<Self>, state: &mut State, lane: usize) -> CallSlot {
        state.taken += 1;
        state.lanes[lane].taken += 1;
        CallSlot {
            gate: Arc::clone(self),
            lane,
            lent: Mutex::new(0),
        }
    }

    /// Serves the waiting calls that may enter, in turn.
    fn serve(self: &Arc<Self>, state: &mut State) {
        while let Some(turn) =
            (0..state.turns.len()).find(|turn| self.may_enter(state, state.turns[*turn]))
        {
            let Some(lane) = state.turns.remove(turn) else {
                return;
            };
            let first = state.lanes[lane].waiting.pop_first();
            if !state.lanes[lane].waiting.is_empty() {
                state.turns.push_back(lane);
            }
            let Some((_, sender)) = first else { continue };
            state.waiting -= 1;
            let place = self.take(state, lane);
            if let Err(place) = sender.send(place) {
                // They have just gone. The place is not dropped, since that would lock what is locked.
                place.forget(state);
            }
        }
    }

    fn give_back(self: &Arc<Self>, state: &mut State, lane: usize) {
        state.taken -= 1;
        state.lanes[lane].taken -= 1;
        if !state.turns.is_empty() {
            self.serve(state);
        }
    }
}

impl State {
    fn lane_of(&mut self, who: &Principal) -> usize {
        let Principal::Client(name) = who else {
            return OPERATOR;
        };
        if let Some(lane) = self.by_name.get(name) {
            return *lane;
        }
        // One for each client there ever was: as many as an operator makes.
        self.lanes.push(Lane::default());
        let lane = self.lanes.len() - 1;
        self.by_name.insert(name.clone(), lane);
        lane
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        let lane = self.lane;
        if state.lanes[lane].waiting.remove(&self.number).is_none() {
            // Served: a place that was not taken up comes back as it is dropped with the receiver.
            return;
        }
        state.waiting -= 1;
        if state.lanes[lane].waiting.is_empty() {
            state.turns.retain(|turn| *turn != lane);
            // With no one of this lane waiting others may have more.
            self.gate.serve(&mut state);
        }
    }
}

impl CallSlot {
    /// Lets others have the place while the call waits for a person, if not too many wait so already.
    pub(crate) fn lend(&self) -> Result<Lent<'_>, TooManyAsk> {
        let mut state = self.gate.lock();
        let (own, all) = (state.lanes[self.lane].asking, state.asking);
        let mut lent = self.lent();
        if own >= self.gate.max_asking.0 {
            return Err(TooManyAsk::Own(own));
        }
        // The others cannot keep the operator from asking.
        if self.lane != OPERATOR && all >= self.gate.max_asking.1 {
            return Err(TooManyAsk::All(all));
        }
        state.asking += 1;
        state.lanes[self.lane].asking += 1;
        *lent += 1;
        if *lent == 1 {
            self.gate.give_back(&mut state, self.lane);
        }
        Ok(Lent(self))
    }

    fn lent(&self) -> MutexGuard<'_, usize> {
        self.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the place back to a gate that is locked.
    fn forget(mut self, state: &mut State) {
        state.taken -= 1;
        state.lanes[self.lane].taken -= 1;
        *self.lent.get_mut().unwrap_or_else(PoisonError::into_inner) = 1;
    }
}

impl Drop for CallSlot {
    fn drop(&mut self) {
        // A place that is lent is in the gate's hands already.
        if *self.lent.get_mut().unwrap_or_else(PoisonError::into_inner) == 0 {
            let mut state = self.gate.lock();
            self.gate.give_back(&mut state, self.lane);
        }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let CallSlot { gate, lane, .. } = self.0;
        let mut state = gate.lock();
        let mut lent = self.0.lent();
        state.asking -= 1;
        state.lanes[*lane].asking -= 1;
        *lent -= 1;
        if *lent == 0 {
            state.taken += 1;
            state.lanes[*lane].taken += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use proptest::prelude::*;

    use super::*;

    type Entering = Pin<Box<dyn Future<Output = Result<CallSlot, TooMany>>>>;

    fn client(number: usize) -> Principal {
        match number {
            0 => Principal::Operator,
            number => Principal::Client(format!("client{number}")),
        }
    }

    /// Someone at the gate, asked once whether they are in.
    fn entering(gate: &Gate, who: usize) -> Entering {
        let gate = gate.clone();
        Box::pin(async move { gate.enter(&client(who)).await })
    }

    fn poll(entering: &mut Entering) -> Option<Result<CallSlot, TooMany>> {
        match entering
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }

    fn enter_now(gate: &Gate, who: usize) -> CallSlot {
        poll(&mut entering(gate, who)).unwrap().ok().unwrap()
    }

    fn wait(gate: &Gate, who: usize) -> Entering {
        let mut waiting = entering(gate, who);
        assert!(poll(&mut waiting).is_none(), "there was a place");
        waiting
    }

    #[test]
    fn a_flood_of_one_client_leaves_places_for_others() {
        let gate = Gate::new(8, 100);
        let flood: Vec<CallSlot> = (0..6).map(|_| enter_now(&gate, 1)).collect();
        let waiting: Vec<Entering> = (0..50).map(|_| wait(&gate, 1)).collect();
        let others = [enter_now(&gate, 2), enter_now(&gate, 0)];
        assert_eq!(
            gate.fullness(),
            Fullness {
                taken: 8,
                waiting: 50
            }
        );
        drop((flood, waiting, others));
        assert_eq!(
            gate.fullness(),
            Fullness {
                taken: 0,
                waiting: 0
            }
        );
    }

    #[test]
    fn a_late_caller_waits_for_one_turn_and_not_for_the_flood() {
        let gate = Gate::new(4, 100);
        let mut flood: VecDeque<CallSlot> = (0..3).map(|_| enter_now(&gate, 1)).collect();
        let _last = enter_now(&gate, 2);
        let _waiting: Vec<Entering> = (0..50).map(|_| wait(&gate, 1)).collect();
        let mut late = wait(&gate, 3);
        flood.pop_front();
        assert!(poll(&mut late).is_some(), "the next place is theirs");
    }

    #[test]
    fn one_client_has_half_of_the_places_while_others_wait() {
        let gate = Gate::new(4, 100);
        let mut first: Vec<CallSlot> = (0..3).map(|_| enter_now(&gate, 1)).collect();
        let second = enter_now(&gate, 2);
        let mut more_of_first = wait(&gate, 1);
        let mut more_of_second = wait(&gate, 2);
        let mut third = wait(&gate, 3);
        // First has three: what it gives back goes to others until it has less than two.
        first.pop();
        assert!(poll(&mut more_of_first).is_none());
        let _more_of_second = poll(&mut more_of_second).unwrap().ok().unwrap();
        drop(second);
        assert!(poll(&mut more_of_first).is_none());
        assert!(poll(&mut third).is_some());
    }

    #[test]
    fn too_many_of_one_client_are_informed_and_others_are_not() {
        let gate = Gate::new(1, 2);
        let _place = enter_now(&gate, 1);
        let _waiting = [wait(&gate, 1), wait(&gate, 1)];
        let refused = poll(&mut entering(&gate, 1)).unwrap();
        assert_eq!(refused.err(), Some(TooMany { waiting: 2 }));
        let _other = wait(&gate, 2);
    }

    #[test]
    fn a_place_on_its_way_to_a_caller_that_goes_is_not_lost() {
        let gate = Gate::new(1, 10);
        let place = enter_now(&gate, 1);
        let sent = wait(&gate, 1);
        let mut next = wait(&gate, 2);
        drop(place);
        // It was handed to the first, who never looks.
        drop(sent);
        assert!(poll(&mut next).is_some());
    }

    #[test]
    fn a_lent_place_serves_others_and_is_back_at_once() {
        let gate = Gate::new(1, 10);
        let place = enter_now(&gate, 1);
        let mut other = wait(&gate, 2);
        let (first, second) = (place.lend().unwrap(), place.lend().unwrap());
        let other = poll(&mut other).unwrap().ok().unwrap();
        drop(first);
        assert_eq!(gate.fullness().taken, 1, "one question is still open");
        drop(second);
        assert_eq!(gate.fullness().taken, 2, "one too many, for a while");
        let mut third = wait(&gate, 3);
        drop(other);
        assert!(poll(&mut third).is_none());
        drop(place);
        assert!(poll(&mut third).is_some());
    }

    #[test]
    fn a_call_that_ends_while_its_place_is_lent_gives_back_nothing_twice() {
        let gate = Gate::new(2, 10);
        let place = enter_now(&gate, 1);
        drop(place.lend().unwrap());
        drop(place);
        assert_eq!(gate.fullness().taken, 0);
    }

    #[test]
    fn one_client_has_a_bounded_number_of_calls_that_wait_for_a_person() {
        let gate = Gate::new(8, 10);
        let (own, all) = gate.0.max_asking;
        let places = |who: usize| -> Vec<CallSlot> {
            let place = |_| {
                let place = enter_now(&gate, who);
                std::mem::forget(place.lend().unwrap());
                place
            };
            (0..own).map(place).collect()
        };
        let mut held = Vec::new();
        for who in 1..=all / own {
            held.push(places(who));
            let one_more = enter_now(&gate, who);
            let refused = one_more.lend().err();
            assert_eq!(refused, Some(TooManyAsk::Own(own)));
        }
        let late = enter_now(&gate, 9);
        assert_eq!(late.lend().err(), Some(TooManyAsk::All(all)));
        let operator = enter_now(&gate, 0);
        let lent = operator.lend().ok().unwrap();
        drop(lent);
        // An answer makes room for a question.
        drop(Lent(&held[0][0]));
        let again = enter_now(&gate, 1);
        assert!(again.lend().is_ok());
        assert_eq!(gate.fullness().taken, 4);
    }

    #[test]
    fn where_few_files_may_be_open_few_calls_may_wait_for_a_person() {
        assert_eq!(max_asking(256, 1 << 20), (256, 1024));
        assert_eq!(max_asking(256, 1024), (32, 128));
        assert_eq!(max_asking(1, 1 << 20), (8, 32));
        assert_eq!(max_asking(1, 16), (1, 4));
    }

    #[derive(Debug, Clone)]
    enum Step {
        Arrive(usize),
        Leave(usize),
        GiveUp(usize),
        Look(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (0..4_usize).prop_map(Step::Arrive),
            3 => (0..64_usize).prop_map(Step::Leave),
            1 => (0..64_usize).prop_map(Step::GiveUp),
            2 => (0..64_usize).prop_map(Step::Look),
        ];
        proptest::collection::vec(step, 1..200)
    }

    /// What should be true of a gate, kept in the plainest way there is.
    #[derive(Default)]
    struct Model {
        taken: [usize; 4],
        /// The waiting calls, in order of arrival.
        waiting: Vec<(usize, u64)>,
        turns: VecDeque<usize>,
        granted: Vec<u64>,
    }

    impl Model {
        fn may_enter(&self, places: usize, who: usize) -> bool {
            let others = self.waiting.iter().any(|(other, _)| *other != who);
            let share = if others {
                places / 2
            } else {
                places - places / 4
            };
            self.taken.iter().sum::<usize>() < places && self.taken[who] < share.max(1)
        }

        fn serve(&mut self, places: usize) {
            while let Some(at) =
                (0..self.turns.len()).find(|at| self.may_enter(places, self.turns[*at]))
            {
                let who = self.turns.remove(at).unwrap();
                let first = self.waiting.iter().position(|(other, _)| *other == who);
                let (_, number) = self.waiting.remove(first.unwrap());
                self.taken[who] += 1;
                self.granted.push(number);
                if self.waiting.iter().any(|(other, _)| *other == who) {
                    self.turns.push_back(who);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn places_go_where_a_plain_model_says(steps in steps(), places in 1..9_usize) {
            let gate = Gate::new(places, 16);
            let mut model = Model::default();
            let mut inside: Vec<(usize, CallSlot)> = Vec::new();
            let mut outside: Vec<(usize, u64, Entering)> = Vec::new();
            let mut number = 0;
            for step in steps {
                match step {
                    Step::Arrive(who) => {
                        number += 1;
                        let waits = model.waiting.iter().filter(|(other, _)| *other == who).count();
                        let mut arriving = entering(&gate, who);
                        match poll(&mut arriving) {
                            Some(Ok(place)) => {
                                prop_assert!(waits == 0 && model.may_enter(places, who));
                                model.taken[who] += 1;
                                inside.push((who, place));
                            }
                            Some(Err(_)) => prop_assert_eq!(waits, 16),
                            None => {
                                prop_assert!(waits > 0 || !model.may_enter(places, who));
                                if waits == 0 {
                                    model.turns.push_back(who);
                                }
                                model.waiting.push((who, number));
                                outside.push((who, number, arriving));
                            }
                        }
                    }
                    Step::Leave(at) if !inside.is_empty() => {
                        let (who, place) = inside.swap_remove(at % inside.len());
                        drop(place);
                        model.taken[who] -= 1;
                        model.serve(places);
                    }
                    Step::GiveUp(at) if !outside.is_empty() => {
                        let (who, gone, entering) = outside.remove(at % outside.len());
                        drop(entering);
                        if let Some(at) = model.granted.iter().position(|number| *number == gone) {
                            // It had a place, and did not know.
                            model.granted.remove(at);
                            model.taken[who] -= 1;
                        } else {
                            model.waiting.retain(|(_, number)| *number != gone);
                            if !model.waiting.iter().any(|(other, _)| *other == who) {
                                model.turns.retain(|turn| *turn != who);
                            }
                        }
                        model.serve(places);
                    }
                    Step::Look(at) if !outside.is_empty() => {
                        let at = at % outside.len();
                        let (who, number, _) = outside[at];
                        let is_in = poll(&mut outside[at].2);
                        let granted = model.granted.iter().position(|granted| *granted == number);
                        prop_assert_eq!(is_in.is_some(), granted.is_some());
                        if let (Some(result), Some(granted)) = (is_in, granted) {
                            model.granted.remove(granted);
                            drop(outside.remove(at));
                            inside.push((who, result.ok().unwrap()));
                        }
                    }
                    Step::Leave(_) | Step::GiveUp(_) | Step::Look(_) => {}
                }
                let expected = Fullness {
                    taken: model.taken.iter().sum(),
                    waiting: model.waiting.len(),
                };
                prop_assert_eq!(gate.fullness(), expected);
                prop_assert!(expected.taken <= places);
            }
            drop(inside);
            drop(outside);
            prop_assert_eq!(gate.fullness(), Fullness { taken: 0, waiting: 0 });
        }
    }
}
