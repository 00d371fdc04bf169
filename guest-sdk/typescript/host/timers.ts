// Timers that are set and cancelled, as part of a node's state. Each has a name, which a local event of kind "timer" can have.

import { Clock } from "./clock";

/** Timers without durations: each is due at any moment, in any order, since there is no time in a model. */
export class Timers {
  private readonly names = new Set<string>();

  toJSON() {
    return this.due();
  }

  /** Sets a timer. To set it again changes nothing. */
  set(timer: string): void {
    this.names.add(timer);
  }

  /** Cancels a timer: it fires no more. Whether it was set. */
  cancel(timer: string): boolean {
    return this.names.delete(timer);
  }

  isSet(timer: string): boolean {
    return this.names.has(timer);
  }

  /** The timers that can fire, in their order, for `localEvents`. */
  due(): string[] {
    return [...this.names].sort();
  }

  /** A timer fires: it is not set any more. For `handleLocal`. */
  fired(timer: string): void {
    if (!this.cancel(timer)) throw new Error(`a timer fires that is not set: ${timer}`);
  }
}

/**
 * Timers with durations on a monotone clock: they fire in the order of their deadlines, late perhaps, and never early.
 *
 * A timer of 10 fires before one of 30 that is set after it; one of 10 that is set after one of 30 fires before it or after it,
 * since any time can pass between the two. An implementation must serve one queue of timers in the order of deadlines.
 */
export class TimedTimers {
  /** A reading for each timer, when it was set. */
  private clock = new Clock();
  private readonly durations = new Map<string, number>();

  toJSON() {
    const { bounds, readings } = this.clock.toJSON();
    return { clock: { bounds, readings: readings.map((timer) => [timer, this.duration(timer)]) } };
  }

  /** Sets a timer, from now on; one that is set already is set anew. */
  set(timer: string, duration: number): void {
    this.clock.read(timer);
    this.durations.set(timer, duration);
  }

  /** Cancels a timer: it fires no more. Whether it was set. */
  cancel(timer: string): boolean {
    this.durations.delete(timer);
    return this.clock.forget(timer);
  }

  isSet(timer: string): boolean {
    return this.durations.has(timer);
  }

  /** The timers that can be the next to fire, in their order, for `localEvents`. */
  due(): string[] {
    return this.clock.readings.filter((timer) => this.fire(this.clock.copy(), timer));
  }

  /** A timer fires: it is not set any more, and time has come to its deadline. For `handleLocal`. */
  fired(timer: string): void {
    if (!this.isSet(timer) || !this.fire(this.clock, timer)) {
      throw new Error(`a timer fires that is not set, or that is not the next: ${timer}`);
    }
    this.cancel(timer);
  }

  /** Notes that a timer is the next to fire; whether it can be. */
  private fire(clock: Clock, timer: string): boolean {
    const duration = this.duration(timer);
    // other + its duration >= timer + duration
    const others = clock.readings.filter((other) => other !== timer);
    const isFirst = others.every((other) => clock.assume(other, timer, duration - this.duration(other)));
    return isFirst && clock.assume(undefined, timer, duration);
  }

  private duration(timer: string): number {
    return this.durations.get(timer)!;
  }
}
