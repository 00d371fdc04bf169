// The finding of a trace: what is violated, what the property reads, and where a promise could have been kept.

import type { Explorer } from "../model/explorer";

export function Verdict({ explorer }: { explorer: Explorer }) {
  const { session, places, marks } = explorer;
  const [head, ...rest] = session?.verdict ?? [];
  // The summary says that already.
  const reads = rest[0] === "the property reads" ? rest.slice(1) : rest;
  const critical = marks.first(places.line, "critical");
  const sibling = session?.sibling ?? null;
  if (head === undefined && critical === null) return null;
  return (
    <section class="verdict" aria-label="The finding">
      {head !== undefined && <p class="head">{head}</p>}
      {reads.length > 0 && (
        <details>
          <summary>What the property reads</summary>
          {reads.map((line, index) => (
            <p key={index} class="text">
              <code>{line}</code>
            </p>
          ))}
        </details>
      )}
      {critical !== null && (
        <button type="button" title={marks.textOf(critical, "critical") ?? undefined} onClick={() => explorer.go(critical)}>
          Critical step {places.steps.get(critical)?.depth ?? ""}
        </button>
      )}
      {sibling && (
        <span class="sibling">
          {sibling.text}{" "}
          <button type="button" onClick={() => compareWith(explorer, sibling.line)}>
            Compare both
          </button>
        </span>
      )}
    </section>
  );
}

/** Both continuations from where they part: the broken promise, and the line that keeps it. */
function compareWith(explorer: Explorer, line: number[]): void {
  const end = line[line.length - 1];
  const own = explorer.session?.line ?? explorer.places.line;
  if (end === undefined) return;
  explorer.go(own[own.length - 1] ?? 0);
  explorer.compare(end);
}
