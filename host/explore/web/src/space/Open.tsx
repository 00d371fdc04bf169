// Messages that no step of the branch receives: a short line that ends open, and one text per row.

import { clipped } from "../plain";
import { LETTER, nodeX, rowY, type Layout } from "./layout";
import type { Message } from "./messages";

const TEXTS_MAX = 2;

interface Properties {
  layout: Layout;
  row: number;
  messages: Message[];
  now: number;
  names: (node: number) => string;
  onWhy: (message: Message) => void;
}

/** Equal messages of one step share a text. */
interface Group {
  message: Message;
  to: number[];
}

function groups(messages: Message[]): Group[] {
  const all: Group[] = [];
  for (const message of messages) {
    const same = all.find((group) => group.message.text === message.text && group.message.from === message.from);
    if (same) same.to.push(message.to);
    else all.push({ message, to: [message.to] });
  }
  return all;
}

export function Open({ layout, row, messages, now, names, onWhy }: Properties) {
  const all = groups(messages);
  const letters = Math.floor((layout.column - 40) / LETTER / Math.min(all.length, TEXTS_MAX));
  const from = messages[0]?.from ?? 0;
  const [x, y] = [nodeX(layout, from), rowY(row)];
  const isLater = row > now;
  const title = all.map(({ message, to }) => `in flight to ${to.map(names).join(", ")}: ${message.text}`).join("\n");
  return (
    <g class={isLater ? "open later" : "open"}>
      <title>{title}</title>
      <path class="lost" d={`M${x} ${y} l12 20`} />
      <circle class="open-end" cx={x + 13} cy={y + 21} r={2.5} />
      {!layout.isDense &&
        all.slice(0, TEXTS_MAX).map(({ message, to }, index) => (
          <text
            key={index}
            class="faint halo why"
            x={x + 20 + index * (letters + 1) * LETTER}
            y={y + 25}
            onClick={(event) => {
              event.stopPropagation();
              if (!isLater) onWhy(message);
            }}
          >
            {clipped(`to ${to.join(", ")}: ${message.text}${index === TEXTS_MAX - 1 && all.length > TEXTS_MAX ? ` +${all.length - TEXTS_MAX}` : ""}`, letters)}
          </text>
        ))}
    </g>
  );
}
