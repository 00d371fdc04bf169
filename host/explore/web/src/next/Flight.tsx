// The messages in flight; a click says why one is not enabled.

import type { State } from "../api";
import type { Explorer } from "../model/explorer";
import { COLOURS } from "../space/Shape";

const MESSAGES_MAX = 200;

export function Flight({ explorer, state }: { explorer: Explorer; state: State }) {
  const { flight } = state;
  const { line } = explorer.places;
  const { place } = state.step;
  return (
    <details class="flight" open>
      <summary>
        In flight <span class="count">{flight.length}</span>
      </summary>
      <ul>
        {flight.slice(0, MESSAGES_MAX).map(({ from, to, text, sent }, index) => (
          <li key={index}>
            <button
              type="button"
              class="choice"
              title={`Why is it (not) enabled? Sent by ${explorer.nodeName(from)} in step ${Math.max(line.indexOf(sent), 0)}.`}
              onClick={() => void explorer.causes.ofMessage(place, index, `${text}, to ${explorer.nodeName(to)}`)}
            >
              <span class={`c${from % COLOURS}`}>{from}</span>
              <span class="arrow">→</span>
              <span class={`c${to % COLOURS}`}>{to}</span>
              <code>{text}</code>
            </button>
          </li>
        ))}
      </ul>
      {flight.length > MESSAGES_MAX && <p class="note">{flight.length - MESSAGES_MAX} more</p>}
    </details>
  );
}
