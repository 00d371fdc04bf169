// The present step in words: what it did, and what is special about it.

import type { Explorer } from "../model/explorer";

const LINES_MAX = 60;

export function Words({ explorer }: { explorer: Explorer }) {
  const { places, marks } = explorer;
  const step = places.steps.get(places.place);
  const lines = step?.lines ?? [];
  const badges = [
    ...marks.of(places.place, "critical").map(({ text }) => text),
    ...marks.of(places.place, "ring").map(({ text }) => `changes what the violated property reads: ${text}`),
  ];
  if (lines.length === 0 && badges.length === 0) return null;
  return (
    <section class="words" aria-label="This step in words">
      <h2>{step?.event ? `Step ${step.depth}` : "Start"}</h2>
      {badges.map((text) => (
        <p key={text} class="badge">
          {text}
        </p>
      ))}
      <ul>
        {lines.slice(0, LINES_MAX).map((line, index) => (
          <li key={index}>
            <code>{line}</code>
          </li>
        ))}
      </ul>
      {lines.length > LINES_MAX && <p class="note">{lines.length - LINES_MAX} more lines</p>}
    </section>
  );
}
