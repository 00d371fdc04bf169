// Answers requests from a recording, as a server would.

import type { Difference, Moved, Place, Preview, Row, State, Step, Strips, Why } from "../api";
import { takenBy } from "../model/kinds";
import { LETTERS, worst } from "../standings";
import { path as pathOf, present } from "../state/rows";
import type { Recording } from "./recording";

/** Null: the recording has no answer. */
export type Answered = object | null;

export class Player {
  private readonly states = new Map<Place, State>();

  constructor(private readonly recording: Recording) {
    for (const state of recording.states) this.states.set(state.step.place, state);
  }

  answer(method: string, path: string, body: string | null): Answered {
    const { pathname, searchParams } = new URL(path, "http://recording/");
    const [part, first, second] = pathname.slice(1).split("/");
    const place = Number(first);
    const to = Number(searchParams.get("to") ?? 0);
    switch (`${method} ${part} ${second ?? ""}`.trim()) {
      case "GET session":
        return this.recording.session;
      case "GET tree":
        return this.recording.states.map(({ step }) => step).filter((step) => step.place >= Number(searchParams.get("from")));
      case "GET line":
        return this.line(to).slice(Number(searchParams.get("from")));
      case "GET standings":
        return this.strips(to, Number(searchParams.get("from")));
      case "GET diff":
        return this.difference(Number(searchParams.get("one")), Number(searchParams.get("other")));
      case "GET places":
        return this.states.get(place) ?? null;
      case "GET places preview":
        return this.preview(this.child(place, Number(searchParams.get("action")), Number(searchParams.get("outcome"))));
      case "GET places writer":
        return this.writer(place, Number(searchParams.get("node")), searchParams.get("path") ?? "");
      case "GET places link":
        return { fragment: `place-${place}` };
      case "POST places take":
        return this.take(place, body);
      case "POST replay":
        return this.linked(body ?? "");
      default:
        return null;
    }
  }

  private line(to: Place): Step[] {
    const line: Step[] = [];
    for (let at = this.states.get(to); at; at = this.states.get(at.step.parent ?? -1)) line.push(at.step);
    return line.reverse();
  }

  /** `place-N`; `step-N`: that step of the line which the page begins with. */
  private linked(body: string): Moved | null {
    const [, what, number] = /(place|step)-(\d{1,9})/.exec(body) ?? [];
    const { line } = this.recording.session;
    const place = what === "step" ? (line[Number(number)] ?? -1) : Number(number ?? NaN);
    return what === "step" && line.includes(place) ? { place, line } : this.moved(place);
  }

  private moved(place: Place): Moved | null {
    if (!this.states.has(place)) return null;
    return { place, line: this.continued(this.line(place).map((step) => step.place)) };
  }

  /** A line as far as its branch is recorded. */
  private continued(line: Place[]): Place[] {
    let next: Place | null = line[line.length - 1] ?? null;
    while ((next = next === null ? null : this.next(next)) !== null) line.push(next);
    return line;
  }

  /** The first recorded place after another. */
  private next(place: Place): Place | null {
    return this.states.get(place)?.children.find((step) => this.states.has(step.place))?.place ?? null;
  }

  private child(place: Place, action: number, outcome: number): State | null {
    const enabled = this.states.get(place)?.enabled.find((event) => event.action === action);
    const child = enabled?.outcomes.find((other) => other.outcome === outcome)?.child ?? -1;
    return this.states.get(child) ?? null;
  }

  private take(place: Place, body: string | null): Moved | null {
    const { action, outcome } = JSON.parse(body ?? "{}") as { action: number; outcome: number };
    const child = this.child(place, action, outcome);
    return child && { place: child.step.place, line: this.continued([place, child.step.place]) };
  }

  private preview(child: State | null): Preview | null {
    const event = child?.step.event;
    if (!child || !event) return null;
    return { node: event.node, rows: child.nodes[event.node]?.rows ?? [], sent: event.sent, standings: child.standings };
  }

  /** The last step that changed a row. */
  private writer(place: Place, node: number, path: string): Why {
    const valueAt = (step: Step | undefined) => {
      const rows = this.states.get(step?.place ?? -1)?.nodes[node]?.rows ?? [];
      return rows.find((row, index) => row.mark !== "gone" && pathOf(rows, index) === path)?.value;
    };
    const line = this.line(place);
    const value = valueAt(line[line.length - 1]);
    let index = line.length - 1;
    while (index > 0 && valueAt(line[index - 1]) === value) index -= 1;
    const step = line[index];
    const senders = step?.event ? takenBy(step.event).map(({ sent }) => sent) : [];
    const since = index === 0 ? "the start" : `step ${index}, ${step?.event?.text}`;
    return { text: `${path} is ${value ?? "there"} since ${since}`, places: index === 0 || !step ? [] : [...senders, step.place] };
  }

  private strips(to: Place, from: number): Strips {
    const states = this.line(to).slice(from).map((step) => this.states.get(step.place));
    const letter = (property: number) => (state: State | undefined) => {
      const standing = state && worst(state.standings, property);
      return standing ? LETTERS[standing.standing] : ".";
    };
    return { strips: this.recording.session.properties.map((_, property) => states.map(letter(property)).join("")) };
  }

  private difference(one: Place, other: Place): Difference | null {
    const [before, after] = [this.states.get(one), this.states.get(other)];
    if (!before || !after) return null;
    const [mine, theirs] = [this.line(one), this.line(other)];
    const parts = mine.findIndex((step, index) => step.place !== theirs[index]?.place);
    const shared = (parts < 0 ? mine.length : parts) - 1;
    const nodes = after.nodes.map(({ rows }, node) => ({ node, rows: compared(present(before.nodes[node]?.rows ?? []), present(rows)) }));
    return { shared, nodes: nodes.filter(({ rows }) => rows.some(({ mark }) => mark !== "same")) };
  }
}

/** The rows of a state against another one: by their paths. */
function compared(before: Row[], after: Row[]): Row[] {
  const old = new Map(before.map((row, index) => [pathOf(before, index), row]));
  const rows = after.map((row, index): Row => {
    const path = pathOf(after, index);
    const was = old.get(path);
    old.delete(path);
    if (!was) return { ...row, mark: "new" };
    return was.value === row.value ? row : { ...row, mark: "changed", old: was.value };
  });
  return [...rows, ...[...old.values()].map((row): Row => ({ ...row, mark: "gone" }))];
}
