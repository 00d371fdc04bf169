//! Virtual time: sleeping tasks are local events of their node.
//!
//! A timer has the name of the place in the program that armed it, or one that the program gives it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::ops::{Add, AddAssign, RangeInclusive, Sub};
use std::panic::Location;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context as Polling, Poll, Waker};
use std::time::Duration;

use super::current::{Current, present, required, within};
use super::zone::{Moment, Zone};

thread_local! {
    static TIMERS: Current<RefCell<Timers>> = const { RefCell::new(None) };
}

/// Sleeps of at least this long never end: ten years.
const NEVER: Duration = Duration::from_secs(10 * 365 * 86_400);

/// Armed timers of one node whose order is known: the bounds on their differences take the square of it.
const ORDERED_MAX: usize = 200;

/// Which of a node's armed timers can be the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    /// One that is possibly the earliest.
    #[default]
    Ordered,
    /// Any of them, as if durations meant nothing.
    Any,
}

/// The timers of a node, by number.
#[derive(Debug, Default)]
pub(super) struct Timers {
    armed: Vec<Option<Box<Timer>>>,
    order: Order,
    /// The known bounds of the times; without timers if their order is free.
    zone: Zone,
    /// Nanoseconds on the clock when it was read last; none if the program does not read it.
    clock: Option<u64>,
}

#[derive(Debug)]
struct Timer {
    name: Name,
    nanoseconds: i64,
    is_due: bool,
    waker: Option<Waker>,
}

#[derive(Clone, Copy, Debug)]
enum Name {
    Given(&'static str),
    Place(&'static Location<'static>),
}

impl Name {
    fn text(self) -> &'static str {
        match self {
            Self::Given(name) => name,
            Self::Place(location) => place(location),
        }
    }
}

/// A place in a program, as file and line.
pub(super) fn place(location: &'static Location<'static>) -> &'static str {
    thread_local! {
        static PLACES: RefCell<BTreeMap<(&'static str, u32), &'static str>> =
            const { RefCell::new(BTreeMap::new()) };
    }
    let file = location.file().rsplit(['/', '\\']).next().unwrap_or_default();
    PLACES.with_borrow_mut(|places| {
        // There are as many as places in the source.
        *places.entry((file, location.line())).or_insert_with(|| format!("{file}:{}", location.line()).leak())
    })
}

impl Timers {
    pub(super) fn new(order: Order) -> Self {
        Self { order, ..Self::default() }
    }

    /// Runs a function while these timers are those of the node whose handler runs.
    pub(super) fn within<R>(timers: &Rc<RefCell<Self>>, run: impl FnOnce() -> R) -> R {
        within(&TIMERS, timers, run)
    }

    fn arm(&mut self, name: Name, duration: Duration) -> u32 {
        let nanoseconds = i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
        let timer = Box::new(Timer { name, nanoseconds, is_due: false, waker: None });
        let free = self.armed.iter().position(Option::is_none).unwrap_or(self.armed.len());
        if free == self.armed.len() {
            self.armed.reserve_exact(1);
            self.armed.push(None);
        }
        self.armed[free] = Some(timer);
        if self.order == Order::Ordered {
            let armed = self.armed.iter().flatten().count();
            let name = name.text();
            assert!(armed <= ORDERED_MAX, "a timer storm: {armed} timers are armed at once, the last one at {name}");
            self.zone.add(Moment::Timer(free as u32), nanoseconds);
        }
        free as u32
    }

    fn disarm(&mut self, timer: u32) {
        self.armed[timer as usize] = None;
        self.zone.remove(Moment::Timer(timer));
    }

    /// An event that is no timer happens: time may have passed.
    pub(super) fn pass(&mut self) {
        self.zone.pass();
    }

    /// A timer fires.
    ///
    /// # Panics
    ///
    /// It is not armed.
    pub(super) fn fire(&mut self, timer: u32) {
        let armed = self.armed.get_mut(timer as usize).and_then(Option::as_mut);
        let armed = armed.expect("a timer that fires is armed");
        armed.is_due = true;
        if let Some(waker) = armed.waker.take() {
            waker.wake();
        }
        match self.order {
            Order::Ordered => self.zone.fire(timer),
            Order::Any => self.clock = self.clock.map(|clock| clock.saturating_add(armed.nanoseconds as u64)),
        }
    }

    /// The timers that can be the next, with their names.
    pub(super) fn next(&self) -> impl Iterator<Item = (u32, &'static str)> {
        let can_fire = move |timer: &u32| self.order == Order::Any || self.zone.can_fire(*timer);
        let armed = (0..).zip(&self.armed).filter_map(|(number, timer)| Some((number, timer.as_ref()?)));
        let waiting = armed.filter(|(_, timer)| !timer.is_due).map(|(number, timer)| (number, timer.name.text()));
        waiting.filter(move |(number, _)| can_fire(number))
    }

    /// The time until a timer fires, in a running node.
    pub(super) fn until(&self, timer: u32) -> Option<RangeInclusive<Duration>> {
        let armed = self.armed.get(timer as usize)?.as_ref()?;
        let [shortest, longest] = self.zone.until(timer).unwrap_or([armed.nanoseconds; 2]);
        let duration = |nanoseconds: i64| Duration::from_nanos(nanoseconds.max(0) as u64);
        Some(duration(shortest)..=duration(longest))
    }

    fn now(&mut self) -> Instant {
        let clock = match self.order {
            Order::Ordered => match (self.zone.read(), self.clock) {
                (Some(passed), Some(clock)) => clock.saturating_add(passed as u64),
                _ => 0,
            },
            Order::Any => self.clock.unwrap_or(0),
        };
        self.clock = Some(clock);
        Instant(clock)
    }

    pub(super) fn trim(&mut self) {
        let used = self.armed.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        self.armed.truncate(used);
        self.armed.shrink_to_fit();
    }

    /// The names of the armed timers, in their order.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.armed.iter().flatten().map(|timer| timer.name.text()).collect()
    }
}

/// A reading of the node's clock, which begins at 0 with the first reading.
///
/// A program that reads the clock sees the least time that can have passed: only timers take time, and messages none. Each reading becomes
/// a part of the state, so a program that does not read the clock has fewer states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The node's clock.
    ///
    /// # Panics
    ///
    /// No handler of a node runs.
    #[track_caller]
    #[must_use]
    pub fn now() -> Self {
        required(&TIMERS).borrow_mut().now()
    }

    /// The time since then; zero if it is still to come.
    #[track_caller]
    #[must_use]
    pub fn elapsed(self) -> Duration {
        Self::now() - self
    }

    /// The time since an earlier instant; zero if that is a later one.
    #[must_use]
    pub fn duration_since(self, earlier: Self) -> Duration {
        self - earlier
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Waits for a timer, which is armed where this is made, and disarmed where it is dropped.
#[derive(Debug)]
pub struct Sleep {
    state: Wait,
}

#[derive(Debug)]
enum Wait {
    Armed(u32),
    Over,
    Never,
}

impl Sleep {
    fn new(name: Name, duration: Duration) -> Self {
        let state = if duration.is_zero() {
            Wait::Over
        } else if duration >= NEVER {
            Wait::Never
        } else {
            Wait::Armed(required(&TIMERS).borrow_mut().arm(name, duration))
        };
        Self { state }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, polling: &mut Polling<'_>) -> Poll<()> {
        let number = match self.state {
            Wait::Over => return Poll::Ready(()),
            Wait::Never => return Poll::Pending,
            Wait::Armed(number) => number,
        };
        let timers = required(&TIMERS);
        let mut timers = timers.borrow_mut();
        let timer = timers.armed[number as usize].as_mut().expect("a sleep disarms no timer but its own");
        if timer.is_due {
            timers.disarm(number);
            self.state = Wait::Over;
            return Poll::Ready(());
        }
        timer.waker = Some(polling.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        // While a node is dropped there is no executor, and its timers are dropped as well.
        if let Wait::Armed(number) = self.state
            && let Some(timers) = present(&TIMERS)
        {
            timers.borrow_mut().disarm(number);
        }
    }
}

/// Waits for a duration: a local event of the node, named after the line that calls this. A duration of 0 is no wait.
///
/// # Panics
///
/// No handler of a node runs.
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    Sleep::new(Name::Place(Location::caller()), duration)
}

/// As [`sleep`], and the local event has this name.
///
/// # Panics
///
/// No handler of a node runs.
#[track_caller]
pub fn sleep_named(name: &'static str, duration: Duration) -> Sleep {
    Sleep::new(Name::Given(name), duration)
}

/// Waits until the clock shows this. Reads the clock.
///
/// # Panics
///
/// No handler of a node runs.
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    let left = deadline - Instant::now();
    Sleep::new(Name::Place(Location::caller()), left)
}

/// The end of a wait that took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the time is up")]
pub struct Elapsed;

/// Waits for a future for at most a duration.
///
/// # Errors
///
/// The timer fires first. Where both are ready at once, the future wins.
///
/// # Panics
///
/// No handler of a node runs.
#[track_caller]
pub fn timeout<F: Future>(duration: Duration, future: F) -> impl Future<Output = Result<F::Output, Elapsed>> {
    let sleep = sleep(duration);
    async move {
        let (mut sleep, mut future) = (pin!(sleep), pin!(future));
        std::future::poll_fn(|polling| match future.as_mut().poll(polling) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending => sleep.as_mut().poll(polling).map(|()| Err(Elapsed)),
        })
        .await
    }
}
