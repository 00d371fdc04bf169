// Where the steps to the present one are written: as a trace, or as a scenario.

import { useState } from "preact/hooks";

import type { Notice } from "../model/core";
import type { Explorer } from "../model/explorer";
import { Dialog } from "./Dialog";

export function SaveDialog({ explorer }: { explorer: Explorer }) {
  const [path, setPath] = useState("explored.json");
  const [refusal, setRefusal] = useState<Notice | null>(null);
  const [isSaving, setIsSaving] = useState(false);
  const save = async () => {
    setRefusal(null);
    setIsSaving(true);
    const isSaved = await explorer.files.save(path);
    if (isSaved) return close();
    setIsSaving(false);
    setRefusal(explorer.core.notices.findLast(({ isError }) => isError) ?? null);
  };
  const isScenario = path.endsWith(".toml");
  const as = (extension: string) => setPath(path.replace(/\.(json|toml)$/, "") + extension);
  const close = () => {
    explorer.isSaveShown = false;
    explorer.core.changed();
  };
  return (
    <Dialog title={`Save ${explorer.places.index === 1 ? "1 step" : `${explorer.places.index} steps`}`} onClose={close}>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <label>
          <input type="radio" name="kind" checked={!isScenario} onChange={() => as(".json")} /> a trace, which <code>host replay</code> takes
        </label>
        <label>
          <input type="radio" name="kind" checked={isScenario} onChange={() => as(".toml")} /> a scenario, which <code>host test</code> runs
        </label>
        <label>
          File, from the folder where host explore runs <input id="save-path" value={path} onInput={({ currentTarget }) => setPath(currentTarget.value)} />
        </label>
        <button type="submit" disabled={isSaving}>
          {isSaving ? "Saving: each step is executed once more…" : "Save"}
        </button>
        {refusal && (
          <p class="notice error" role="alert">
            <span>
              {refusal.text} <span class="help-text">{refusal.help}</span>
            </span>
          </p>
        )}
      </form>
    </Dialog>
  );
}
