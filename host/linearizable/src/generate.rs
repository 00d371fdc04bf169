//! Histories of simulated objects: correct by construction, or with one mistake.
//!
//! Concurrent clients call an object whose operations take effect at one instant between call and return. The hardness of a
//! history is that of published ones: many clients at once, few values, crashed clients whose calls stay open.

use std::collections::VecDeque;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// The description of a history.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The name of the model: `register`, `cas-register`, `kv`, `queue`, `counter`, `set` or `mutex`.
    pub model: &'static str,
    /// The number of calls.
    pub operations: usize,
    /// The number of clients at once.
    pub clients: usize,
    /// The number of values that are written, keys of `kv`; 0 for a new value with each write, and one key.
    pub values: u64,
    /// The calls of a thousand that stay without an answer.
    pub open_per_mille: u64,
    /// The random numbers.
    pub seed: u64,
    /// The mistake.
    pub mistake: Option<Mistake>,
}

/// A mistake of the object, at the first chance in the second half of the history: when no other call for the key runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A read returns what was there before the last change.
    StaleRead,
    /// A change returns, and has no effect.
    LostWrite,
}

/// A history as JSON lines.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The lines of the events.
    pub text: String,
    /// The line of the answer that shows the mistake: of the stale read, or of the first read that misses the lost change.
    /// None if there was no chance for the mistake.
    pub mistake_line: Option<u32>,
}

#[derive(Clone, Debug, Default)]
struct Call {
    client: usize,
    process: usize,
    function: &'static str,
    key: u64,
    value: String,
    /// The answer of the object, once the call took effect.
    answer: Option<Answer>,
    /// Whether its answer shows the mistake.
    is_guilty: bool,
    /// Whether its change is lost.
    is_lost: bool,
    /// Whether it began after the return of the call whose change is lost.
    is_after_loss: bool,
    /// Whether no other call for its key ran when it began.
    is_alone: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Ok(String),
    Fail,
}

/// An object per key.
#[derive(Clone, Debug, Default)]
struct Simulated {
    value: Option<String>,
    queue: VecDeque<String>,
    total: i64,
    elements: Vec<String>,
    is_held: bool,
}

struct Generator {
    plan: Plan,
    random: ChaCha8Rng,
    objects: Vec<Simulated>,
    /// Per object, as it was before its last change, if no other call ran with that.
    before: Vec<Option<Simulated>>,
    running: Vec<Call>,
    /// Calls without effect so far whose clients are gone.
    orphans: Vec<Call>,
    idle: Vec<usize>,
    processes: Vec<usize>,
    next_process: usize,
    next_value: u64,
    text: String,
    lines: u32,
    mistake_line: Option<u32>,
    /// Whether the mistake was made.
    is_made: bool,
    /// The key whose last change is lost, once that has returned.
    lost: Option<u64>,
    /// The key for which the mistake was made.
    erred: Option<u64>,
    /// Whether a later write hides the lost change.
    is_hidden: bool,
}

/// Generates a history.
pub fn generate(plan: &Plan) -> Generated {
    let keys = if plan.model == "kv" { plan.values.max(1) as usize } else { 1 };
    let mut generator = Generator {
        plan: *plan,
        random: ChaCha8Rng::seed_from_u64(plan.seed),
        objects: vec![Simulated::default(); keys],
        before: vec![None; keys],
        running: Vec::new(),
        orphans: Vec::new(),
        idle: (0..plan.clients).collect(),
        processes: (0..plan.clients).collect(),
        next_process: plan.clients,
        next_value: 0,
        text: String::new(),
        lines: 0,
        mistake_line: None,
        is_made: false,
        lost: None,
        erred: None,
        is_hidden: false,
    };
    let (mut called, mut serial) = (0, 0);
    while called < plan.operations || !generator.running.is_empty() {
        // A chance for the mistake: some calls without others at the same time.
        let wants_chance = plan.mistake.is_some() && !generator.is_made && called >= plan.operations / 2;
        if wants_chance && serial == 0 && generator.below(30) == 0 {
            serial = 6;
        }
        let can_call =
            called < plan.operations && !generator.idle.is_empty() && (serial == 0 || generator.running.is_empty());
        match generator.below(3) {
            0 if can_call => {
                generator.call(called);
                called += 1;
                serial -= usize::from(serial > 0);
            }
            1 => generator.take_effect(),
            _ => generator.answer(),
        }
    }
    Generated { text: generator.text, mistake_line: generator.mistake_line }
}

impl Generator {
    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    fn line(&mut self, call: &Call, kind: &str, value: &str) {
        let key = if self.plan.model == "kv" { format!(", \"key\": \"k{}\"", call.key) } else { String::new() };
        let Call { process, function, .. } = call;
        let value = if value.is_empty() { String::new() } else { format!(", \"value\": {value}") };
        self.text.push_str(&format!(
            "{{\"process\": {process}, \"type\": \"{kind}\", \"f\": \"{function}\"{key}{value}}}\n"
        ));
        self.lines += 1;
    }

    fn value(&mut self) -> String {
        self.next_value += 1;
        match self.plan.values {
            0 => self.next_value.to_string(),
            _ if self.plan.model == "kv" => format!("\"v{} \"", self.next_value),
            values => self.below(values).to_string(),
        }
    }

    fn call(&mut self, number: usize) {
        let at = self.below(self.idle.len() as u64) as usize;
        let client = self.idle.swap_remove(at);
        let functions: &[&str] = match self.plan.model {
            "register" => &["read", "write"],
            "cas-register" => &["read", "write", "cas"],
            "kv" => &["get", "put", "append", "append"],
            "queue" => &["enqueue", "dequeue"],
            "counter" => &["add", "read"],
            "set" => &["add", "read"],
            _ => &["acquire", "release"],
        };
        let at = self.below(functions.len() as u64) as usize;
        let function = functions[at];
        let mut value = match function {
            "read" | "get" | "dequeue" | "acquire" | "release" => String::new(),
            "cas" => format!("[{}, {}]", self.value(), self.value()),
            "add" if self.plan.model == "counter" => (1 + self.below(self.plan.values.max(1))).to_string(),
            _ => self.value(),
        };
        if self.plan.model == "set" && function == "add" {
            value = number.to_string();
        }
        let key = self.below(self.objects.len() as u64);
        let process = self.processes[client];
        let mut call = Call { client, process, function, key, value: value.clone(), ..Call::default() };
        self.line(&call, "invoke", &value);
        self.err(&mut call, number);
        self.running.push(call);
    }

    /// Makes the mistake, if it is time for it and no other running call could explain it away.
    fn err(&mut self, call: &mut Call, number: usize) {
        let reads = matches!(call.function, "read" | "get");
        call.is_after_loss = reads && self.lost == Some(call.key);
        let is_alone = self.running.iter().chain(&self.orphans).all(|other| other.key != call.key);
        call.is_alone = is_alone;
        if self.is_made || number < self.plan.operations / 2 || !is_alone {
            return;
        }
        let key = call.key as usize;
        match self.plan.mistake {
            Some(Mistake::StaleRead) if reads => {
                let Some(mut before) = self.before[key].clone() else { return };
                let stale = before.execute(call, self.plan.model);
                let right = self.objects[key].clone().execute(call, self.plan.model);
                if stale != right {
                    call.answer = Some(stale);
                    call.is_guilty = true;
                    self.is_made = true;
                }
            }
            Some(Mistake::LostWrite) if !reads => {
                call.answer = Some(self.objects[key].clone().execute(call, self.plan.model));
                call.is_lost = true;
                self.erred = Some(call.key);
                self.is_made = true;
            }
            _ => {}
        }
    }

    /// One of the calls that run, or whose client is gone, takes effect.
    fn take_effect(&mut self) {
        if !self.orphans.is_empty() && self.below(50) == 0 {
            let at = self.below(self.orphans.len() as u64) as usize;
            let call = self.orphans.swap_remove(at);
            self.execute(&call);
            return;
        }
        let waiting: Vec<usize> = (0..self.running.len()).filter(|at| self.running[*at].answer.is_none()).collect();
        if waiting.is_empty() {
            return;
        }
        let at = waiting[self.below(waiting.len() as u64) as usize];
        let call = self.running[at].clone();
        self.running[at].answer = Some(self.execute(&call));
        // A later write hides the loss.
        self.running[at].is_guilty |= call.is_after_loss && !self.is_hidden;
    }

    fn execute(&mut self, call: &Call) -> Answer {
        let key = call.key as usize;
        let before = self.objects[key].clone();
        let answer = self.objects[key].execute(call, self.plan.model);
        self.is_hidden |= self.erred == Some(call.key) && matches!(call.function, "write" | "put");
        if !matches!(call.function, "read" | "get") {
            let others = self.running.iter().chain(&self.orphans).filter(|other| other.key == call.key);
            let is_alone = call.is_alone && others.count() == 1;
            self.before[key] = is_alone.then_some(before);
        }
        answer
    }

    /// One of the calls that run ends: with its answer, or open.
    fn answer(&mut self) {
        if self.running.is_empty() {
            return;
        }
        let at = self.below(self.running.len() as u64) as usize;
        if self.below(1000) < self.plan.open_per_mille {
            // The client is gone, and another one comes in its place; the call may have taken effect, or do so later.
            let call = self.running.swap_remove(at);
            self.line(&call, "info", &call.value.clone());
            self.processes[call.client] = self.next_process;
            self.next_process += 1;
            self.idle.push(call.client);
            if call.answer.is_none() {
                self.orphans.push(call);
            }
            return;
        }
        let Some(answer) = self.running[at].answer.clone() else { return };
        let call = self.running.swap_remove(at);
        match answer {
            Answer::Ok(value) => self.line(&call, "ok", &value),
            Answer::Fail => self.line(&call, "fail", &call.value.clone()),
        }
        if call.is_guilty && self.mistake_line.is_none() {
            self.mistake_line = Some(self.lines);
        }
        // The call that lost its change ends: reads from now on show that.
        if call.is_lost {
            self.lost = Some(call.key);
        }
        self.idle.push(call.client);
    }
}

impl Simulated {
    fn execute(&mut self, call: &Call, model: &str) -> Answer {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "null".to_owned());
        match call.function {
            "write" | "put" => self.value = Some(call.value.clone()),
            "cas" => {
                let pair = call.value.trim_matches(['[', ']']);
                let (old, new) = pair.split_once(", ").unwrap_or_default();
                if shown(&self.value) != old {
                    return Answer::Fail;
                }
                self.value = Some(new.to_owned());
            }
            "append" => {
                let before = self.value.take().unwrap_or_else(|| "\"\"".to_owned());
                self.value = Some(format!("\"{}{}\"", before.trim_matches('"'), call.value.trim_matches('"')));
            }
            "read" if model == "counter" => return Answer::Ok(self.total.to_string()),
            "read" if model == "set" => return Answer::Ok(format!("[{}]", self.elements.join(", "))),
            "read" | "get" => return Answer::Ok(shown(&self.value)),
            "enqueue" => self.queue.push_back(call.value.clone()),
            "dequeue" => return Answer::Ok(shown(&self.queue.pop_front())),
            "add" if model == "counter" => self.total += call.value.parse::<i64>().unwrap_or_default(),
            "add" => self.elements.push(call.value.clone()),
            "acquire" if self.is_held => return Answer::Fail,
            "release" if !self.is_held => return Answer::Fail,
            "acquire" | "release" => self.is_held = !self.is_held,
            _ => {}
        }
        Answer::Ok(call.value.clone())
    }
}
