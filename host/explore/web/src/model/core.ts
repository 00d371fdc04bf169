// What all parts of the model share: listeners, and the lines in which errors are shown.

import { answers, Ended, get, Refused } from "../client";

export interface Notice {
  id: number;
  text: string;
  help: string | null;
  isError: boolean;
  count: number;
}

const NOTICES_MAX = 5;
/** A request that takes longer is said to do so. */
const SLOW_MS = 8_000;
/** A server that does not answer is asked again after the first time, then more and more rarely. */
const RETRY_MS = 1_000;
const RETRY_MS_MAX = 30_000;

export class Core {
  notices: Notice[] = [];
  /** No server answered the last request. */
  isEnded = false;
  /** Requests without an answer so far. */
  pending = 0;
  /** Nothing was answered for a while. */
  isSlow = false;
  private slow = 0;
  private retries = 0;
  private listeners: (() => void)[] = [];
  private returns: (() => void)[] = [];
  private isScheduled = false;
  private notice = 0;

  listen(listener: () => void): () => void {
    this.listeners.push(listener);
    return () => {
      this.listeners = this.listeners.filter((other) => other !== listener);
    };
  }

  /** Runs when the server answers again after it did not: requests may be lost that no other one repeats. */
  onReturn(listener: () => void): void {
    this.returns.push(listener);
  }

  /** Draws the page again, once per task. */
  changed(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    queueMicrotask(() => {
      this.isScheduled = false;
      for (const listener of this.listeners) listener();
    });
  }

  say(text: string, help: string | null = null, isError = false): void {
    const same = this.notices.find((other) => other.text === text && other.help === help);
    if (same) same.count += 1;
    else this.notices = [...this.notices, { id: (this.notice += 1), text, help, isError, count: 1 }].slice(-NOTICES_MAX);
    this.changed();
  }

  dismiss(id: number | null): void {
    this.notices = id === null ? [] : this.notices.filter((notice) => notice.id !== id);
    this.changed();
  }

  /** Runs a request. Its error becomes a line of the page, and its answer null. */
  async attempt<T>(request: () => Promise<T>): Promise<T | null> {
    this.pending += 1;
    this.waiting();
    this.changed();
    const before = answers;
    try {
      const answered = await request();
      // A move to a state that the page has asks for nothing.
      if (answers > before) this.returned();
      return answered;
    } catch (error) {
      this.failed(error);
      return null;
    } finally {
      this.pending -= 1;
      this.waiting();
      this.changed();
    }
  }

  /** Begins to wait for the next answer, or ends to wait. */
  private waiting(): void {
    window.clearTimeout(this.slow);
    this.isSlow = false;
    if (this.pending === 0) return;
    this.slow = window.setTimeout(() => {
      this.isSlow = true;
      this.changed();
    }, SLOW_MS);
  }

  private ended(): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.retry(RETRY_MS);
  }

  /** Asks for something small until there is an answer. */
  private retry(wait: number): void {
    window.clearTimeout(this.retries);
    this.retries = window.setTimeout(async () => {
      try {
        await get("line?to=0");
        this.returned();
      } catch (error) {
        if (error instanceof Ended && this.isEnded) this.retry(Math.min(2 * wait, RETRY_MS_MAX));
        else this.failed(error);
      }
    }, wait);
  }

  private returned(): void {
    if (!this.isEnded) return;
    this.isEnded = false;
    window.clearTimeout(this.retries);
    for (const listener of this.returns) listener();
    this.changed();
  }

  private failed(error: unknown): void {
    if (error instanceof DOMException && error.name === "AbortError") return;
    if (error instanceof Ended) {
      this.ended();
    } else if (error instanceof Refused) {
      this.returned();
      this.say(error.message, error.help, true);
    } else {
      this.say(`the page failed: ${error instanceof Error ? error.message : String(error)}`, null, true);
    }
  }
}
