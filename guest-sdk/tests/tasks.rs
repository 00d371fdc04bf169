//! Programs of tasks, natively: the order of tasks and timers, results, and what ends with a node.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use guest_sdk::tasks::{self, Instant, Network, Program, Tasks};
use guest_sdk::test::Cluster;
use guest_sdk::{About, Never, ParameterError, Parameters, Properties};

/// The lines that a program writes.
#[derive(Clone, Debug, Default)]
struct Page(Rc<RefCell<Vec<String>>>);

impl Page {
    fn write(&self, line: impl Into<String>) {
        self.0.borrow_mut().push(line.into());
    }
}

type Main = fn(Page, Network<u32>);

/// One of the programs below.
struct Written(Main);

impl Program for Written {
    const ABOUT: About = guest_sdk::about!().nodes(1);
    type Message = u32;
    type Call = Never;
    type Durable = Never;
    type Shared = Page;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let all: [(&str, Main); 6] = [
            ("three-tasks", three_tasks),
            ("ends", ends),
            ("alarms", alarms),
            ("limits", limits),
            ("questions", questions),
            ("guards", guards),
        ];
        Ok(Self(parameters.choice("main", &all, "the program")?))
    }

    fn start(&self, network: Network<u32>, _: Option<Never>) -> Page {
        let page = Page::default();
        (self.0)(page.clone(), network);
        page
    }

    fn properties(_: &mut Properties<Tasks<Self>>) {}
}

fn cluster(main: &str, more: &[(&str, &str)], answers: &[u32]) -> Cluster<Tasks<Written>> {
    let parameters = [&[("main", main)], more].concat();
    Cluster::scripted(1, &parameters, answers).expect("the parameters fit")
}

fn lines(cluster: &Cluster<Tasks<Written>>) -> Vec<String> {
    cluster.state(0).0.borrow().clone()
}

fn timers(cluster: &Cluster<Tasks<Written>>) -> Vec<&'static str> {
    cluster.local_events(0).iter().map(|event| event.name).collect()
}

/// Three tasks. The first one lets the others run in between.
fn three_tasks(page: Page, _: Network<u32>) {
    let [a, b, c] = [page.clone(), page.clone(), page];
    tasks::spawn(async move {
        a.write("a1");
        tasks::yield_now().await;
        a.write("a2");
    });
    tasks::spawn(async move { b.write("b") });
    tasks::spawn(async move { c.write("c") });
}

#[test]
fn ready_tasks_run_first_in_first_out_unless_the_checker_passes_over_some() {
    assert_eq!(lines(&cluster("three-tasks", &[], &[])), ["a1", "b", "c", "a2"]);
    // With one delay, the first of two answers that are possible each time is the order as before.
    assert_eq!(lines(&cluster("three-tasks", &[("delays", "1")], &[0, 0, 0])), ["a1", "b", "c", "a2"]);
    assert_eq!(lines(&cluster("three-tasks", &[("delays", "1")], &[1])), ["b", "a1", "c", "a2"]);
    assert_eq!(lines(&cluster("three-tasks", &[("delays", "1")], &[0, 1])), ["a1", "c", "b", "a2"]);
    // Two delays at once, and then there is no choice any more.
    assert_eq!(lines(&cluster("three-tasks", &[("delays", "2")], &[2])), ["c", "a1", "b", "a2"]);
    assert_eq!(lines(&cluster("three-tasks", &[("delays", "2")], &[1, 1])), ["b", "c", "a1", "a2"]);
}

/// Ways in which a task ends.
fn ends(page: Page, _: Network<u32>) {
    let [waits, joins, page] = [page.clone(), page.clone(), page];
    let waiting = tasks::spawn(async move {
        let _guard = Guard(waits);
        tasks::sleep_named("never", Duration::MAX).await;
    });
    let value = tasks::spawn(async { 7 });
    tasks::spawn(async move {
        joins.write(format!("{:?}", value.await));
        joins.write(format!("finished {}", waiting.is_finished()));
        waiting.abort();
        joins.write(format!("finished {}", waiting.is_finished()));
        joins.write(format!("{:?}", waiting.await));
    });
    // Its handle is dropped, and it runs.
    drop(tasks::spawn(async move { page.write("alone") }));
}

struct Guard(Page);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.write("dropped");
    }
}

#[test]
fn a_task_has_one_end() {
    let cluster = cluster("ends", &[], &[]);
    assert_eq!(lines(&cluster), ["Ok(7)", "finished false", "dropped", "finished true", "Err(Aborted)", "alone"]);
    // A sleep without end is no event.
    assert!(timers(&cluster).is_empty());
}

/// Two alarms at the start, and one for each message: as many seconds as it says.
fn alarms(page: Page, network: Network<u32>) {
    let alarm = |name: &'static str, page: &Page, seconds: u32| {
        let page = page.clone();
        tasks::spawn(async move {
            tasks::sleep_named(name, Duration::from_secs(seconds.into())).await;
            page.write(name);
        });
    };
    alarm("ten", &page, 10);
    alarm("twelve", &page, 12);
    if network.me() == 0 {
        network.send_to(0, 1);
    }
    tasks::spawn(async move {
        loop {
            let (_, seconds) = network.recv_from().await;
            alarm("message", &page, seconds);
        }
    });
}

#[test]
fn a_timer_that_cannot_be_the_next_is_not_listed() {
    let mut ordered = cluster("alarms", &[], &[]);
    assert_eq!(timers(&ordered), ["ten"]);
    ordered.deliver(0);
    // The message came at any time up to ten seconds after the start, and its alarm is one second later.
    assert_eq!(timers(&ordered), ["ten", "message"]);
    ordered.happen(0, "ten");
    assert_eq!(timers(&ordered), ["message"]);
    ordered.happen(0, "message");
    ordered.happen(0, "twelve");
    assert_eq!(lines(&ordered), ["ten", "message", "twelve"]);
    let mut free = cluster("alarms", &[("timer-order", "any")], &[]);
    assert_eq!(timers(&free), ["ten", "twelve"]);
    free.happen(0, "twelve");
    assert_eq!(timers(&free), ["ten"]);
}

/// Waits with a limit, and the clock.
fn limits(page: Page, _: Network<u32>) {
    tasks::spawn(async move {
        let start = Instant::now();
        let ready = tasks::timeout(Duration::from_secs(1), std::future::ready(5)).await;
        page.write(format!("{ready:?} after {:?}", start.elapsed()));
        let late = tasks::timeout(Duration::from_secs(1), std::future::pending::<()>()).await;
        page.write(format!("{late:?} after {:?}", start.elapsed()));
        tasks::sleep_until(start + Duration::from_secs(3)).await;
        page.write(format!("{:?}", start.elapsed()));
        // That moment is over.
        tasks::sleep_until(start).await;
        page.write("at once");
    });
}

#[test]
fn time_passes_by_timers_alone() {
    for order in ["time", "any"] {
        let mut cluster = cluster("limits", &[("timer-order", order)], &[]);
        assert_eq!(lines(&cluster), ["Ok(5) after 0ns"]);
        let timer = timers(&cluster)[0];
        assert!(timer.starts_with("tasks.rs:"), "{timer}");
        cluster.happen(0, timer);
        assert_eq!(lines(&cluster)[1..], ["Err(Elapsed) after 1s"], "{order}");
        let timer = timers(&cluster)[0];
        cluster.happen(0, timer);
        assert_eq!(lines(&cluster)[2..], ["3s", "at once"], "{order}");
        assert!(timers(&cluster).is_empty());
    }
}

/// A task that asks the checker.
fn questions(page: Page, _: Network<u32>) {
    tasks::spawn(async move {
        for alternatives in [2, 3] {
            page.write(tasks::choose(alternatives).await.to_string());
            tasks::log(format_args!("of {alternatives}"));
        }
    });
}

#[test]
fn a_task_gets_the_answers_of_the_checker() {
    let cluster = cluster("questions", &[], &[1, 2]);
    assert_eq!(lines(&cluster), ["1", "2"]);
    assert_eq!(cluster.log(), ["of 2", "of 3"]);
}

/// Tasks that hold each other's handles and timers when the node ends.
fn guards(page: Page, network: Network<u32>) {
    let (first, second) = (Guard(page.clone()), Guard(page));
    let waiting = tasks::spawn(async move {
        let _guard = first;
        tasks::sleep_named("never mind", Duration::from_secs(1)).await;
    });
    tasks::spawn(async move {
        let _guard = second;
        let received = network.recv_from().await;
        waiting.abort();
        received
    });
}

#[test]
fn a_node_that_ends_drops_its_tasks() {
    let cluster = cluster("guards", &[], &[]);
    let page = cluster.state(0).0.clone();
    assert!(page.borrow().is_empty());
    drop(cluster);
    assert_eq!(*page.borrow(), ["dropped", "dropped"]);
}

#[test]
#[should_panic(expected = "tasks, timers and choices belong to a node")]
fn a_task_outside_of_a_node_is_refused() {
    drop(tasks::spawn(async {}));
}
