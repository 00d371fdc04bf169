// The fields that a violated property reads.

import type { Session, Standing } from "../api";

/** Names of the violated properties that read a field of a node, by its path without the name around the state; none of those that hold now. */
export function readBy(session: Session | null, standings: Standing[], node: number, path: () => string): string[] {
  const of = session?.reads?.filter((read) => read.node === node) ?? [];
  if (of.length === 0) return [];
  const own = path();
  const all = of.filter(({ paths }) => paths.some((pattern) => isBelow(own, pattern)));
  const isBroken = (property: number) => standings.some(({ property: other, standing }) => other === property && (standing === "violated" || standing === "owed"));
  return all.filter(({ property }) => isBroken(property)).map(({ property }) => session?.properties[property]?.name ?? `property ${property}`);
}

/** A path is one of the pattern, in which `#` stands for any element of a list. */
export function isBelow(path: string, pattern: string): boolean {
  const [names, wanted] = [path.split("."), pattern.split(".")];
  return names.length === wanted.length && wanted.every((name, index) => name === names[index] || (name === "#" && /^\d+$/.test(names[index] ?? "")));
}
