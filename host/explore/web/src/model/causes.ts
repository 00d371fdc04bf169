// Answers to "why": a text, and the places that it speaks of.

import type { Place, Why } from "../api";
import { get } from "../client";
import type { Core } from "./core";

export interface Answered {
  question: string;
  why: Why;
}

export class Causes {
  answer: Answered | null = null;
  private turn = 0;

  constructor(private readonly core: Core) {}

  /** The places of the answer, to be marked. */
  get marked(): Set<Place> {
    return new Set(this.answer?.why.places ?? []);
  }

  async ofMessage(place: Place, message: number, text: string): Promise<void> {
    await this.ask(`Message in flight: ${text}`, `places/${place}/why?message=${message}`);
  }

  async ofEvent(place: Place, words: string): Promise<void> {
    await this.ask(`Event: ${words}`, `places/${place}/why?event=${encodeURIComponent(words)}`);
  }

  async ofField(place: Place, node: number, name: string, path: string): Promise<void> {
    const query = `node=${node}&path=${encodeURIComponent(path)}`;
    await this.ask(`Last writer of ${path} at ${name}`, `places/${place}/writer?${query}`);
  }

  clear(): void {
    this.answer = null;
    this.core.changed();
  }

  private async ask(question: string, path: string): Promise<void> {
    const turn = (this.turn += 1);
    await this.core.attempt(async () => {
      const why = await get<Why>(path);
      if (turn === this.turn) this.answer = { question, why };
    });
  }
}
