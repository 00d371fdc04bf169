// What many protocols promise, for `invariant`: each function says why it does not hold, or nothing.
//
// Each is handed a value for each node, in their order; null or undefined where the node cannot matter. The Rust SDK has the same properties.

type Views<V> = (V | null | undefined)[];

/** No two nodes lead in the same term; the terms are those in which nodes lead. */
export function oneLeaderPerTerm(terms: Views<number | string>): string | undefined {
  return ofPairs(terms, (one, term, other, same) => {
    return term === same ? `nodes ${one} and ${other} both lead in term ${term}` : undefined;
  });
}

/** One log is the beginning of the other, for all two nodes; a log is what counts of it, such as what is committed. */
export function logsAgree(logs: Views<unknown[]>): string | undefined {
  return ofPairs(logs, (one, log, other, its) => {
    const place = log.findIndex((entry, at) => at < its.length && !isSame(entry, its[at]));
    return place < 0 ? undefined : `nodes ${one} and ${other} have different entries at ${place + 1}`;
  });
}

/** What a node has acknowledged is stored by more than half of the nodes. */
export function acknowledgedIsDurable(kept: Views<{ acknowledged: unknown[]; stored: unknown[] }>): string | undefined {
  for (const value of kept.flatMap((one) => one?.acknowledged ?? [])) {
    const holders = kept.filter((one) => one?.stored.some((stored) => isSame(stored, value))).length;
    if (holders * 2 <= kept.length) {
      return `${JSON.stringify(value)} was acknowledged, and ${holders} of ${kept.length} nodes have it`;
    }
  }
  return undefined;
}

/** The entries that a node has committed, as many as its number says, are in the logs of more than half of the nodes. */
export function committedIsOnAMajority(logs: Views<{ entries: unknown[]; committed: number }>): string | undefined {
  for (const [node, log] of logs.entries()) {
    for (const [place, entry] of (log?.entries.slice(0, log.committed) ?? []).entries()) {
      const holders = logs.filter((its) => its && its.entries.length > place && isSame(its.entries[place], entry)).length;
      if (holders * 2 <= logs.length) {
        return `node ${node} has committed entry ${place + 1}, and ${holders} of ${logs.length} nodes have it`;
      }
    }
  }
  return undefined;
}

/** All nodes have the same value; most often of the kind `eventually`. A node without one is left out. */
export function replicasConverge(values: Views<unknown>): string | undefined {
  return ofPairs(values, (one, value, other, its) => {
    return isSame(value, its) ? undefined : `nodes ${one} and ${other} have different values`;
  });
}

/** Views are JSON, canonical if they are read from canonical bytes. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function ofPairs<V>(views: Views<V>, check: (one: number, view: V, other: number, its: V) => string | undefined) {
  for (const [one, view] of views.entries()) {
    for (const [other, its] of views.entries()) {
      if (other <= one || view == null || its == null) continue;
      const why = check(one, view, other, its);
      if (why !== undefined) return why;
    }
  }
  return undefined;
}
