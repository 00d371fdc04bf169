// Keys and signs.

import type { Explorer } from "../model/explorer";
import { KINDS, Shape } from "../space/Shape";
import { Dialog } from "./Dialog";
import { KEYS } from "./keys";

const ARROWS: Record<string, string> = { ArrowDown: "↓", ArrowUp: "↑" };

export function Help({ explorer }: { explorer: Explorer }) {
  return (
    <Dialog
      title="Keys and signs"
      onClose={() => {
        explorer.isHelpShown = false;
        explorer.core.changed();
      }}
    >
      <div class="help">
        <dl>
          {KEYS.map(({ keys, text }) => (
            <>
              <dt>
                {keys.map((key) => (
                  <>
                    <kbd>{ARROWS[key] ?? key}</kbd>{" "}
                  </>
                ))}
              </dt>
              <dd>{text}</dd>
            </>
          ))}
        </dl>
        <dl>
          {KINDS.map(({ kind, text }) => (
            <>
              <dt>
                <svg width={20} height={20} aria-hidden="true">
                  <Shape kind={kind} node={0} x={10} y={10} />
                </svg>
              </dt>
              <dd>{text}</dd>
            </>
          ))}
          <dt>arrow</dt>
          <dd>a message from its sending to its receipt, in the colour of its sender; dashed: delivered again</dd>
          <dt>open line</dt>
          <dd>a message in flight that no step of the branch receives; a click on its text says why it is not enabled</dd>
          <dt>thick red ring</dt>
          <dd>a violation begins</dd>
          <dt>thin red ring</dt>
          <dd>the step changes what the violated property reads, or is the critical step of a broken promise; the change is next to it</dd>
          <dt>gap, cross</dt>
          <dd>a node begins again; a node crashes or is stuck</dd>
          <dt>R</dt>
          <dd>in a state: a field that a violated property reads</dd>
          <dt>faint rows</dt>
          <dd>what the branch does after the present step</dd>
          <dt>
            <svg width={20} height={16} aria-hidden="true">
              <path class="fork" d="M10 2 v4 l5 3 v5 m-5 -8 l-5 3 v5" />
            </svg>
          </dt>
          <dd>branches part here</dd>
        </dl>
      </div>
      <About {...{ explorer }} />
    </Dialog>
  );
}

/** The component, and the command that replays the trace. */
function About({ explorer }: { explorer: Explorer }) {
  const { session } = explorer;
  if (!session) return null;
  const about = session.about ?? [{ name: "component", value: `${session.plugin.reference}, ${session.plugin.digest}` }];
  return (
    <dl class="about">
      {about.map(({ name, value }, index) => (
        <>
          <dt key={index}>{name}</dt>
          <dd>
            <code>{value}</code>
          </dd>
        </>
      ))}
    </dl>
  );
}
