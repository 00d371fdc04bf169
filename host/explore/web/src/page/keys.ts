// The keys of the page.

import type { Explorer } from "../model/explorer";
import { VIEWS } from "../model/explorer";
import { kindOf, takenBy } from "../model/kinds";
import { openHelp, openSave } from "./Header";

interface Key {
  keys: string[];
  text: string;
  run: (explorer: Explorer, key: string) => void;
}

export const KEYS: Key[] = [
  { keys: ["j", "ArrowDown"], text: "next step of the branch", run: (explorer) => explorer.move(1) },
  { keys: ["k", "ArrowUp"], text: "step before", run: (explorer) => explorer.move(-1) },
  { keys: ["g", "Home"], text: "start", run: (explorer) => explorer.goIndex(0) },
  { keys: ["G", "End"], text: "end of the branch", run: (explorer) => explorer.goIndex(explorer.places.line.length - 1) },
  { keys: ["v"], text: "next step in which a violation begins", run: toViolation },
  { keys: ["]", "["], text: "next and last branch from the step before", run: toSibling },
  { keys: [","], text: "move this step before the one above, if they are independent; dragging does the same", run: (explorer) => explorer.earlier(explorer.places.index, explorer.places.index - 1) },
  { keys: ["e"], text: "to the enabled events; arrows move, Enter takes", run: toEvents },
  { keys: ["f"], text: "to the faults", run: openFaults },
  { keys: ["u"], text: "undo the last move", run: (explorer) => explorer.undo() },
  { keys: ["U"], text: "redo", run: (explorer) => explorer.redo() },
  { keys: ["n", "p"], text: "state of the next and the last node", run: toNode },
  { keys: ["c"], text: "changes of states only", run: () => document.getElementById("changes-only")?.click() },
  { keys: ["h"], text: "happens-before: only what the step follows from", run: togglePast },
  { keys: ["t", "T"], text: "type of message: hide that of the step; show all", run: toggleKinds },
  { keys: ["1", "2", "3", "4"], text: "space-time, branches, compare, map", run: (explorer, key) => explorer.show(VIEWS[Number(key) - 1]?.view ?? "time") },
  { keys: ["m"], text: "name this moment", run: toName },
  { keys: ["x"], text: "expression: a probe", run: toProbe },
  { keys: ["w"], text: "why is an event not enabled", run: () => focus("#why") },
  { keys: ["/"], text: "search from here", run: toSearch },
  { keys: ["l"], text: "copy a link to this step", run: (explorer) => void explorer.files.copyLink() },
  { keys: ["s"], text: "save the steps as a trace or a scenario", run: openSave },
  { keys: ["b"], text: "bundle: one HTML file of the steps, which opens without a server", run: (explorer) => explorer.bundle() },
  { keys: ["o"], text: "open a trace", run: () => document.getElementById("open-trace")?.click() },
  { keys: ["Escape"], text: "leave a field, close an answer", run: leave },
  { keys: ["?"], text: "this list", run: openHelp },
];

export function listen(explorer: Explorer): void {
  document.addEventListener("keydown", (event) => {
    const target = event.target instanceof Element ? event.target : document.body;
    if (event.ctrlKey || event.altKey || event.metaKey || target.closest("dialog")) return;
    if (target.closest("input, select, textarea") && event.key !== "Escape") return;
    if (isListMove(event, target)) return;
    const key = KEYS.find(({ keys }) => keys.includes(event.key));
    if (!key) return;
    event.preventDefault();
    key.run(explorer, event.key);
  });
}

/** Arrows move within lists of buttons. */
function isListMove(event: KeyboardEvent, target: Element): boolean {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return false;
  const list = target.matches("button.choice") ? target.closest("section, .branches, .compare, details") : null;
  if (!list) return false;
  const buttons = [...list.querySelectorAll<HTMLElement>("button.choice, summary")].filter((button) => button.offsetParent !== null);
  const index = buttons.indexOf(target as HTMLElement);
  buttons[index + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
  event.preventDefault();
  return true;
}

function focus(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus();
}

export function toViolation(explorer: Explorer): void {
  const properties = explorer.session?.properties.length ?? 0;
  const next = explorer.timeline.nextViolation(properties, explorer.places.index) ?? explorer.timeline.nextViolation(properties, -1);
  if (next === null) explorer.core.say("No violation is known in this branch.");
  else explorer.goIndex(next);
}

function toSibling(explorer: Explorer, key: string): void {
  const { places } = explorer;
  const siblings = places.siblings(places.place);
  const next = siblings[siblings.indexOf(places.place) + (key === "]" ? 1 : -1)];
  if (next !== undefined) explorer.go(next);
}

function toNode(explorer: Explorer, key: string): void {
  const count = explorer.session?.nodes.length ?? 1;
  const from = explorer.node ?? (key === "n" ? -1 : count);
  explorer.node = (from + (key === "n" ? 1 : count - 1)) % count;
  explorer.core.changed();
}

function toggleKinds(explorer: Explorer, key: string): void {
  const event = explorer.places.steps.get(explorer.places.place)?.event;
  const message = event ? takenBy(event)[0] : undefined;
  if (key === "T") explorer.kinds.hidden.clear();
  else if (message) explorer.kinds.toggle(kindOf(message.text));
  explorer.core.changed();
}

export function togglePast(explorer: Explorer): void {
  explorer.isPastOnly = !explorer.isPastOnly;
  explorer.core.changed();
}

function openFaults(): void {
  const faults = document.querySelector<HTMLDetailsElement>(".next details.faults");
  if (!faults) return;
  faults.open = true;
  focus(".next details.faults button.choice");
}

function toName(explorer: Explorer): void {
  explorer.afterDrawing = () => focus("#moment-name");
  explorer.show("branches");
}

function toProbe(explorer: Explorer): void {
  explorer.afterDrawing = () => focus("#probe");
  explorer.show("time");
}

export function toEvents(): void {
  focus(".next button.choice");
}

export function toSearch(): void {
  const search = document.querySelector<HTMLDetailsElement>("details.search");
  if (search) search.open = true;
  focus("#strategy");
}

function leave(explorer: Explorer): void {
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  explorer.causes.clear();
  explorer.choice.point(null);
}
