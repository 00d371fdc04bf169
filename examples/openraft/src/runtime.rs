//! The runtime that openraft asks for, made of tasks of the SDK, and its channels.

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use guest_sdk::tasks;
use openraft::async_runtime as rt;
use openraft::type_config::async_runtime::{mpsc, mutex, oneshot, watch};
use rand::SeedableRng;
use rand::rngs::SmallRng;

/// Tasks, timers and channels of one node.
#[derive(Debug)]
pub struct Runtime;

/// A reading of the node's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(tasks::Instant);

impl std::ops::Add<Duration> for Instant {
    type Output = Self;
    fn add(self, duration: Duration) -> Self {
        Self(self.0 + duration)
    }
}

impl std::ops::AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        self.0 += duration;
    }
}

impl std::ops::Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, duration: Duration) -> Self {
        Self(self.0 - duration)
    }
}

impl std::ops::SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        self.0 = self.0 - duration;
    }
}

impl std::ops::Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        self.0 - earlier.0
    }
}

impl rt::Instant for Instant {
    fn now() -> Self {
        Self(tasks::Instant::now())
    }
}

/// Sleeping that is an event.
#[derive(Clone, Copy, Debug)]
pub struct Sleeping {
    /// That for a microsecond: the library sleeps so long after each write of its log, to report several at once.
    pub short: bool,
    /// That of the task which ticks. It sleeps once before it sees that ticks are off.
    pub ticks: bool,
}

thread_local! {
    static SLEEPING: Cell<Sleeping> = const { Cell::new(Sleeping { short: true, ticks: true }) };
}

impl Sleeping {
    /// From now on, on this node.
    pub fn set(self) {
        SLEEPING.set(self);
    }
}

/// Sleeping. Without an event, the tasks that are ready run first.
pub enum Sleep {
    Timer(tasks::Sleep),
    Yield { is_first: bool },
}

impl Sleep {
    #[track_caller]
    fn until(deadline: tasks::Instant) -> Self {
        let events = SLEEPING.get();
        let is_short = deadline - tasks::Instant::now() <= Duration::from_micros(1);
        let is_tick = Location::caller().file().ends_with("core/tick.rs");
        if is_short && !events.short || is_tick && !events.ticks {
            Self::Yield { is_first: true }
        } else {
            Self::Timer(tasks::sleep_until(deadline))
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, polling: &mut Context<'_>) -> Poll<()> {
        match &mut *self {
            Self::Timer(sleep) => Pin::new(sleep).poll(polling),
            Self::Yield { is_first: false } => Poll::Ready(()),
            Self::Yield { is_first } => {
                *is_first = false;
                polling.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

/// A future with a time limit.
pub struct Timeout<F> {
    sleep: tasks::Sleep,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, tasks::Elapsed>;

    fn poll(mut self: Pin<&mut Self>, polling: &mut Context<'_>) -> Poll<Self::Output> {
        match self.future.as_mut().poll(polling) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending => Pin::new(&mut self.sleep).poll(polling).map(|()| Err(tasks::Elapsed)),
        }
    }
}

impl rt::AsyncRuntime for Runtime {
    type JoinError = tasks::Aborted;
    type JoinHandle<T: 'static> = tasks::JoinHandle<T>;
    type Sleep = Sleep;
    type Instant = Instant;
    type TimeoutError = tasks::Elapsed;
    type Timeout<R, T: Future<Output = R>> = Timeout<T>;
    type ThreadLocalRng = SmallRng;
    type Mpsc = Channels;
    type Watch = Channels;
    type Oneshot = Channels;
    type Mutex<T: 'static> = Mutex<T>;

    #[track_caller]
    fn spawn<T>(future: T) -> Self::JoinHandle<T::Output>
    where
        T: Future + 'static,
        T::Output: 'static,
    {
        tasks::spawn(future)
    }

    #[track_caller]
    fn sleep(duration: Duration) -> Self::Sleep {
        Sleep::until(tasks::Instant::now() + duration)
    }

    #[track_caller]
    fn sleep_until(deadline: Instant) -> Self::Sleep {
        Sleep::until(deadline.0)
    }

    #[track_caller]
    fn timeout<R, F: Future<Output = R>>(duration: Duration, future: F) -> Timeout<F> {
        Timeout { sleep: tasks::sleep(duration), future: Box::pin(future) }
    }

    #[track_caller]
    fn timeout_at<R, F: Future<Output = R>>(deadline: Instant, future: F) -> Timeout<F> {
        Timeout { sleep: tasks::sleep_until(deadline.0), future: Box::pin(future) }
    }

    fn is_panic(_: &Self::JoinError) -> bool {
        false
    }

    fn thread_rng() -> SmallRng {
        SmallRng::seed_from_u64(0)
    }

    fn new(_: usize) -> Self {
        Self
    }

    fn block_on<F, T>(&mut self, _: F) -> T
    where
        F: Future<Output = T>,
    {
        unreachable!("a node never blocks")
    }
}

/// The wakers of tasks that wait for a change.
#[derive(Debug, Default)]
struct Waiting(RefCell<Vec<Waker>>);

impl Waiting {
    fn wait(&self, polling: &Context<'_>) {
        let mut wakers = self.0.borrow_mut();
        if !wakers.iter().any(|waker| waker.will_wake(polling.waker())) {
            wakers.push(polling.waker().clone());
        }
    }

    fn wake(&self) {
        self.0.take().into_iter().for_each(Waker::wake);
    }
}

/// Channels between tasks of one node. A list without entries has no room.
#[derive(Debug)]
pub struct Channels;

struct Queue<T> {
    messages: RefCell<VecDeque<T>>,
    room: usize,
    senders: Cell<usize>,
    is_closed: Cell<bool>,
    receiver: Waiting,
    blocked: Waiting,
}

impl<T> Queue<T> {
    fn take(&self) -> Option<T> {
        let mut messages = self.messages.borrow_mut();
        let first = messages.pop_front();
        if messages.is_empty() {
            *messages = VecDeque::new();
        }
        drop(messages);
        self.blocked.wake();
        first
    }
}

pub struct Sender<T>(Rc<Queue<T>>);
pub struct Receiver<T>(Rc<Queue<T>>);
pub struct WeakSender<T>(Weak<Queue<T>>);

impl<T> Sender<T> {
    fn of(queue: Rc<Queue<T>>) -> Self {
        queue.senders.set(queue.senders.get() + 1);
        Self(queue)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self::of(Rc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.senders.set(self.0.senders.get() - 1);
        if self.0.senders.get() == 0 {
            self.0.receiver.wake();
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.0.is_closed.set(true);
        self.0.messages.take();
        self.0.blocked.wake();
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        Self(Weak::clone(&self.0))
    }
}

impl mpsc::Mpsc for Channels {
    type Sender<T> = Sender<T>;
    type Receiver<T> = Receiver<T>;
    type WeakSender<T> = WeakSender<T>;

    fn channel<T>(buffer: usize) -> (Sender<T>, Receiver<T>) {
        let queue = Rc::new(Queue {
            messages: RefCell::default(),
            room: buffer,
            senders: Cell::new(0),
            is_closed: Cell::new(false),
            receiver: Waiting::default(),
            blocked: Waiting::default(),
        });
        (Sender::of(Rc::clone(&queue)), Receiver(queue))
    }
}

impl<T> mpsc::MpscSender<Channels, T> for Sender<T> {
    async fn send(&self, message: T) -> Result<(), mpsc::SendError<T>> {
        let queue = &self.0;
        poll_fn(|polling| {
            if queue.is_closed.get() || queue.messages.borrow().len() < queue.room {
                return Poll::Ready(());
            }
            queue.blocked.wait(polling);
            Poll::Pending
        })
        .await;
        if queue.is_closed.get() {
            return Err(mpsc::SendError(message));
        }
        queue.messages.borrow_mut().push_back(message);
        queue.receiver.wake();
        Ok(())
    }

    fn downgrade(&self) -> WeakSender<T> {
        WeakSender(Rc::downgrade(&self.0))
    }
}

impl<T> mpsc::MpscReceiver<T> for Receiver<T> {
    async fn recv(&mut self) -> Option<T> {
        poll_fn(|polling| match self.0.take() {
            Some(message) => Poll::Ready(Some(message)),
            None if self.0.senders.get() == 0 => Poll::Ready(None),
            None => {
                self.0.receiver.wait(polling);
                Poll::Pending
            }
        })
        .await
    }

    fn try_recv(&mut self) -> Result<T, mpsc::TryRecvError> {
        let none = if self.0.senders.get() == 0 { mpsc::TryRecvError::Disconnected } else { mpsc::TryRecvError::Empty };
        self.0.take().ok_or(none)
    }
}

impl<T> mpsc::MpscWeakSender<Channels, T> for WeakSender<T> {
    fn upgrade(&self) -> Option<Sender<T>> {
        self.0.upgrade().filter(|queue| queue.senders.get() > 0).map(Sender::of)
    }
}

struct Slot<T> {
    value: Cell<Option<T>>,
    is_over: Cell<bool>,
    waiting: Waiting,
}

pub struct OneSender<T>(Rc<Slot<T>>);
pub struct OneReceiver<T>(Rc<Slot<T>>);

/// The sender was dropped.
#[derive(Clone, Copy, Debug)]
pub struct Dropped;

impl std::fmt::Display for Dropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("channel closed")
    }
}

impl std::error::Error for Dropped {}

impl oneshot::Oneshot for Channels {
    type Sender<T> = OneSender<T>;
    type Receiver<T> = OneReceiver<T>;
    type ReceiverError = Dropped;

    fn channel<T>() -> (OneSender<T>, OneReceiver<T>) {
        let slot = Rc::new(Slot { value: Cell::new(None), is_over: Cell::new(false), waiting: Waiting::default() });
        (OneSender(Rc::clone(&slot)), OneReceiver(slot))
    }
}

impl<T> oneshot::OneshotSender<T> for OneSender<T> {
    fn send(self, value: T) -> Result<(), T> {
        // The receiver holds the only other reference.
        if Rc::strong_count(&self.0) == 1 {
            return Err(value);
        }
        self.0.value.set(Some(value));
        Ok(())
    }
}

impl<T> Drop for OneSender<T> {
    fn drop(&mut self) {
        self.0.is_over.set(true);
        self.0.waiting.wake();
    }
}

impl<T> Future for OneReceiver<T> {
    type Output = Result<T, Dropped>;

    fn poll(self: Pin<&mut Self>, polling: &mut Context<'_>) -> Poll<Self::Output> {
        match self.0.value.take() {
            Some(value) => Poll::Ready(Ok(value)),
            None if self.0.is_over.get() => Poll::Ready(Err(Dropped)),
            None => {
                self.0.waiting.wait(polling);
                Poll::Pending
            }
        }
    }
}

struct Watched<T> {
    value: RefCell<T>,
    version: Cell<u64>,
    senders: Cell<usize>,
    waiting: Waiting,
}

pub struct WatchSender<T>(Rc<Watched<T>>);
pub struct WatchReceiver<T> {
    watched: Rc<Watched<T>>,
    seen: u64,
}

impl<T> WatchSender<T> {
    fn of(watched: Rc<Watched<T>>) -> Self {
        watched.senders.set(watched.senders.get() + 1);
        Self(watched)
    }
}

impl<T> Clone for WatchSender<T> {
    fn clone(&self) -> Self {
        Self::of(Rc::clone(&self.0))
    }
}

impl<T> Drop for WatchSender<T> {
    fn drop(&mut self) {
        self.0.senders.set(self.0.senders.get() - 1);
        if self.0.senders.get() == 0 {
            self.0.waiting.wake();
        }
    }
}

impl<T> Clone for WatchReceiver<T> {
    fn clone(&self) -> Self {
        Self { watched: Rc::clone(&self.watched), seen: self.seen }
    }
}

impl watch::Watch for Channels {
    type Sender<T> = WatchSender<T>;
    type Receiver<T> = WatchReceiver<T>;
    type Ref<'a, T: 'a> = Ref<'a, T>;

    fn channel<T>(init: T) -> (WatchSender<T>, WatchReceiver<T>) {
        let watched = Rc::new(Watched {
            value: RefCell::new(init),
            version: Cell::new(0),
            senders: Cell::new(0),
            waiting: Waiting::default(),
        });
        (WatchSender::of(Rc::clone(&watched)), WatchReceiver { watched, seen: 0 })
    }
}

impl<T> watch::WatchSender<Channels, T> for WatchSender<T> {
    fn send(&self, value: T) -> Result<(), watch::SendError<T>> {
        if Rc::strong_count(&self.0) == self.0.senders.get() {
            return Err(watch::SendError(value));
        }
        self.send_if_modified(|current| {
            *current = value;
            true
        });
        Ok(())
    }

    fn send_if_modified<F>(&self, modify: F) -> bool
    where
        F: FnOnce(&mut T) -> bool,
    {
        let is_modified = modify(&mut self.0.value.borrow_mut());
        if is_modified {
            self.0.version.set(self.0.version.get() + 1);
            self.0.waiting.wake();
        }
        is_modified
    }

    fn borrow_watched(&self) -> Ref<'_, T> {
        self.0.value.borrow()
    }

    fn subscribe(&self) -> WatchReceiver<T> {
        WatchReceiver { watched: Rc::clone(&self.0), seen: self.0.version.get() }
    }
}

impl<T> watch::WatchReceiver<Channels, T> for WatchReceiver<T> {
    async fn changed(&mut self) -> Result<(), watch::RecvError> {
        poll_fn(|polling| {
            let version = self.watched.version.get();
            if version != self.seen {
                self.seen = version;
                return Poll::Ready(Ok(()));
            }
            if self.watched.senders.get() == 0 {
                return Poll::Ready(Err(watch::RecvError(())));
            }
            self.watched.waiting.wait(polling);
            Poll::Pending
        })
        .await
    }

    fn borrow_watched(&self) -> Ref<'_, T> {
        self.watched.value.borrow()
    }

    fn borrow_and_update(&mut self) -> Ref<'_, T> {
        self.seen = self.watched.version.get();
        self.watched.value.borrow()
    }
}

/// A lock that tasks wait for.
pub struct Mutex<T> {
    value: RefCell<T>,
    waiting: Waiting,
}

pub struct Guard<'a, T> {
    value: Option<RefMut<'a, T>>,
    waiting: &'a Waiting,
}

impl<T> std::ops::Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.value.as_ref().expect("held until the drop")
    }
}

impl<T> std::ops::DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("held until the drop")
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.value = None;
        self.waiting.wake();
    }
}

impl<T: 'static> mutex::Mutex<T> for Mutex<T> {
    type Guard<'a> = Guard<'a, T>;

    fn new(value: T) -> Self {
        Self { value: RefCell::new(value), waiting: Waiting::default() }
    }

    async fn lock(&self) -> Guard<'_, T> {
        poll_fn(|polling| match self.value.try_borrow_mut() {
            Ok(value) => Poll::Ready(Guard { value: Some(value), waiting: &self.waiting }),
            Err(_) => {
                self.waiting.wait(polling);
                Poll::Pending
            }
        })
        .await
    }
}
