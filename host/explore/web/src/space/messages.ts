// The messages of a branch: from the row that sends each to the row that receives it.

import type { Event, Place, Step } from "../api";

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

export function messages(line: Place[], steps: Map<Place, Step>, atStart: Flight): Message[] {
  const all: Message[] = [];
  const rows = new Map<Place, number>();
  line.forEach((place, row) => rows.set(place, row));
  // Messages by what is known of them, the first one that is open in front.
  const open = new Map<string, Message[]>();
  const send = (row: number, sent: Flight) => {
    for (const { from, to, text } of sent) {
      const message: Message = { id: all.length, from, to, text, sent: row, end: null, isLost: false, isAgain: false };
      all.push(message);
      const key = keyOf(row, from, to, text);
      const same = open.get(key);
      if (same) same.push(message);
      else open.set(key, [message]);
    }
  };
  send(0, atStart);
  line.forEach((place, row) => {
    const event = steps.get(place)?.event;
    if (!event) return;
    const rowOf = (sent: Place) => rows.get(sent) ?? 0;
    for (const received of event.received) if (rowOf(received.sent) !== row) receive(all, open, rowOf(received.sent), row, received);
    send(row, event.sent);
    // Lost when it was sent: its destination knows that the connection is broken.
    for (const received of event.received) if (rowOf(received.sent) === row) receive(all, open, row, row, received);
  });
  return all;
}

type Received = Event["received"][number];

/** Closes an open message; adds a message of its own if there is none. */
function receive(all: Message[], open: Map<string, Message[]>, sent: number, row: number, received: Received): void {
  const { from, to, text, lost } = received;
  const same = open.get(keyOf(sent, from, to, text));
  const message = same?.find(({ end }) => end === null);
  if (message) {
    message.end = row;
    message.isLost = lost;
  } else {
    all.push({ id: all.length, from, to, text, sent, end: row, isLost: lost, isAgain: same !== undefined });
  }
}

function keyOf(row: number, from: number, to: number, text: string): string {
  return `${row} ${from} ${to} ${text}`;
}
