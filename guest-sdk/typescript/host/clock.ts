// A monotone clock of one node, as part of its state.
//
// A model has no time, so a reading has no value: it has a name, and whether it is so much later than another one is a choice that
// the checker explores both ways, as long as both are possible. What has been found once restricts what can be found later.
// docs/time-and-chance.md says more; the answers are those of the Rust SDK.

/** `choose` of "host:protocol/environment@0.1.0", or answers in a test. */
export type Choose = (alternatives: number) => number;

/** Readings that are not forgotten, and what is known of the time between them; an integer, in units of the protocol's own. */
export class Clock {
  private names: string[] = [];
  /**
   * Row by row, for all pairs of moments: the largest difference between the first and the second; null if it has no bound.
   * Moment 0 is the last time at which the clock was looked at, moment i + 1 is reading i. Closed: no bound follows from
   * others that is smaller.
   */
  private bounds: (number | null)[] = [0];

  toJSON() {
    return { bounds: this.bounds, readings: this.names };
  }

  copy(): Clock {
    const other = new Clock();
    other.names = [...this.names];
    other.bounds = [...this.bounds];
    return other;
  }

  /** The names of the readings, in their order. */
  get readings(): readonly string[] {
    return this.names;
  }

  /** Reads the clock and keeps the reading under a name; one of the same name is forgotten before. */
  read(name: string): void {
    this.forget(name);
    const before = this.names.findIndex((other) => other > name);
    const place = before < 0 ? this.names.length : before;
    this.names.splice(place, 0, name);
    // The new reading is now, so its bounds are those of now.
    const [old, moments] = [this.bounds, this.moments];
    const was = (moment: number) => (moment <= place ? moment : moment === place + 1 ? 0 : moment - 1);
    this.bounds = this.pairs((a, b) => old[was(a) * (moments - 1) + was(b)]!);
    this.letTimePass();
  }

  /** Forgets a reading, with what is known of it; whether there was one. */
  forget(name: string): boolean {
    const place = this.names.indexOf(name);
    if (place < 0) return false;
    const moments = this.moments;
    this.bounds = this.bounds.filter((_, index) => {
      return Math.floor(index / moments) !== place + 1 && index % moments !== place + 1;
    });
    this.names.splice(place, 1);
    return true;
  }

  /**
   * Whether so much time or more has passed since a reading. The clock is looked at again, so a later call may say yes where this
   * one says no.
   */
  hasPassed(choose: Choose, since: string, duration: number): boolean {
    return this.decide(choose, 0, this.moment(since), duration);
  }

  /** Whether one reading is so much later than another, or more; with 0, whether it is not before the other. */
  isLater(choose: Choose, reading: string, than: string, by = 0): boolean {
    return this.decide(choose, this.moment(reading), this.moment(than), by);
  }

  /** Notes that the first moment is at least so much later than the second, if it is possible; undefined is now. Whether it is. */
  assume(later: string | undefined, earlier: string | undefined, by: number): boolean {
    const [a, b] = [later, earlier].map((name) => (name === undefined ? 0 : this.moment(name))) as [number, number];
    const possible = this.isPossible(a, b, by);
    if (possible) {
      this.restrict(a, b, by);
      this.letTimePass();
    }
    return possible;
  }

  private decide(choose: Choose, a: number, b: number, by: number): boolean {
    // At least `by`, or at most `by - 1`.
    const [yes, no] = [this.isPossible(a, b, by), this.isPossible(b, a, 1 - by)];
    const answer = yes && no ? choose(2) === 1 : yes;
    if (answer) this.restrict(a, b, by);
    else this.restrict(b, a, 1 - by);
    this.letTimePass();
    return answer;
  }

  private isPossible(a: number, b: number, by: number): boolean {
    const most = this.bound(a, b);
    return most === null || most >= by;
  }

  private restrict(a: number, b: number, by: number): void {
    const most = this.bound(b, a);
    if (most !== null && most <= -by) return;
    // The only new way between two moments is over the new bound: b - a <= -by.
    const [old, moments] = [this.bounds, this.moments];
    this.bounds = this.pairs((from, to) => {
      const [first, last, now] = [old[from * moments + b]!, old[a * moments + to]!, old[from * moments + to]!];
      if (first === null || last === null) return now;
      const over = first - by + last;
      return now === null || over < now ? over : now;
    });
  }

  /** The clock may be looked at any time later. */
  private letTimePass(): void {
    this.bounds.fill(null, 1, this.moments);
  }

  private get moments(): number {
    return this.names.length + 1;
  }

  private moment(name: string): number {
    const place = this.names.indexOf(name);
    if (place < 0) throw new Error(`the clock has no such reading: ${name}`);
    return place + 1;
  }

  private bound(a: number, b: number): number | null {
    return this.bounds[a * this.moments + b]!;
  }

  private pairs(value: (a: number, b: number) => number | null): (number | null)[] {
    const moments = this.moments;
    return Array.from({ length: moments * moments }, (_, at) => value(Math.floor(at / moments), at % moments));
  }
}
