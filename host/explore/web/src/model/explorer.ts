// The model of the page: its parts, and how they begin.

import type { Finding, Place, Session } from "../api";
import { get } from "../client";
import { Ahead } from "./ahead";
import { Atlas } from "./atlas";
import { download } from "./bundles";
import { Causes } from "./causes";
import { Choice } from "./choice";
import { Comparison } from "./comparison";
import { Core } from "./core";
import { Files } from "./files";
import { Kinds } from "./kinds";
import { Marks } from "./marks";
import { Places } from "./places";
import { Probes } from "./probes";
import { reorder } from "./reorder";
import { Searches } from "./searches";
import { Timeline } from "./timeline";

export type View = "time" | "branches" | "compare" | "map";
export const VIEWS: { view: View; name: string }[] = [
  { view: "time", name: "Space-time" },
  { view: "branches", name: "Branches" },
  { view: "compare", name: "Compare" },
  { view: "map", name: "Map" },
];

export class Explorer {
  readonly core = new Core();
  readonly places = new Places(this.core);
  readonly ahead = new Ahead(this.core, this.places);
  readonly timeline = new Timeline(this.core, this.places);
  readonly choice = new Choice(this.core);
  readonly probes = new Probes(this.core, this.places);
  readonly searches = new Searches(this.core, this.places);
  readonly causes = new Causes(this.core);
  readonly comparison = new Comparison(this.core);
  readonly atlas = new Atlas(this.core, this.places);
  readonly files = new Files(this.core, this.places);
  readonly marks = new Marks();
  readonly kinds = new Kinds();
  session: Session | null = null;
  view: View = "time";
  /** The node whose state is in front; null for that of the step. */
  node: number | null = null;
  /** The place to which states and branches are compared. */
  other: Place | null = null;
  isPastOnly = false;
  isHelpShown = false;
  isSaveShown = false;
  /** Runs once the page is drawn, before the next key: what is typed then goes to the field that has the focus by then. */
  afterDrawing: (() => void) | null = null;
  /** All steps are drawn, and listed. */
  isPrinting = false;

  constructor() {
    this.core.onReturn(() => this.resume());
  }

  async begin(): Promise<void> {
    await this.core.attempt(async () => {
      const session = await get<Session>("session");
      this.session = session;
      this.marks.learn(session.marks);
      document.title = `${session.title} · host explore`;
      await this.places.begin(session.place, session.line);
      const moved = await this.files.replay(location.hash);
      if (moved) await this.places.begin(moved.place, moved.line);
    });
  }

  /** The server answers again: whatever was asked for in between is asked for once more. */
  private resume(): void {
    if (!this.session) return void this.begin();
    for (const part of [this.ahead, this.timeline, this.probes, this.comparison, this.files, this.searches]) part.resume();
    void this.core.attempt(() => this.places.resume());
  }

  /** The page is drawn. */
  drawn(): void {
    const run = this.afterDrawing;
    this.afterDrawing = null;
    run?.();
  }

  /** What follows from a move. */
  follow(): void {
    if (!this.session) return;
    this.probes.follow();
    this.files.follow();
  }

  async linked(): Promise<void> {
    const moved = await this.files.replay(location.hash);
    if (moved) await this.core.attempt(() => this.places.arrive(moved));
  }

  nodeName(node: number): string {
    return this.session?.nodes[node] ?? `node ${node}`;
  }

  show(view: View): void {
    this.view = view;
    this.core.changed();
    // Another tab, or a search, may have made branches.
    if (view === "branches" || view === "compare") void this.core.attempt(() => this.places.loadTree());
  }

  go(place: Place): void {
    this.choice.point(null);
    void this.core.attempt(() => this.places.go(place));
  }

  goIndex(index: number): void {
    this.choice.point(null);
    void this.core.attempt(() => this.places.goIndex(index));
  }

  /** To the next step of the branch in a direction, which shows something. */
  move(by: 1 | -1): void {
    const { places, kinds } = this;
    let index = places.index + by;
    while (index > 0 && index < places.line.length && kinds.isHidden(places.steps.get(places.line[index] ?? 0)?.event ?? null)) index += by;
    if (index >= 0 && index < places.line.length) this.goIndex(index);
  }

  toggleKind(kind: string): void {
    this.kinds.toggle(kind);
    this.core.changed();
  }

  /** Goes to the end of a finding. */
  found({ place, line, marks }: Pick<Finding, "place" | "line" | "marks">): void {
    this.marks.learn(marks);
    void this.core.attempt(() => this.places.arrive({ place, line }));
  }

  take(place: Place, action: number, outcome: number): void {
    this.choice.point(null);
    void this.core.attempt(() => this.places.take(place, action, outcome));
  }

  undo(): void {
    void this.core.attempt(() => this.places.undo());
  }

  redo(): void {
    void this.core.attempt(() => this.places.redo());
  }

  /** Moves a step of the branch up to another row. */
  earlier(from: number, to: number): void {
    void this.core.attempt(() => reorder(this.places, this.core, from, to));
  }

  bundle(): void {
    const { session } = this;
    if (session) void this.core.attempt(() => download(this.core, this.places, session));
  }

  compare(other: Place): void {
    this.other = other;
    this.show("compare");
  }
}
