//! Runs the tasks of a node: by number, in the order in which they became ready, until none is.
//!
//! Between two handlers no task is ready, and nothing here has spare room, so that states are not distinguished by the way to them.

use std::cell::{Cell, RefCell};
use std::fmt::{self, Display};
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as Polling, Poll, Waker};

use super::current::{Current, present, required, within};
use super::net::streams::Streams;
use super::ready::Ready;
use super::timers::{Timers, place};
use super::waker::waker;
use crate::Context;

/// Polls per handler. A node that needs more has a task that wakes itself for ever.
const POLLS_MAX: u32 = 50_000;

thread_local! {
    /// The executor of the node whose handler runs.
    static CURRENT: Current<Executor> = const { RefCell::new(None) };
}

/// The tasks of a node, and what they wait for.
pub(super) struct Executor {
    /// By number; the lowest free number is taken next.
    tasks: RefCell<Vec<Option<Box<Task>>>>,
    ready: Rc<Ready>,
    timers: Rc<RefCell<Timers>>,
    streams: Rc<Streams>,
    question: RefCell<Vec<Rc<Question>>>,
    log: RefCell<Vec<String>>,
}

struct Task {
    /// None while the task runs.
    future: Option<Pin<Box<dyn Future<Output = ()>>>>,
    is_aborted: bool,
    spawned_at: &'static Location<'static>,
}

/// A choice that a task waits for.
struct Question {
    alternatives: u32,
    answer: Cell<Option<u32>>,
    waker: Waker,
}

impl Executor {
    pub(super) fn new(timers: Timers, streams: Streams) -> Rc<Self> {
        Rc::new(Self {
            tasks: RefCell::default(),
            ready: Rc::default(),
            timers: Rc::new(RefCell::new(timers)),
            streams: Rc::new(streams),
            question: RefCell::default(),
            log: RefCell::default(),
        })
    }

    /// Runs something as a part of this node.
    pub(super) fn enter<R>(self: &Rc<Self>, run: impl FnOnce() -> R) -> R {
        let run = || self.streams.within(|| Timers::within(&self.timers, run));
        within(&CURRENT, self, || self.ready.within(run))
    }

    /// The timers of the node.
    pub(super) fn timers(&self) -> &RefCell<Timers> {
        &self.timers
    }

    /// The byte streams of the node.
    pub(super) fn streams(&self) -> &Streams {
        &self.streams
    }

    /// Runs the tasks until none is ready. With `delays`, the checker chooses which of the ready tasks is next, as long as the tasks
    /// that it passes over are no more than that.
    pub(super) fn run<M>(self: &Rc<Self>, ctx: &mut Context<'_, M>, delays: u32) {
        let mut left = delays;
        for _ in 0..POLLS_MAX {
            self.answer(ctx);
            let ready = self.ready.count();
            if ready == 0 {
                self.trim();
                return;
            }
            let alternatives = ready.min(left.saturating_add(1));
            let next = if alternatives > 1 { ctx.choose(alternatives) } else { 0 };
            left -= next;
            let task = self.ready.take(next);
            self.enter(|| self.poll(task));
        }
        let tasks = self.tasks.borrow();
        let first = self.ready.first().and_then(|task| tasks.get(task as usize)?.as_ref());
        let at = first.map(|task| task.spawned_at.to_string());
        panic!(
            "the task spawned at {} is still ready after {POLLS_MAX} polls in one handler: it wakes itself and never waits",
            at.unwrap_or_default()
        );
    }

    fn answer<M>(self: &Rc<Self>, ctx: &mut Context<'_, M>) {
        for line in self.log.take() {
            ctx.log(line);
        }
        for question in self.question.take() {
            question.answer.set(Some(ctx.choose(question.alternatives)));
            self.enter(|| question.waker.wake_by_ref());
        }
    }

    fn poll(&self, number: u32) {
        // A waker can be older than the task that has its number now, or than its end.
        let taken = self.tasks.borrow_mut().get_mut(number as usize).and_then(|task| task.as_mut()?.future.take());
        let Some(mut future) = taken else { return };
        let waker = waker(number);
        let polled = future.as_mut().poll(&mut Polling::from_waker(&waker));
        let mut tasks = self.tasks.borrow_mut();
        let slot = &mut tasks[number as usize];
        let ended = match slot {
            Some(task) if polled.is_pending() && !task.is_aborted => {
                task.future = Some(future);
                return;
            }
            slot => slot.take(),
        };
        drop(tasks);
        // Its drop can wake others.
        drop(future);
        self.ready.remove(number);
        drop(ended);
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()>>>, spawned_at: &'static Location<'static>) -> u32 {
        let mut tasks = self.tasks.borrow_mut();
        let free = tasks.iter().position(Option::is_none).unwrap_or(tasks.len());
        if free == tasks.len() {
            tasks.reserve_exact(1);
            tasks.push(None);
        }
        tasks[free] = Some(Box::new(Task { future: Some(future), is_aborted: false, spawned_at }));
        self.ready.add(free as u32);
        free as u32
    }

    fn abort(&self, number: u32) {
        let mut tasks = self.tasks.borrow_mut();
        let Some(slot) = tasks.get_mut(number as usize) else { return };
        let Some(task) = slot else { return };
        task.is_aborted = true;
        // A task that runs is dropped where its poll ends.
        let ended = if task.future.is_some() { slot.take() } else { None };
        drop(tasks);
        if ended.is_some() {
            self.ready.remove(number);
        }
        drop(ended);
    }

    /// Frees the memory that nothing needs.
    fn trim(&self) {
        self.ready.trim();
        let mut tasks = self.tasks.borrow_mut();
        let used = tasks.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        tasks.truncate(used);
        tasks.shrink_to_fit();
        drop(tasks);
        self.timers.borrow_mut().trim();
    }

    /// The places that spawned the live tasks, in their order.
    pub(super) fn spawned(&self) -> Vec<String> {
        self.tasks.borrow().iter().flatten().map(|task| place(task.spawned_at).to_owned()).collect()
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        // One by one: a task that is dropped may abort another one.
        for number in 0..self.tasks.get_mut().len() {
            let task = self.tasks.borrow_mut()[number].take();
            drop(task);
        }
    }
}

/// The end of a task that was aborted before it had a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the task was aborted")]
pub struct Aborted;

/// Waits for the result of a task. A task whose handle is dropped continues.
pub struct JoinHandle<T> {
    task: u32,
    end: Rc<End<T>>,
}

struct End<T> {
    result: Cell<Option<Result<T, Aborted>>>,
    is_over: Cell<bool>,
    waker: Cell<Option<Waker>>,
}

impl<T> End<T> {
    fn is(&self, result: Result<T, Aborted>) {
        if !self.is_over.replace(true) {
            self.result.set(Some(result));
            if let Some(waker) = self.waker.take() {
                waker.wake();
            }
        }
    }
}

/// Held by the task: where it is dropped before it has a result, it was aborted.
struct Ending<T>(Rc<End<T>>);

impl<T> Drop for Ending<T> {
    fn drop(&mut self) {
        self.0.is(Err(Aborted));
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("task", &self.task).field("is_finished", &self.is_finished()).finish()
    }
}

impl<T> JoinHandle<T> {
    /// Ends the task where it waits, and drops what it holds; nothing if it has ended.
    pub fn abort(&self) {
        if !self.is_finished()
            && let Some(executor) = present(&CURRENT)
        {
            executor.abort(self.task);
        }
    }

    /// Whether the task has ended.
    pub fn is_finished(&self) -> bool {
        self.end.is_over.get()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, Aborted>;

    /// # Panics
    ///
    /// The result was taken before.
    fn poll(self: Pin<&mut Self>, polling: &mut Polling<'_>) -> Poll<Self::Output> {
        if self.end.is_over.get() {
            return Poll::Ready(self.end.result.take().expect("a task has one result, which was taken before"));
        }
        self.end.waker.set(Some(polling.waker().clone()));
        Poll::Pending
    }
}

/// Starts a task of this node. It runs first when the present task waits or ends, after all tasks that are ready before it.
///
/// # Panics
///
/// No handler of a node runs.
#[track_caller]
pub fn spawn<T: 'static>(future: impl Future<Output = T> + 'static) -> JoinHandle<T> {
    let end = Rc::new(End { result: Cell::new(None), is_over: Cell::new(false), waker: Cell::new(None) });
    let ending = Ending(Rc::clone(&end));
    // In a box of its own it stays a function of its own, which a fault in it can name.
    let future: Pin<Box<dyn Future<Output = T>>> = Box::pin(future);
    let task = async move {
        let result = future.await;
        ending.0.is(Ok(result));
    };
    JoinHandle { task: required(&CURRENT).spawn(Box::pin(task), Location::caller()), end }
}

/// Lets the tasks that are ready run first.
pub async fn yield_now() {
    let mut is_first = true;
    std::future::poll_fn(|polling| {
        if std::mem::take(&mut is_first) {
            polling.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

/// A number below `alternatives`: the checker explores every answer. As [`Context::choose`](crate::Context::choose).
///
/// # Panics
///
/// `alternatives` is 0, or no handler of a node runs.
pub async fn choose(alternatives: u32) -> u32 {
    let mut asked: Option<Rc<Question>> = None;
    std::future::poll_fn(|polling| match &asked {
        Some(question) => question.answer.get().map_or(Poll::Pending, Poll::Ready),
        None => {
            let waker = polling.waker().clone();
            let question = Rc::new(Question { alternatives, answer: Cell::new(None), waker });
            required(&CURRENT).question.borrow_mut().push(Rc::clone(&question));
            asked = Some(question);
            Poll::Pending
        }
    })
    .await
}

/// Logs a line, which a replay of a trace shows. As [`Context::log`](crate::Context::log).
///
/// # Panics
///
/// No handler of a node runs.
pub fn log(line: impl Display) {
    required(&CURRENT).log.borrow_mut().push(line.to_string());
}
