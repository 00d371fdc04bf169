// What leaves the page and returns to it: links, traces.

import type { Moved, Place } from "../api";
import { get, isRecorded, post } from "../client";
import type { Core } from "./core";
import type { Places } from "./places";

const SETTLE_MS = 300;
/** Steps of a moment whose link is the address of the page: that of a longer one is made when it is asked for. */
const ADDRESS_STEPS_MAX = 5_000;
const TRACE_BYTES_MAX = 64 * 1024 * 1024;

export class Files {
  private timer = 0;
  private linked: Place | null = null;

  constructor(
    private readonly core: Core,
    private readonly places: Places,
  ) {}

  /** Keeps the address of the page that of the present place. */
  follow(): void {
    const place = this.places.place;
    if (place === this.linked) return;
    this.linked = place;
    window.clearTimeout(this.timer);
    const isLong = !isRecorded && (this.places.steps.get(place)?.depth ?? 0) > ADDRESS_STEPS_MAX;
    // The address of another moment would be wrong.
    if (isLong) history.replaceState(place, "", location.pathname);
    else this.timer = window.setTimeout(() => void this.core.attempt(() => this.link(place)), SETTLE_MS);
  }

  /** Asks again for what no server answered. */
  resume(): void {
    this.linked = null;
  }

  async copyLink(): Promise<void> {
    await this.core.attempt(async () => {
      await this.link(this.places.place);
      try {
        await navigator.clipboard.writeText(location.href);
        this.core.say("The link is copied. It opens this step wherever host explore runs the same cluster.");
      } catch {
        this.core.say("The browser gives no access to the clipboard; the link is the address of this page.");
      }
    });
  }

  async replay(hash: string): Promise<Moved | null> {
    if (hash.length < 2) return null;
    return this.core.attempt(() => post<Moved>("replay", { fragment: hash.slice(1) }));
  }

  /** Writes the steps to the present one as a trace, or as a scenario if the name ends in `.toml`. */
  async save(path: string): Promise<boolean> {
    const request = path.endsWith(".toml") ? "scenario" : "save";
    const saved = await this.core.attempt(() => post<{ text: string }>(`places/${this.places.place}/${request}`, { path }));
    if (saved) this.core.say(saved.text);
    return saved !== null;
  }

  async open(file: File): Promise<void> {
    if (file.size > TRACE_BYTES_MAX) {
      this.core.say(`${file.name} is too large for a trace`, `At most ${TRACE_BYTES_MAX / 1024 / 1024} MiB are read.`, true);
      return;
    }
    await this.core.attempt(async () => {
      const moved = await post<Moved>("open", await file.text());
      await this.places.loadTree();
      await this.places.arrive(moved);
    });
  }

  private async link(place: Place): Promise<void> {
    const { fragment } = await get<{ fragment: string }>(`places/${place}/link`);
    if (place === this.places.place) history.replaceState(place, "", `#${fragment}`);
  }
}
