// The messages of a branch: from the row that sends each to the row that receives it.

import type { Event, Place, Step } from "../api";
import { sharedBy } from "../model/lines";

export interface Message {
  /** Its number in the branch. */
  id: number;
  from: number;
  to: number;
  text: string;
  /** The row of the step that sends it; 0: in flight at the beginning. */
  sent: number;
  /** The row that takes it out of flight, if one of the branch does. */
  end: number | null;
  isLost: boolean;
  /** Received before: the network delivers it again. */
  isAgain: boolean;
}

/** What a beginning has in flight. */
export type Flight = { from: number; to: number; text: string }[];

/** The messages of a branch, and those of the next one: a step at its end is read alone, and so is what another branch has of its own. */
export class Messages {
  private readonly all: Message[] = [];
  private readonly rows = new Map<Place, number>();
  /** Messages by what is known of them, the first one that is open in front. */
  private readonly open = new Map<string, Message[]>();
  /** Of each row: the messages before it, and those that end in it. */
  private readonly marks: { count: number; ended: Message[] }[] = [];
  private line: Place[] = [];
  private atStart: Flight = [];

  /** `atStart`: null if it is not known now; it does not change. */
  of(line: Place[], steps: Map<Place, Step>, atStart: Flight | null): Message[] {
    const isOther = atStart !== null && atStart !== this.atStart;
    const shared = isOther ? 0 : sharedBy(this.line, line);
    while (this.marks.length > shared) this.takeBack();
    if (isOther) this.atStart = atStart;
    this.line = line;
    for (let row = shared; row < line.length; row += 1) this.add(row, steps.get(line[row] ?? -1)?.event ?? null);
    return this.all;
  }

  private add(row: number, event: Event | null): void {
    const ended: Message[] = [];
    this.marks.push({ count: this.all.length, ended });
    this.rows.set(this.line[row] ?? -1, row);
    if (row === 0) this.send(0, this.atStart);
    if (!event) return;
    const rowOf = (sent: Place) => this.rows.get(sent) ?? 0;
    const receive = (received: Received) => ended.push(...this.receive(rowOf(received.sent), row, received));
    for (const received of event.received) if (rowOf(received.sent) !== row) receive(received);
    this.send(row, event.sent);
    // Lost when it was sent: its destination knows that the connection is broken.
    for (const received of event.received) if (rowOf(received.sent) === row) receive(received);
  }

  private send(row: number, sent: Flight): void {
    for (const { from, to, text } of sent) {
      const message: Message = { id: this.all.length, from, to, text, sent: row, end: null, isLost: false, isAgain: false };
      this.all.push(message);
      const key = keyOf(row, from, to, text);
      const same = this.open.get(key);
      if (same) same.push(message);
      else this.open.set(key, [message]);
    }
  }

  /** Closes an open message, and returns it; adds a message of its own if there is none. */
  private receive(sent: number, row: number, { from, to, text, lost }: Received): Message[] {
    const same = this.open.get(keyOf(sent, from, to, text));
    const message = same?.find(({ end }) => end === null);
    if (!message) {
      this.all.push({ id: this.all.length, from, to, text, sent, end: row, isLost: lost, isAgain: same !== undefined });
      return [];
    }
    message.end = row;
    message.isLost = lost;
    return [message];
  }

  /** Takes the last row back. */
  private takeBack(): void {
    const mark = this.marks.pop();
    if (!mark) return;
    this.rows.delete(this.line[this.marks.length] ?? -1);
    for (const message of mark.ended) Object.assign(message, { end: null, isLost: false });
    for (const { sent, from, to, text } of this.all.splice(mark.count)) {
      if (sent === this.marks.length) this.open.delete(keyOf(sent, from, to, text));
    }
  }
}

/** The messages of one branch. */
export function messages(line: Place[], steps: Map<Place, Step>, atStart: Flight): Message[] {
  return new Messages().of(line, steps, atStart);
}

type Received = Event["received"][number];

function keyOf(row: number, from: number, to: number, text: string): string {
  return `${row} ${from} ${to} ${text}`;
}
