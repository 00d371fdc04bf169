// What a bundle has instead of a server: a session and its places. bundle.md describes the file.

import type { Enabled, NodeState, Row, Session, Standing, State, Step } from "../api";

export interface Recording {
  session: Session;
  /** All places that are recorded: parents come before their children. */
  states: State[];
}

/** A value, or its place in the pool. */
type Pooled<T> = T | number;

/** As it stands in the file: what repeats is in a pool. */
export interface Packed {
  session: Session;
  pool?: unknown[];
  states: PackedState[];
}

interface PackedState {
  step: Step;
  /** Absent: those of the recorded places that follow. */
  children?: Step[];
  nodes: { rows: Pooled<Row[]>; stuck: string | null }[];
  flight: Pooled<State["flight"][number]>[];
  standings: Pooled<Standing[]>;
  /** Absent: the recorded steps that follow. */
  enabled?: Enabled[];
}

const ELEMENT = "recording";

/** The recording in this page, if it is a bundle. */
export function recordingOf(document: Document): Recording | null {
  const text = document.getElementById(ELEMENT)?.textContent;
  return text ? unpacked(JSON.parse(text) as Packed) : null;
}

/** The element for a page. */
export function element(packed: Packed): string {
  // Nothing in it ends the element.
  const text = JSON.stringify(packed).replaceAll("<", "\\u003c");
  return `<script type="application/json" id="${ELEMENT}">${text}</script>`;
}

export function unpacked({ session, pool, states }: Packed): Recording {
  const of = <T,>(value: Pooled<T>): T => (typeof value === "number" ? (pool?.[value] as T) : value);
  const following = new Map<number, Step[]>();
  for (const { step } of states) {
    if (step.parent === null) continue;
    const known = following.get(step.parent);
    if (known) known.push(step);
    else following.set(step.parent, [step]);
  }
  return {
    session,
    states: states.map((state) => {
      const children = state.children ?? following.get(state.step.place) ?? [];
      return {
        ...state,
        children,
        nodes: state.nodes.map(({ rows, stuck }): NodeState => ({ rows: of(rows), stuck })),
        flight: state.flight.map(of),
        standings: of(state.standings),
        enabled: state.enabled ?? children.flatMap(again),
      };
    }),
  };
}

/** A recorded step as an event that can be taken again. */
function again({ place, event }: Step): Enabled[] {
  if (!event) return [];
  const { node, kind, text } = event;
  return [{ action: place, node, kind, text, outcomes: [{ outcome: 0, text: null, child: place }] }];
}

export function packed({ session, states }: Recording): Packed {
  const pool: unknown[] = [];
  const places = new Map<string, number>();
  const put = (value: unknown): number => {
    const text = JSON.stringify(value);
    const known = places.get(text);
    if (known !== undefined) return known;
    places.set(text, pool.length);
    return pool.push(value) - 1;
  };
  const there = new Set(states.map(({ step }) => step.place));
  return {
    session,
    states: states.map(({ step, nodes, flight, standings, enabled }) => ({
      step,
      nodes: nodes.map(({ rows, stuck }) => ({ rows: put(rows), stuck })),
      flight: flight.map(put),
      standings: put(standings),
      // Ways to places that are not recorded lead nowhere.
      enabled: enabled.map((event) => ({
        ...event,
        outcomes: event.outcomes.map((outcome) => ({ ...outcome, child: outcome.child !== null && there.has(outcome.child) ? outcome.child : null })),
      })),
    })),
    pool,
  };
}
