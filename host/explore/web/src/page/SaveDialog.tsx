// Where the trace to the present step is written.

import { useState } from "preact/hooks";

import type { Explorer } from "../model/explorer";
import { Dialog } from "./Dialog";

export function SaveDialog({ explorer }: { explorer: Explorer }) {
  const [path, setPath] = useState("explored.json");
  const close = () => {
    explorer.isSaveShown = false;
    explorer.core.changed();
  };
  return (
    <Dialog title={`Save the trace of ${explorer.places.index} steps`} onClose={close}>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void explorer.files.save(path).then((isSaved) => isSaved && close());
        }}
      >
        <label>
          File, from the folder where host explore runs <input id="save-path" value={path} onInput={({ currentTarget }) => setPath(currentTarget.value)} />
        </label>
        <button type="submit">Save</button>
      </form>
    </Dialog>
  );
}
