// The enabled events of the present place: pointing at one previews it, a click takes it.

import { useLayoutEffect, useRef, useState } from "preact/hooks";

import type { State } from "../api";
import { isRecorded } from "../client";
import type { Explorer } from "../model/explorer";
import { COLOURS } from "../space/Shape";
import { Choices } from "./Choices";
import { groups, type Group } from "./group";

/** Events of a group that are listed at first. */
const EVENTS_MAX = 60;

export function Next({ explorer, state }: { explorer: Explorer; state: State }) {
  const all = groups(state.enabled);
  const section = useRef<HTMLElement>(null);
  const isStale = state.step.place !== explorer.places.place;
  useLayoutEffect(() => {
    if (isStale || !explorer.choice.isByKey) return;
    explorer.choice.isByKey = false;
    const first = section.current?.querySelector<HTMLElement>("button.choice");
    if (document.activeElement === first) first?.blur();
    first?.focus();
  }, [state, isStale]);
  return (
    <section ref={section} aria-label="Next events" class="next" onMouseLeave={() => explorer.choice.point(null)}>
      <h2>
        Next events <span class="count">{state.enabled.length}</span>
      </h2>
      {all.length === 0 && <p class="note">{isRecorded ? "The recording has no further step." : "No event is enabled: the execution ends here."}</p>}
      {all.map((group) => (
        <OfNode key={group.node ?? "faults"} isAlone={all.length === 1} {...{ explorer, state, group }} />
      ))}
    </section>
  );
}

interface OfNodeProperties {
  explorer: Explorer;
  state: State;
  group: Group;
  /** No other group has events. */
  isAlone: boolean;
}

function OfNode({ explorer, state, group, isAlone }: OfNodeProperties) {
  const [isWhole, setWhole] = useState(false);
  const { node, enabled } = group;
  const shown = isWhole ? enabled : enabled.slice(0, EVENTS_MAX);
  const list = (
    <ul class="events">
      {shown.map((event) => (
        <Choices key={event.action} {...{ explorer, state }} enabled={event} />
      ))}
      {shown.length < enabled.length && (
        <li>
          <button type="button" class="quiet" onClick={() => setWhole(true)}>
            {enabled.length - shown.length} more
          </button>
        </li>
      )}
    </ul>
  );
  if (node === null) {
    return (
      <details class="faults" open={isAlone || undefined}>
        <summary>
          Faults <span class="count">{enabled.length}</span>
        </summary>
        {list}
      </details>
    );
  }
  return (
    <>
      <h3 class={`c${node % COLOURS}`}>{explorer.nodeName(node)}</h3>
      {list}
    </>
  );
}
