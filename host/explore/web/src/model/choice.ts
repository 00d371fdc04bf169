// The enabled event that a person points at, and what it would change.

import type { Enabled, Place, Preview } from "../api";
import { get, isRecorded } from "../client";
import type { Core } from "./core";

const WAIT_MS = 60;
const PREVIEWS_MAX = 200;

export interface Pointed {
  place: Place;
  enabled: Enabled;
  outcome: number;
}

export class Choice {
  pointed: Pointed | null = null;
  /** The last event was taken by a key: the focus belongs to the next events. */
  isByKey = false;
  private readonly previews = new Map<string, Preview>();
  private timer = 0;
  private abort = new AbortController();

  constructor(private readonly core: Core) {}

  get preview(): Preview | null {
    return this.pointed ? (this.previews.get(key(this.pointed)) ?? null) : null;
  }

  point(pointed: Pointed | null): void {
    if (pointed && this.pointed && key(pointed) === key(this.pointed)) return;
    this.pointed = pointed;
    this.core.changed();
    window.clearTimeout(this.timer);
    this.abort.abort();
    if (!pointed || this.preview) return;
    this.timer = window.setTimeout(() => void this.core.attempt(() => this.ask(pointed)), WAIT_MS);
  }

  private async ask(pointed: Pointed): Promise<void> {
    this.abort = new AbortController();
    const { place, enabled, outcome } = pointed;
    const path = `places/${place}/preview?action=${enabled.action}&outcome=${outcome}`;
    const preview = await get<Preview>(path, this.abort.signal).catch((error: unknown) => {
      if (isRecorded) return null;
      throw error;
    });
    if (!preview) return;
    if (this.previews.size >= PREVIEWS_MAX) this.previews.clear();
    this.previews.set(key(pointed), preview);
  }
}

function key({ place, enabled, outcome }: Pointed): string {
  return `${place} ${enabled.action} ${outcome}`;
}
