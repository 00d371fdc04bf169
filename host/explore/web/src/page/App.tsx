// The page: a view of the branch, the next events, the states.

import { useEffect, useLayoutEffect, useState } from "preact/hooks";

import { Branches } from "../branches/Branches";
import { Compare } from "../branches/Compare";
import { isRecorded } from "../client";
import { MapView } from "../map/MapView";
import { VIEWS, type Explorer } from "../model/explorer";
import { Flight } from "../next/Flight";
import { KindBoxes } from "../next/KindBoxes";
import { Next } from "../next/Next";
import { Preview } from "../next/Preview";
import { ProbeForm } from "../probes/ProbeForm";
import { Properties } from "../properties/Properties";
import { SearchPanel } from "../search/SearchPanel";
import { SpaceTime } from "../space/SpaceTime";
import { Trees } from "../state/Trees";
import { Words } from "../state/Words";
import { Header } from "./Header";
import { Help } from "./Help";
import { Notices } from "./Notices";
import { Printed } from "./Printed";
import { SaveDialog } from "./SaveDialog";
import { Steps } from "./Steps";
import { Verdict } from "./Verdict";
import { WhyBox, WhyForm } from "./WhyBox";

export function App({ explorer }: { explorer: Explorer }) {
  const [, draw] = useState(0);
  // Before anything else runs: a change without a listener would not be drawn.
  useLayoutEffect(() => explorer.core.listen(() => draw((count) => count + 1)), []);
  useLayoutEffect(() => explorer.drawn());
  useEffect(() => explorer.follow());
  const { places } = explorer;
  const state = places.shown;
  return (
    <>
      <Header {...{ explorer }} />
      <Notices {...{ explorer }} />
      {explorer.session && (
        <>
          <Verdict {...{ explorer }} />
          <Properties {...{ explorer }} />
          <main>
            <div class="view">
              <Bar {...{ explorer }} />
              <WhyBox {...{ explorer }} />
              {explorer.view === "time" && <SpaceTime {...{ explorer }} />}
              {explorer.view === "branches" && <Branches {...{ explorer }} />}
              {explorer.view === "compare" && <Compare {...{ explorer }} />}
              {explorer.view === "map" && <MapView {...{ explorer }} />}
            </div>
            <div class={places.state ? "panel" : "panel stale"}>
              <div class="scroll">
                {state && <Next {...{ explorer, state }} />}
                {state && <Flight {...{ explorer, state }} />}
                <KindBoxes {...{ explorer }} />
                {!isRecorded && <WhyForm {...{ explorer }} />}
                {!isRecorded && <SearchPanel {...{ explorer }} />}
              </div>
              <Preview {...{ explorer }} />
            </div>
            <div class={places.state ? "panel" : "panel stale"}>
              <Words {...{ explorer }} />
              <Trees {...{ explorer }} />
            </div>
          </main>
          {explorer.isPrinting && <Printed {...{ explorer }} />}
        </>
      )}
      {explorer.isHelpShown && <Help {...{ explorer }} />}
      {explorer.isSaveShown && <SaveDialog {...{ explorer }} />}
    </>
  );
}

/** The views, and the way along the branch. */
function Bar({ explorer }: { explorer: Explorer }) {
  const step = explorer.places.steps.get(explorer.places.place);
  return (
    <div class="bar">
      <nav aria-label="Views">
        {VIEWS.filter(({ view }) => view !== "map" || !isRecorded).map(({ view, name }) => (
          <button key={view} type="button" aria-current={explorer.view === view ? "page" : undefined} onClick={() => explorer.show(view)}>
            {name}
          </button>
        ))}
      </nav>
      <Steps {...{ explorer }} />
      <div class="second">
        <span class="event-text" role="status">
          {step?.name && <strong>{step.name} </strong>}
          <code>{step?.event?.text ?? "start"}</code>
        </span>
        {explorer.view === "time" && !isRecorded && <ProbeForm {...{ explorer }} />}
      </div>
    </div>
  );
}
