// Where the page is: the tree of places as far as it is known, the branch that is shown, and the way back.

import type { Moved, Place, State, Step } from "../api";
import { get, post } from "../client";
import type { Core } from "./core";
import { sharedBy } from "./lines";

/** States that are kept. */
const STATES_MAX = 400;
const PAST_MAX = 1000;
/** Steps of one answer. */
const STEPS_MAX = 20_000;

interface At {
  place: Place;
  line: Place[];
}

export class Places {
  /** The branch that is shown: the places from the beginning to its end. */
  line: Place[] = [0];
  place: Place = 0;
  readonly steps = new Map<Place, Step>();
  /** Counts changes of steps and of the line. */
  version = 0;
  private readonly states = new Map<Place, State>();
  private readonly children = new Map<Place, Place[]>();
  private readonly preferred = new Map<Place, Place>();
  private readonly loading = new Set<Place>();
  private readonly failed = new Set<Place>();
  private past: At[] = [];
  private future: At[] = [];
  /** More than every place that is known. */
  private placesMax = 0;
  private lastState: State | null = null;
  private turn = 0;

  constructor(private readonly core: Core) {}

  /** The number of the present step in the branch. */
  get index(): number {
    return Math.max(this.line.indexOf(this.place), 0);
  }

  get canUndo(): boolean {
    return this.past.length > 0;
  }

  get canRedo(): boolean {
    return this.future.length > 0;
  }

  /** The state of the present place, if it is here. */
  get state(): State | null {
    return this.states.get(this.place) ?? null;
  }

  /** The state that the page shows: the last one until that of the present place is here. */
  get shown(): State | null {
    return this.state ?? this.lastState;
  }

  stateOf(place: Place): State | null {
    return this.states.get(place) ?? null;
  }

  childrenOf(place: Place): Place[] {
    return this.children.get(place) ?? [];
  }

  /** The state of a place; asks for it if it is not here. */
  need(place: Place): State | null {
    const state = this.states.get(place);
    if (!state && !this.loading.has(place) && !this.failed.has(place)) {
      // Asked once: a view that needs it again does not repeat a request that fails.
      this.failed.add(place);
      void this.core.attempt(() => this.load(place));
    }
    return state ?? null;
  }

  /** Asks again for what no server answered. */
  async resume(): Promise<void> {
    this.failed.clear();
    await this.loadTree();
    if (!this.state) await this.load(this.place);
  }

  async begin(place: Place, line: Place[]): Promise<void> {
    await this.loadTree();
    this.past = [];
    await this.show({ place, line });
  }

  async loadTree(): Promise<void> {
    await this.learnAll((from) => `tree?from=${from}`, this.placesMax);
    this.version += 1;
    this.core.changed();
  }

  /** Goes to a place: within the branch that is shown if it lies there. */
  async go(place: Place): Promise<void> {
    if (place === this.place) return;
    this.remember();
    await this.show({ place, line: this.line.includes(place) ? this.line : this.through(place) });
  }

  async goIndex(index: number): Promise<void> {
    const place = this.line[Math.min(Math.max(index, 0), this.line.length - 1)];
    if (place !== undefined) await this.go(place);
  }

  async arrive(moved: Moved): Promise<void> {
    this.remember();
    await this.show(moved);
  }

  async undo(): Promise<void> {
    const at = this.past.pop();
    if (!at) return;
    this.future.push({ place: this.place, line: this.line });
    await this.show(at);
  }

  async redo(): Promise<void> {
    const at = this.future.pop();
    if (!at) return;
    this.past.push({ place: this.place, line: this.line });
    await this.show(at);
  }

  /** Takes an enabled event of a place. */
  async take(place: Place, action: number, outcome: number): Promise<void> {
    const turn = (this.turn += 1);
    const moved = await post<Moved>(`places/${place}/take`, { action, outcome });
    if (turn !== this.turn) return;
    const at = this.line.indexOf(place);
    this.taken(place, action, outcome, moved.place);
    this.remember();
    // What the branch does afterwards stays if the step is in it already.
    const isInLine = at >= 0 && this.line[at + 1] === moved.place;
    await this.show({ place: moved.place, line: isInLine ? this.line : [...this.way(place).slice(0, -1), ...moved.line] });
  }

  /** The places from the beginning to a place. */
  way(place: Place): Place[] {
    const at = this.line.indexOf(place);
    if (at >= 0) return this.line.slice(0, at + 1);
    const way: Place[] = [];
    for (let at: Place | null = place; at !== null; at = this.steps.get(at)?.parent ?? null) way.push(at);
    return way.reverse();
  }

  /** The state of a place knows where its events lead. */
  private taken(place: Place, action: number, outcome: number, child: Place): void {
    const chosen = this.states.get(place)?.enabled.find((event) => event.action === action);
    const taken = chosen?.outcomes.find((other) => other.outcome === outcome);
    if (taken) taken.child = child;
  }

  async name(place: Place, name: string): Promise<void> {
    await post(`places/${place}/name`, { name });
    const step = this.steps.get(place);
    if (step) this.learn({ ...step, name: name === "" ? null : name });
    this.version += 1;
    this.core.changed();
  }

  /** The branch through a place that the page showed last. */
  through(place: Place): Place[] {
    const line = this.way(place);
    let next: Place | undefined = place;
    while ((next = this.preferred.get(next) ?? this.childrenOf(next)[0]) !== undefined) line.push(next);
    return line;
  }

  /** Other steps from the same parent, in order, the place among them. */
  siblings(place: Place): Place[] {
    const parent = this.steps.get(place)?.parent ?? null;
    return parent === null ? [place] : this.childrenOf(parent);
  }

  private remember(): void {
    this.past = [...this.past, { place: this.place, line: this.line }].slice(-PAST_MAX);
    this.future = [];
  }

  private async show(at: At): Promise<void> {
    const turn = (this.turn += 1);
    // All of the present line is known: a step after a long way costs what it adds.
    const shared = sharedBy(this.line, at.line);
    const missing = at.line.slice(shared).filter((place) => !this.steps.has(place));
    if (missing.length > 1) {
      const end = at.line[at.line.length - 1] ?? 0;
      const first = at.line.indexOf(missing[0] ?? 0, shared);
      await this.learnAll((from) => `line?to=${end}&from=${from}`, first);
    } else if (missing[0] !== undefined) {
      await this.load(missing[0]);
    }
    if (turn !== this.turn) return;
    for (let index = Math.max(sharedBy(this.line, at.line), 1); index < at.line.length; index += 1) this.preferred.set(at.line[index - 1] ?? 0, at.line[index] ?? 0);
    this.line = at.line;
    this.lastState = this.state ?? this.lastState;
    this.place = at.place;
    this.core.changed();
    if (!this.states.has(at.place)) await this.load(at.place);
  }

  /** Asks for a state that is only good to have; false if there is no answer. */
  async fetchQuietly(place: Place): Promise<boolean> {
    try {
      this.keep(await get<State>(`places/${place}`));
      return true;
    } catch {
      return false;
    }
  }

  private async load(place: Place): Promise<void> {
    this.loading.add(place);
    try {
      this.keep(await get<State>(`places/${place}`));
    } finally {
      this.loading.delete(place);
      this.core.changed();
    }
  }

  private keep(state: State): void {
    const { place } = state.step;
    this.states.delete(place);
    this.states.set(place, state);
    if (place === this.place) this.lastState = state;
    this.failed.delete(place);
    for (const old of this.states.keys()) {
      if (this.states.size <= STATES_MAX) break;
      if (old !== this.place) this.states.delete(old);
    }
    for (const step of [state.step, ...state.children]) this.learn(step);
  }

  /** Asks page by page. */
  private async learnAll(path: (from: number) => string, first: number): Promise<void> {
    for (let from = first; ; ) {
      const steps = await get<Step[]>(path(from));
      for (const step of steps) this.learn(step);
      from += steps.length;
      if (steps.length < STEPS_MAX) return;
    }
  }

  private learn(step: Step): void {
    this.placesMax = Math.max(this.placesMax, step.place + 1);
    const isNew = !this.steps.has(step.place);
    this.steps.set(step.place, step);
    if (!isNew || step.parent === null) return;
    this.children.set(step.parent, [...this.childrenOf(step.parent), step.place]);
    this.version += 1;
  }
}
