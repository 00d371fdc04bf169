// One enabled event as a button; one button per outcome if it has several.

import type { Enabled, State } from "../api";
import { isRecorded } from "../client";
import type { Explorer } from "../model/explorer";
import { Shape } from "../space/Shape";
import { short } from "../space/words";
import { isFault } from "./group";

interface Properties {
  explorer: Explorer;
  state: State;
  enabled: Enabled;
}

export function Choices({ explorer, state, enabled }: Properties) {
  const words = isFault(enabled)
    ? enabled.text
    : short({ ...enabled, received: [], sent: [] }, explorer.nodeName(enabled.node));
  const isSeveral = enabled.outcomes.length > 1;
  return (
    <li>
      {isSeveral && (
        <span class="choice head">
          <Sign enabled={enabled} />
          <code>{words}</code>
        </span>
      )}
      {enabled.outcomes.map(({ outcome, text, child }) => {
        const pointed = { place: state.step.place, enabled, outcome };
        const point = () => explorer.choice.point(pointed);
        const isShown = explorer.choice.pointed?.enabled === enabled && explorer.choice.pointed.outcome === outcome;
        return (
          <button
            key={outcome}
            type="button"
            class={`choice${isSeveral ? " outcome" : ""}${isShown ? " pointed" : ""}`}
            disabled={isRecorded && child === null}
            data-action={enabled.action}
            title={enabled.text}
            onMouseEnter={point}
            onMouseMove={point}
            onFocus={point}
            onBlur={() => explorer.choice.point(null)}
            onClick={({ detail }) => {
              // A click of the keyboard counts none.
              explorer.choice.isByKey = detail === 0;
              explorer.take(state.step.place, enabled.action, outcome);
            }}
          >
            {!isSeveral && <Sign enabled={enabled} />}
            <code>{isSeveral ? (text ?? `outcome ${outcome}`) : text ? `${words}: ${text}` : words}</code>
            {child !== null && (
              <span class="been" title="A branch has this step already">
                ↳
              </span>
            )}
          </button>
        );
      })}
    </li>
  );
}

function Sign({ enabled }: { enabled: Enabled }) {
  return (
    <svg class="sign" width={18} height={18} aria-hidden="true">
      <Shape kind={enabled.kind} node={enabled.node} x={9} y={9} />
    </svg>
  );
}
